// Light or dark: the choice of the reader, or that of the machine. Loaded before the page is painted, so nothing flashes.
"use strict";

const THEMES = ["auto", "light", "dark"];
const machineIsDark = matchMedia("(prefers-color-scheme: dark)");

function chosenTheme() {
  try {
    const theme = localStorage.getItem("theme");
    return THEMES.includes(theme) ? theme : "auto";
  } catch {
    return "auto"; // storage is switched off
  }
}

function applyTheme(theme) {
  const root = document.documentElement;
  const isDark = theme === "dark" || (theme === "auto" && machineIsDark.matches);
  root.toggleAttribute("data-dark", isDark);
  if (theme === "auto") root.removeAttribute("data-theme");
  else root.dataset.theme = theme;
  document.dispatchEvent(new CustomEvent("theme", { detail: { isDark } }));
}

applyTheme(chosenTheme());
machineIsDark.addEventListener("change", () => applyTheme(chosenTheme()));

document.addEventListener("DOMContentLoaded", () => {
  const button = document.querySelector("[data-theme-button]");
  if (!button) return;
  const label = () => {
    button.querySelector("[data-theme-name]").textContent = { auto: "Auto", light: "Light", dark: "Dark" }[chosenTheme()];
  };
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(chosenTheme()) + 1) % THEMES.length];
    try {
      localStorage.setItem("theme", next);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
    applyTheme(next);
    label();
  });
  button.hidden = false;
  label();
});
