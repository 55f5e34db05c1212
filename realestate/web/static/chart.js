// Charts by uPlot, in the colours of the page. The data is in the page; without this script the table below still has it.

const locale = document.documentElement.dataset.locale;
const token = (name) => {
  // light-dark() is resolved by a real property only.
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
};
const withAlpha = (colour, alpha) => colour.replace(/^rgb\((.*)\)$/, `rgba($1, ${alpha})`);
const formatter = (digits) => new Intl.NumberFormat(locale, { maximumFractionDigits: digits });
const compact = new Intl.NumberFormat(locale, { notation: "compact", maximumSignificantDigits: 4 });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: "UTC" });
const shortDate = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const month = new Intl.DateTimeFormat("en-GB", { month: "short", year: "numeric", timeZone: "UTC" });
const date = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });

function draw(figure) {
  const data = JSON.parse(document.getElementById(figure.dataset.chart).textContent);
  const box = figure.querySelector(".chart");
  const text = token("muted");
  const grid = token("line");
  const paths = uPlot.paths;
  const isOnePoint = data.times.length < 2;
  const series = data.series.map((each, index) => {
    const colour = token(`series-${(index % 4) + 1}`);
    const shown = formatter(each.digits);
    const kind = {
      steps: { paths: paths.stepped({ align: 1 }), width: 2 },
      bars: { paths: paths.bars({ size: [0.7, 40] }), fill: withAlpha(colour, 0.55), width: 0 },
      points: { paths: () => null, points: { show: true, size: 7, fill: colour } },
      edge: { width: 1, dash: [4, 4], points: { show: false } },
      line: { width: 2 },
    }[each.kind];
    return {
      label: each.label,
      stroke: each.kind === "edge" ? withAlpha(token("series-1"), 0.6) : colour,
      points: { show: isOnePoint || each.kind === "steps", size: 6, fill: colour },
      spanGaps: each.kind === "steps",
      value: (_, value) => (value == null ? "–" : `${shown.format(value)}${each.unit ? ` ${each.unit}` : ""}`),
      ...kind,
    };
  });
  const options = {
    width: box.clientWidth,
    height: Number(figure.dataset.height || 260),
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    cursor: { drag: { x: true, y: false } },
    scales: {
      x: { range: (_, low, high) => dates(low, high, data.times) },
      y: { range: (_, low, high) => range(low, high, data) },
    },
    series: [{ label: "Date", value: (_, value) => (value == null ? "–" : date.format(value * 1000)) }, ...series],
    bands: data.band ? [{ series: [data.band[1] + 1, data.band[0] + 1], fill: withAlpha(token("series-1"), 0.12) }] : [],
    axes: [
      {
        stroke: text,
        grid: { show: false },
        ticks: { stroke: grid },
        font: "12px system-ui, sans-serif",
        space: 80,
        size: 38,
        values: (_, ticks, axis, space, step) => ticks.map((tick) => dateOf(tick, step)),
      },
      {
        stroke: text,
        grid: { stroke: grid, width: 1 },
        ticks: { show: false },
        font: "12px system-ui, sans-serif",
        size: 56,
        values: (_, ticks) => ticks.map((tick) => (tick == null ? "" : compact.format(tick))),
      },
    ],
    hooks: { setCursor: [showNewest], draw: [(plot) => drawMarks(plot, data.marks, token("warn"), text)] },
  };
  box.replaceChildren();
  const plot = new uPlot(options, [data.times, ...data.series.map((each) => each.values)], box);
  showNewest(plot);
  figure.plot = plot;
  figure.dataset.points = data.times.length;
}

// While the mouse is elsewhere, the legend has the newest values.
function showNewest(plot) {
  if (plot.cursor.idx == null && plot.data[0].length) plot.setLegend({ idx: plot.data[0].length - 1 }, false);
}

function dateOf(seconds, step) {
  const at = seconds * 1000;
  if (step >= 28 * 86400) return month.format(at);
  return step >= 86400 || seconds % 86400 === 0 ? shortDate.format(at) : clock.format(at);
}

// What was seen within a day is the end of a week: uPlot would give one point years.
function dates(low, high, times) {
  const [first, last] = [times[0], times.at(-1)];
  return last - first < 86400 ? [first - 6 * 86400, last + 86400] : [low, high];
}

// Counts begin at 0. A price does not: its changes would not be seen.
function range(low, high, data) {
  if (data.limits) return data.limits;
  if (low == null) return [0, 1];
  if (data.series.every((each) => each.kind === "bars")) return [0, Math.max(high * 1.1, 1)];
  const room = high === low ? Math.abs(high) * 0.1 || 1 : (high - low) * 0.15;
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}

function drawMarks(plot, marks, colour, text) {
  const { ctx, bbox } = plot;
  const scale = devicePixelRatio || 1;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.fillStyle = text;
  ctx.font = `${11 * scale}px system-ui, sans-serif`;
  ctx.setLineDash([3 * scale, 3 * scale]);
  for (const [time, word] of marks) {
    const x = plot.valToPos(time, "x", true);
    if (x < bbox.left - 1 || x > bbox.left + bbox.width + 1) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const isRight = x > bbox.left + bbox.width / 2;
    ctx.textAlign = isRight ? "right" : "left";
    ctx.fillText(word, x + (isRight ? -4 : 4) * scale, bbox.top + 12 * scale);
  }
  ctx.restore();
}

// The picture is read without the page: it has the title, and the name and unit of each line.
function saveAsPicture(figure) {
  const data = JSON.parse(document.getElementById(figure.dataset.chart).textContent);
  const source = figure.querySelector("canvas");
  const copy = document.createElement("canvas");
  const context = copy.getContext("2d");
  const scale = devicePixelRatio || 1;
  const [edge, size] = [16 * scale, 13 * scale];
  copy.width = source.width + 2 * edge;
  copy.height = source.height + 2 * edge + 4 * size;
  context.fillStyle = token("surface");
  context.fillRect(0, 0, copy.width, copy.height);
  context.fillStyle = token("text");
  context.font = `600 ${1.15 * size}px system-ui, sans-serif`;
  context.fillText(figure.dataset.title, edge, edge + size, copy.width - 2 * edge);
  context.font = `${size}px system-ui, sans-serif`;
  let x = edge;
  for (const [index, { label, unit, kind }] of data.series.entries()) {
    context.fillStyle = kind === "edge" ? withAlpha(token("series-1"), 0.6) : token(`series-${(index % 4) + 1}`);
    context.fillRect(x, edge + 2.1 * size, size, 0.3 * size);
    context.fillStyle = token("muted");
    const text = unit ? `${label} (${unit})` : label;
    context.fillText(text, x + 1.4 * size, edge + 2.6 * size);
    x += context.measureText(text).width + 3 * size;
  }
  context.drawImage(source, edge, edge + 4 * size);
  copy.toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${figure.dataset.chart}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}

export function drawAll(within = document) {
  within.querySelectorAll("figure[data-chart]").forEach(draw);
}

drawAll();
document.addEventListener("theme", () => drawAll());
document.addEventListener("htmx:after:swap", () => drawAll());
let resized;
addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(() => {
    document.querySelectorAll("figure[data-chart]").forEach((figure) => {
      figure.plot?.setSize({ width: figure.querySelector(".chart").clientWidth, height: figure.plot.height });
    });
  }, 100);
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-save-picture]");
  if (button) saveAsPicture(button.closest("figure"));
});
