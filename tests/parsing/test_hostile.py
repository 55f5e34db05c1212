"""Large, broken and hostile pages: the time grows in proportion to the size, and nothing raises an error."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import product
from time import process_time
from zoneinfo import ZoneInfo

import pytest

from realestate.parsing import (
    apollo,
    areas,
    azerbaijani_addresses,
    coordinates,
    dates,
    devalue,
    embedded,
    floors,
    html,
    jsonld,
    numbers,
    prices,
)

ZONE = ZoneInfo("Asia/Baku")
NOW = datetime(2026, 11, 16, tzinfo=UTC)
SMALL = 8_000
LARGE = 16 * SMALL
LARGEST = 1_024_000

TEXT: dict[str, Callable[[str], object]] = {
    "number": numbers.first,
    "price": lambda text: prices.parse(text, "EUR"),
    "period": prices.period,
    "area": areas.parse,
    "floor": floors.parse,
    "date": lambda text: dates.parse(text, ZONE, NOW, languages=("de",)),
    "address": azerbaijani_addresses.parse,
    "metro": azerbaijani_addresses.metro_at_end,
    "point": coordinates.parse,
}
SCRIPT: dict[str, Callable[[str], object]] = {
    "assigned": lambda text: embedded.assigned(text, "window.x"),
    "script": lambda text: embedded.script(text, "x"),
    "decoded": embedded.decoded,
    "jsonld": jsonld.nodes,
    "devalue": devalue.unpacked,
    "apollo": lambda text: apollo.first(embedded.decoded(text), "N"),
}
PAGE: dict[str, Callable[[str], object]] = {
    "rows": lambda text: html.rows(html.Page(text), "tr", "th", "td"),
    "definitions": lambda text: html.definitions(html.Page(text)),
    "opengraph": lambda text: html.opengraph(html.Page(text)),
}
TEXT_PIECES = (
    "000 ",
    "000 000 0000 ",
    "9",
    "1,2.",
    "a",
    " ",
    "-",
    "1/",
    "€5 + ",
    "5 - ",
    "5 m² - ",
    "per / ",
    "28.08.",
    "28 may ",
    "tikili m. ",
    "m² ",
)
SCRIPT_PIECES = (
    "window.x = ",
    'window.x = {"a": [',
    'window.x=["window.x=[", ',
    'window.x = JSON.parse("',
    "[",
    "'\"",
    'window.x = JSON.parse("\\',
    '{"undefined": undefined, "',
    "<script id=",
    "<script ",
    "<!-- ",
    " ",
    '<script type="application/ld+json" ',
    '<script type="application/ld+json">[',
)
PAGE_PIECES = ("<tr><th>a<td>", "<dt>a<dd>b", "<meta property=og:title content=a>", "<p>", "<", "<!-- ", "&amp;")
CASES = [
    *product(TEXT.items(), TEXT_PIECES),
    *product(SCRIPT.items(), SCRIPT_PIECES),
    *product(PAGE.items(), PAGE_PIECES),
]


def _seconds(read: Callable[[str], object], text: str, enough: float = 0.0) -> float:
    """Return the shortest of three times: a busy machine makes one longer. One that is below `enough` is the last."""
    taken: list[float] = []
    while len(taken) < 3 and not (taken and taken[-1] <= enough):
        started = process_time()
        with suppress(ValueError):  # a page with too many unclosed tags
            read(text)
        taken.append(process_time() - started)
    return min(taken)


@pytest.mark.parametrize(
    ("reader", "piece"), CASES, ids=lambda each: each[0] if isinstance(each, tuple) else repr(each)
)
def test_the_time_grows_in_proportion_to_the_size(reader: tuple[str, Callable[[str], object]], piece: str) -> None:
    """Sixteen times the size may take eighty times as long; with quadratic time it would be 256 times."""
    small = _seconds(reader[1], piece * (SMALL // len(piece)))
    allowed = 80 * max(small, 0.001)
    large = _seconds(reader[1], piece * (LARGE // len(piece)), enough=allowed)
    assert large <= allowed, f"{large / max(small, 1e-6):.0f} times as long"


@pytest.mark.parametrize(
    ("reader", "pieces"),
    [
        *product(TEXT.values(), [TEXT_PIECES]),
        *product(SCRIPT.values(), [SCRIPT_PIECES]),
        *product(PAGE.values(), [PAGE_PIECES]),
    ],
)
def test_a_megabyte_of_all_pieces_raises_no_error(reader: Callable[[str], object], pieces: tuple[str, ...]) -> None:
    mixture = "".join(pieces)
    text = mixture * (LARGEST // len(mixture))
    assert len(text) > 0.9 * LARGEST
    with suppress(ValueError):  # any other error fails
        reader(text)
