// The map of the listings, drawing an area, and changes of the search without loading the whole page.

import * as maplibregl from "./vendor/maplibre-gl.mjs";

const box = document.getElementById("map");
const results = () => document.getElementById("results");
const status = document.getElementById("map-status");
const here = (name) => new URL(name, import.meta.url).href;
maplibregl.setWorkerUrl(here("./vendor/maplibre-gl-worker.mjs"));

// ----- searching: the parts of the page are replaced, the map stays

const PARTS = ["#title", "#search", "#facets"];

function go(address) {
  return window.htmx.ajax("GET", address, {
    target: "#results",
    select: "#results",
    swap: "outerMorph",
    selectOOB: PARTS.map((part) => `${part}:outerMorph`).join(","),
    push: "true",
  });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-go]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-go]");
  if (!form) return;
  event.preventDefault();
  const asked = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  go(`${form.getAttribute("action")}?${asked}`);
});
document.addEventListener("change", (event) => {
  if (event.target.matches("form[data-go] select")) event.target.form.requestSubmit();
});

// ----- the map

const GROUND = { light: "#dfe7ee", dark: "#10202c" };
const LAND = { light: "#f7f6f2", dark: "#232b35" };
const BORDER = { light: "#a9b4c0", dark: "#47566a" };
const ACCENT = { light: "#0b6b66", dark: "#4fc9bd" };
const STROKE = { light: "#ffffff", dark: "#0f1318" };
const scheme = () => (document.documentElement.hasAttribute("data-dark") ? "dark" : "light");
const EMPTY = { type: "FeatureCollection", features: [] };

function style() {
  const sources = { outlines: { type: "geojson", data: EMPTY }, hexagons: { type: "geojson", data: EMPTY }, points: { type: "geojson", data: EMPTY }, area: { type: "geojson", data: areaOf() } };
  const layers = [
    { id: "ground", type: "background", paint: { "background-color": GROUND[scheme()] } },
    { id: "land", type: "fill", source: "outlines", paint: { "fill-color": LAND[scheme()] } },
    { id: "borders", type: "line", source: "outlines", paint: { "line-color": BORDER[scheme()], "line-width": 1 } },
  ];
  if (box.dataset.tiles) {
    sources.tiles = { type: "raster", tiles: [box.dataset.tiles], tileSize: 256, maxzoom: 19, attribution: box.dataset.attribution };
    layers.push({ id: "tiles", type: "raster", source: "tiles" });
  }
  layers.push(
    { id: "hexagons", type: "fill", source: "hexagons", paint: { "fill-color": ["coalesce", ["get", "colour"], "#8b95a3"], "fill-opacity": 0.72 } },
    { id: "hexagon-edges", type: "line", source: "hexagons", paint: { "line-color": GROUND[scheme()], "line-width": 0.6 } },
    {
      id: "points",
      type: "circle",
      source: "points",
      paint: {
        "circle-color": ACCENT[scheme()],
        "circle-radius": ["interpolate", ["linear"], ["zoom"], 6, 4, 14, 7],
        "circle-stroke-color": STROKE[scheme()],
        "circle-stroke-width": 1.5,
      },
    },
    { id: "area", type: "line", source: "area", paint: { "line-color": ACCENT[scheme()], "line-width": 2.5, "line-dasharray": [2, 1.5] } },
  );
  return { version: 8, sources, layers };
}

const boundsOf = () => {
  const numbers = (results()?.dataset.bounds || "").split(",").map(Number);
  return numbers.length === 4 && numbers.every(Number.isFinite) ? [numbers.slice(0, 2), numbers.slice(2)] : undefined;
};
// The area that the listings are within: one that was drawn, or a view of the map.
function areaOf() {
  const corners = (results()?.dataset.area || "").split(";").filter(Boolean).map((corner) => corner.split(",").map(Number));
  return corners.length ? { type: "Feature", properties: {}, geometry: { type: "Polygon", coordinates: [[...corners, corners[0]]] } } : EMPTY;
}
const FIT = { padding: 36, maxZoom: 14 };

