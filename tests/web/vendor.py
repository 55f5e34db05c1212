"""Copies the JavaScript of others out of `node_modules`, with its licences and checksums: see `make vendor`."""

import hashlib
import json
import shutil
import sys
from pathlib import Path

#: File of a package -> its name here.
SHIPPED = {
    "htmx.org/dist/htmx.min.js": "htmx.min.js",
    "maplibre-gl/dist/maplibre-gl.css": "maplibre-gl.css",
    "maplibre-gl/dist/maplibre-gl.mjs": "maplibre-gl.mjs",
    "maplibre-gl/dist/maplibre-gl-worker.mjs": "maplibre-gl-worker.mjs",
    "terra-draw/dist/terra-draw.umd.js": "terra-draw.umd.js",
    "terra-draw-maplibre-gl-adapter/dist/terra-draw-maplibre-gl-adapter.umd.js": "terra-draw-maplibre.umd.js",
    "topojson-client/dist/topojson-client.min.js": "topojson-client.min.js",
    "uplot/dist/uPlot.iife.min.js": "uPlot.iife.min.js",
    "uplot/dist/uPlot.min.css": "uPlot.min.css",
    "world-atlas/countries-50m.json": "countries-50m.json",
    "htmx.org/LICENSE": "licences/htmx.txt",
    "maplibre-gl/LICENSE.txt": "licences/maplibre-gl.txt",
    "topojson-client/LICENSE": "licences/topojson-client.txt",
    "uplot/LICENSE": "licences/uPlot.txt",
    "world-atlas/LICENSE": "licences/world-atlas.txt",
}
#: Only for tests.
TESTS = {"axe-core/axe.min.js": "axe.min.js", "axe-core/LICENSE": "LICENSE"}
#: Packages that state their licence but bring no text of it: MIT, from their package.json.
WITHOUT_TEXT = ("terra-draw", "terra-draw-maplibre-gl-adapter")
SUMS = "sha256.json"


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def copy(modules: Path, files: dict[str, str], folder: Path) -> None:
    """Copy the files into the folder, and write their checksums beside them."""
    for source, name in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(modules / source, target)
        target.chmod(0o644)
    sums = {name: checksum(folder / name) for name in sorted(files.values())}
    (folder / SUMS).write_text(json.dumps(sums, indent=2) + "\n", "utf-8")


def main(modules: Path, shipped: Path, tests: Path) -> None:
    for package in WITHOUT_TEXT:
        stated = json.loads((modules / package / "package.json").read_text("utf-8"))
        if stated["license"] != "MIT" or "Milner" not in str(stated.get("author", "James Milner")):
            raise SystemExit(f"{package} changed its licence: correct licences/terra-draw.txt")
    copy(modules, SHIPPED, shipped)
    copy(modules, TESTS, tests)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
