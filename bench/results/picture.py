"""Bars: the pages per second of each crawler as a multiple of plain Scrapy's, with the spread of its rounds."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.results.comparing import Recorded

SUITE = "crawl"
UNIT = "pages/s"
OURS = "#1b7f5c"
OTHERS = "#9aa5b1"
BASIS = "plain Scrapy"


def draw(file: Path, known: Sequence[Recorded]) -> bool:
    """Returns whether there is a picture: without matplotlib the earlier one stays."""
    rows = [each for each in known if each.suite == SUITE and each.unit == UNIT and each.ratio]
    try:
        from matplotlib import rcParams
        from matplotlib.figure import Figure
    except ImportError:
        print("no new picture: no matplotlib (pip install 'realestate[bench]')", file=sys.stderr)
        return file.exists()
    if not rows:
        return file.exists()
    rcParams["svg.hashsalt"] = "realestate"  # the same numbers make the same file
    portals = list(dict.fromkeys(_parts(each)[0] for each in rows))
    figure = Figure(figsize=(8, 0.6 + 2.1 * len(portals)), layout="constrained")
    panels = figure.subplots(len(portals), 1, squeeze=False)[:, 0]
    for panel, portal in zip(panels, portals, strict=True):
        _bars(panel, portal, [each for each in rows if _parts(each)[0] == portal])
    panels[-1].set_xlabel(f"pages per second, {BASIS} = 1")
    figure.savefig(file, metadata={"Date": None})
    return True


def _bars(panel: Any, portal: str, rows: Sequence[Recorded]) -> None:
    names = [_parts(each)[1] for each in rows]
    widths = [each.ratio or 0.0 for each in rows]
    errors = [width * each.spread / 2 for width, each in zip(widths, rows, strict=True)]
    names.append(BASIS)
    widths.append(1.0)
    errors.append(rows[0].peer_spread / 2)
    colours = [OURS if name.startswith("realestate") else OTHERS for name in names]
    bars = panel.barh(names, widths, xerr=errors, color=colours, capsize=3)
    panel.bar_label(bars, [f"{width:.1f} ×" for width in widths], padding=6)
    panel.invert_yaxis()
    panel.margins(x=0.15)
    panel.set_title(portal, loc="left")


def _parts(each: Recorded) -> tuple[str, str]:
    """The portal and the crawler."""
    portal, _, crawler = each.name.partition(": ")
    return portal, crawler