let map;
let labels = [];
let loading;

function begin() {
  try {
    map = new maplibregl.Map({
      container: box,
      style: style(),
      bounds: boundsOf() ?? [[-10, 35], [60, 60]],
      fitBoundsOptions: FIT,
      attributionControl: box.dataset.tiles ? { compact: true } : false,
      dragRotate: false,
      pitchWithRotate: false,
      maxPitch: 0,
      fadeDuration: 0,
      locale: { "Map.Title": "Map of the results" },
    });
  } catch (error) {
    fail("This browser cannot show the map (it needs WebGL). The table has the same listings.", error);
    return;
  }
  map.touchZoomRotate.disableRotation();
  map.addControl(new maplibregl.NavigationControl({ showCompass: false }), "top-right");
  map.addControl(new maplibregl.ScaleControl(), "bottom-right");
  map.on("load", async () => {
    await Promise.all([outlines(), load()]);
    repaint();
    box.dataset.map = "loaded";
  });
  map.on("movestart", () => delete box.dataset.drawn);
  map.on("moveend", load);
  map.on("idle", () => (box.dataset.drawn = "yes"));
  map.on("click", "hexagons", showHexagon);
  map.on("click", "points", showPoint);
  for (const layer of ["hexagons", "points"]) {
    map.on("mouseenter", layer, () => (map.getCanvas().style.cursor = "pointer"));
    map.on("mouseleave", layer, () => (map.getCanvas().style.cursor = ""));
  }
  box.map = map;
}

function fail(text, error) {
  box.dataset.state = "failed";
  status.textContent = text;
  console.warn(text, error);
}

async function outlines() {
  const response = await fetch(box.dataset.outlines);
  const world = await response.json();
  const countries = window.topojson.feature(world, world.objects.countries);
  for (const { geometry } of countries.features) {
    for (const polygon of geometry.type === "Polygon" ? [geometry.coordinates] : geometry.coordinates) polygon.forEach(unwrap);
  }
  map.getSource("outlines").setData(countries);
}

// The outlines are those of a globe. On a flat map a line that crosses the 180th meridian goes on beyond it, and one
// that goes around a pole is closed along it.
function unwrap(ring) {
  for (let place = 1; place < ring.length; place++) {
    const turns = Math.round((ring[place - 1][0] - ring[place][0]) / 360);
    if (turns) ring[place] = [ring[place][0] + turns * 360, ring[place][1]];
  }
  const [first, last] = [ring[0], ring.at(-1)];
  if (Math.abs(first[0] - last[0]) > 180) {
    const pole = first[1] < 0 ? -85 : 85;
    ring.push([last[0], pole], [first[0], pole], first);
  }
}

// West, south, east and north of the view. Whoever went around the world is back in it.
function view() {
  const bounds = map.getBounds();
  const turns = map.getCenter().lng - map.getCenter().wrap().lng;
  const [west, east] = [Math.max(-180, bounds.getWest() - turns), Math.min(180, bounds.getEast() - turns)];
  return [west, Math.max(-90, bounds.getSouth()), east, Math.min(90, bounds.getNorth())].map((each) => each.toFixed(5)).join(",");
}

async function load() {
  if (!map?.getSource("hexagons")) return;
  loading?.abort();
  loading = new AbortController();
  box.dataset.state = "loading";
  const asked = new URLSearchParams({ bbox: view(), zoom: map.getZoom().toFixed(2) });
  if (results()?.dataset.where) asked.set("where", results().dataset.where);
  try {
    const response = await fetch(`/listings/map.json?${asked}`, { signal: loading.signal });
    const data = await response.json();
    if (!response.ok) throw new Error(data.error ?? response.statusText);
    show(data);
  } catch (error) {
    if (error.name !== "AbortError") fail(`The map could not be loaded: ${error.message}`, error);
  }
}

