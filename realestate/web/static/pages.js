// What every page needs: live parts, questions before an act, and the protection of requests that scripts send.

const body = document.body;

// ----- live parts: the server sends HTML for elements by their id

class Live {
  constructor(address) {
    this.address = address;
    this.lost = document.getElementById("lost");
    this.waiting = new Map();
    document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.open()));
    document.addEventListener("focusout", () => setTimeout(() => this.flush()));
    this.open();
  }

  open() {
    if (this.source || document.hidden) return;
    this.source = new EventSource(this.address);
    this.source.onopen = () => this.show(true);
    this.source.onerror = () => {
      this.show(false);
      // The browser tries again by itself unless the answer was an error.
      if (this.source?.readyState === EventSource.CLOSED) {
        this.close();
        this.signIn();
        clearTimeout(this.again);
        this.again = setTimeout(() => this.open(), 3000);
      }
    };
    this.source.addEventListener("part", (event) => {
      const { id, html } = JSON.parse(event.data);
      this.waiting.set(id, html);
      this.flush();
    });
  }

  // A session that ended is no lost connection: the server says where to sign in again.
  async signIn() {
    const answer = await fetch(location.href, { headers: { "HX-Request": "true" } }).catch(() => undefined);
    if (answer?.status === 401) location.assign(answer.headers.get("HX-Redirect"));
  }

  close() {
    this.source?.close();
    this.source = undefined;
  }

  show(isConnected) {
    this.lost.hidden = isConnected;
    body.dataset.connection = isConnected ? "open" : "lost";
  }

  // A part in which somebody is at work is not replaced under their hands.
  flush() {
    for (const [id, html] of this.waiting) {
      const element = document.getElementById(id);
      const isInUse = element?.contains(document.activeElement) || element?.querySelector("dialog[open]");
      if (!element || isInUse) continue;
      this.waiting.delete(id);
      const scrolls = [...element.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
      element.innerHTML = html;
      element.querySelectorAll(".scroll").forEach((each, index) => (each.scrollLeft = scrolls[index] ?? 0));
      window.htmx?.process(element);
      element.dispatchEvent(new CustomEvent("live", { bubbles: true }));
    }
  }
}

if (body.dataset.live) new Live(body.dataset.live);

// ----- acts ask first: a form with data-ask opens a dialog, in words and for the keyboard

document.addEventListener("submit", (event) => {
  const form = event.target;
  const question = event.submitter?.dataset.ask ?? form.dataset.ask;
  if (!question || form.dataset.confirmed) return;
  event.preventDefault();
  event.stopPropagation();
  ask(question, event.submitter?.textContent.trim() || "Yes").then((isYes) => {
    if (!isYes) return;
    form.dataset.confirmed = "yes";
    form.requestSubmit(event.submitter);
    delete form.dataset.confirmed;
  });
}, true);

function ask(question, yes) {
  const dialog = document.createElement("dialog");
  dialog.innerHTML = '<form method="dialog"><p></p><div class="row"><button value="yes" class="primary"></button><button value="no">Keep it as it is</button></div></form>';
  dialog.querySelector("p").textContent = question;
  dialog.querySelector("p").id = "question";
  dialog.setAttribute("aria-labelledby", "question");
  dialog.querySelector("button").textContent = yes;
  body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes");
      dialog.remove();
    });
  });
}

// ----- small helps

document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    // Without TLS the clipboard is there on this machine only; elsewhere the text is selected.
    const isCopied = await navigator.clipboard?.writeText(copy.dataset.copy).then(() => true, () => false);
    if (!isCopied) getSelection().selectAllChildren(copy.previousElementSibling);
    copy.textContent = isCopied ? "Copied" : "Selected";
    setTimeout(() => (copy.textContent = "Copy"), 1500);
  }
  const photo = event.target.closest("button[data-photo]");
  if (photo) {
    const image = document.createElement("img");
    image.alt = photo.dataset.label;
    image.referrerPolicy = "no-referrer";
    image.onerror = () => image.replaceWith(`${photo.dataset.label} could not be loaded.`);
    image.src = photo.dataset.photo;
    photo.replaceWith(image);
  }
  if (event.target.closest("[data-all-photos]")) {
    document.querySelectorAll("button[data-photo]").forEach((each) => each.click());
    event.target.closest("[data-all-photos]").remove();
  }
});

document.addEventListener("change", (event) => {
  const boxes = (form) => [...form.querySelectorAll("input[name=chosen]")];
  const form = event.target.closest("form");
  if (event.target.matches("[data-choose-all]")) boxes(form).forEach((each) => (each.checked = event.target.checked));
  else if (event.target.name === "chosen") {
    const all = form.querySelector("[data-choose-all]");
    const chosen = boxes(form).filter((each) => each.checked).length;
    all.checked = chosen === boxes(form).length;
    all.indeterminate = chosen > 0 && !all.checked;
  }
});

body.dataset.ready = "yes";