function show(data) {
  const isPoints = data.kind === "points";
  map.getSource("hexagons").setData(isPoints ? EMPTY : data.features);
  map.getSource("points").setData(isPoints ? data.features : EMPTY);
  legend(data.legend);
  label(data.labels);
  repaint();
  box.dataset.kind = data.kind;
  box.dataset.count = data.count;
  box.dataset.state = "ready";
  status.textContent = data.text;
}

// From now until the map is idle again, not all that it has is drawn.
function repaint() {
  delete box.dataset.drawn;
  map.triggerRepaint();
}

function swatch(colour) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 10 4");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  const rect = document.createElementNS(svg.namespaceURI, "rect");
  for (const [name, value] of Object.entries({ width: 10, height: 4, fill: colour })) rect.setAttribute(name, value);
  svg.append(rect);
  return svg;
}

function legend({ title, steps, note }) {
  const heading = document.createElement("strong");
  heading.textContent = title;
  const parts = [heading];
  if (steps.length) {
    const list = document.createElement("ol");
    const few = document.createElement("li");
    few.className = "few";
    few.append(swatch("#8b95a3"), "too few prices");
    for (const { colour, label: text } of steps) {
      const item = document.createElement("li");
      item.append(swatch(colour), text);
      list.append(item);
    }
    list.append(few);
    parts.push(list);
  }
  if (note) {
    const line = document.createElement("span");
    line.className = "note-line";
    line.textContent = note;
    parts.push(line);
  }
  document.getElementById("legend").replaceChildren(...parts);
}

// Labels are elements of the page: no server of glyphs is needed, and the font is that of the page.
function label(places) {
  labels.forEach((marker) => marker.remove());
  const taken = [];
  labels = [];
  for (const { name, longitude, latitude } of places) {
    const { x, y } = map.project([longitude, latitude]);
    const width = name.length * 7 + 8;
    if (taken.some((other) => Math.abs(other.x - x) < (other.width + width) / 2 && Math.abs(other.y - y) < 20)) continue;
    taken.push({ x, y, width });
    const element = document.createElement("div");
    element.className = "map-label";
    element.textContent = name;
    element.dir = "auto";
    labels.push(new maplibregl.Marker({ element }).setLngLat([longitude, latitude]).addTo(map));
    element.removeAttribute("role");
    element.removeAttribute("aria-label");
    element.removeAttribute("tabindex");
    element.setAttribute("aria-hidden", "true");
  }
}

let popup;
function open(at, title, text, address, link) {
  popup?.remove();
  const content = document.createElement("div");
  const heading = document.createElement("strong");
  heading.textContent = title;
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.textContent = link;
  if (!link.includes("listing of")) anchor.dataset.go = "";
  content.append(heading, document.createElement("br"), text, text ? document.createElement("br") : "", anchor);
  popup = new maplibregl.Popup({ maxWidth: "18rem" }).setLngLat(at).setDOMContent(content).addTo(map);
}

const withArea = (area) => {
  const where = [results()?.dataset.withoutArea, area].filter(Boolean).join(" ");
  const asked = new URLSearchParams();
  if (where) asked.set("where", where);
  const sort = results()?.dataset.sort;
  if (sort && sort !== "-first_seen_at") asked.set("sort", sort);
  return `/listings?${asked}`;
};

function showHexagon(event) {
  if (drawing) return;
  const { title, text, area } = event.features[0].properties;
  open(event.lngLat, title, text, withArea(`polygon=${area}`), "Show only these");
}

function showPoint(event) {
  if (drawing) return;
  event.preventDefault();
  const { portal, ref, title } = event.features[0].properties;
  const address = `/listings/${encodeURIComponent(portal)}/${encodeURIComponent(ref)}`;
  open(event.features[0].geometry.coordinates, title, "", address, `The listing of ${portal}`);
}

// ----- drawing an area

let drawing;
const drawButton = document.getElementById("draw");
const clearButton = document.getElementById("clear-area");

const script = (name) =>
  new Promise((resolve, reject) => {
    const element = document.createElement("script");
    element.src = here(name);
    element.onload = resolve;
    element.onerror = () => reject(new Error(`${name} could not be loaded`));
    document.head.append(element);
  });

async function startDrawing() {
  if (!window.terraDraw) {
    await script("./vendor/terra-draw.umd.js");
    await script("./vendor/terra-draw-maplibre.umd.js");
  }
  popup?.remove();
  const colour = ACCENT[scheme()];
  const mode = new window.terraDraw.TerraDrawPolygonMode({
    styles: { fillColor: colour, fillOpacity: 0.15, outlineColor: colour, outlineWidth: 2, closingPointColor: colour, closingPointWidth: 6 },
  });
  const adapter = new window.terraDrawMaplibreGlAdapter.TerraDrawMapLibreGLAdapter({ map });
  drawing = new window.terraDraw.TerraDraw({ adapter, modes: [mode] });
  drawing.start();
  drawing.setMode("polygon");
  drawing.on("finish", (id) => {
    const ring = drawing.getSnapshotFeature(id).geometry.coordinates[0].slice(0, -1);
    stopDrawing();
    go(withArea(`polygon=${ring.map((corner) => corner.map((degrees) => degrees.toFixed(5)).join(",")).join(";")}`));
  });
  drawing.on("change", () => {
    const area = drawing?.getSnapshot().find(({ geometry }) => geometry.type === "Polygon");
    box.dataset.corners = area?.properties.committedCoordinateCount ?? 0;
  });
  drawButton.setAttribute("aria-pressed", "true");
  drawButton.textContent = "Stop drawing";
  box.dataset.drawing = "yes";
  status.textContent = "Click the corners of the area; click the first corner again to close it. Escape ends.";
}

function stopDrawing() {
  drawing?.stop();
  drawing = undefined;
  drawButton.setAttribute("aria-pressed", "false");
  drawButton.textContent = "Draw an area";
  delete box.dataset.drawing;
  delete box.dataset.corners;
}

drawButton?.addEventListener("click", () => (drawing ? stopDrawing() : startDrawing()).catch?.((error) => fail(error.message, error)));
document.addEventListener("keydown", (event) => event.key === "Escape" && drawing && stopDrawing());
clearButton?.addEventListener("click", () => go(withArea("")));
document.getElementById("fit")?.addEventListener("click", () => boundsOf() && map.fitBounds(boundsOf(), FIT));

document.getElementById("in-view")?.addEventListener("click", () => map && go(withArea(`bbox=${view()}`)));

function showArea() {
  map?.getSource("area")?.setData(areaOf());
  clearButton.hidden = results()?.dataset.where === results()?.dataset.withoutArea;
}

document.addEventListener("htmx:after:swap", () => {
  popup?.remove();
  showArea();
  const bounds = boundsOf();
  if (bounds && map) map.fitBounds(bounds, { ...FIT, animate: false });
  load();
});
document.addEventListener("theme", () => {
  if (!map?.getLayer("ground")) return;
  map.setPaintProperty("ground", "background-color", GROUND[scheme()]);
  map.setPaintProperty("land", "fill-color", LAND[scheme()]);
  map.setPaintProperty("borders", "line-color", BORDER[scheme()]);
  map.setPaintProperty("hexagon-edges", "line-color", GROUND[scheme()]);
  map.setPaintProperty("points", "circle-color", ACCENT[scheme()]);
  map.setPaintProperty("points", "circle-stroke-color", STROKE[scheme()]);
  map.setPaintProperty("area", "line-color", ACCENT[scheme()]);
});

if (box) {
  showArea();
  begin();
}
