"""Nasty pages: twice the page takes about twice the time, and nothing but ValueError is raised."""

from collections.abc import Callable
from contextlib import suppress
from time import process_time

import pytest

from realestate.parsing import unknown_pages
from tests.parsing.unknown_pages.pages import URL

#: Pages of n pieces.
SHAPES: dict[str, Callable[[int], str]] = {
    "labels": lambda n: "<dl>" + "<dt>Rooms</dt>" * n,
    "rows in one element": lambda n: "<div>" + "<b>Rooms</b><i>3</i>" * n,
    "rows": lambda n: "<li><b>Rooms</b> <i>3</i></li>" * n,
    "different values": lambda n: "".join(f"<li>Area: {number} m²</li>" for number in range(n)),
    "dates": lambda n: "<p>Posted: 28/08/2026</p>" * n,
    "nested": lambda n: "<div>Rooms<p>3</p>" * min(n, 9_000),
    "superscripts": lambda n: "<p>" + "m<sup>2</sup>" * n,
    "prices": lambda n: "<h1>x</h1>" + "<p>1 000 €</p>" * n,
    "menus": lambda n: "<nav>" * 300 + "<p>Rooms: 3</p>" * n,
    "title of numbers": lambda n: "<title>" + "0-" * n,
    "title of the site": lambda n: "<title>x" + " | homes" * n,
    "heading": lambda n: "<h1>" + "3 rooms " * n,
    "breadcrumbs": lambda n: "<div class=breadcrumb>" + "<a>for sale</a>" * n,
    "assignments": lambda n: "<script>" + 'x = {"a": ' * n + "</script>",
    "JSON in a list": lambda n: "<script type=application/json>[" + '{"title":"a","price":1,"city":"B"},' * n + "{}]",
    "JSON in strings": lambda n: (
        "<script type=application/json>[" + ('"{\\"a\\":1}' + " " * 300 + '",') * (n // 30) + "1]"
    ),
    "Next rows": lambda n: "<script>" + 'self.__next_f.push([1,"1:{}\\n"]);' * n + "</script>",
    "Next text": lambda n: '<script>self.__next_f.push([1,"' + "1:T2,ab" * n + '"])</script>',
    "nodes": lambda n: (
        '<script type="application/ld+json">['
        + ",".join(f'{{"@type":"House","name":"n{number}"}}' for number in range(n))
        + "]</script>"
    ),
    "references": lambda n: (
        '<script type="application/ld+json">['
        + ",".join(f'{{"@id":"{each}","@type":"House","about":{{"@id":"{each + 1}"}}}}' for each in range(n))
        + "]</script>"
    ),
}
SMALL = 2_000


def seconds(page: str) -> float:
    taken = []
    for _ in range(3):
        started = process_time()
        with suppress(ValueError):  # a page with too many unclosed tags
            unknown_pages.read(page, URL)
        taken.append(process_time() - started)
    return min(taken)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_time_grows_with_the_size(shape: Callable[[int], str]) -> None:
    seconds(shape(100))  # tables are loaded once
    small, large = seconds(shape(SMALL)), seconds(shape(4 * SMALL))
    assert large < 12 * small or large < 0.1


@pytest.mark.parametrize(
    "page",
    [
        "",
        "\x00",
        "<",
        "<h1>",
        "<html lang='--'>",
        '<link rel=canonical href="http://[">',
        '<link rel=canonical href="//">',
        "<script type=application/json>[[[",
        '<script type="application/ld+json">{"@type": [], "offers": [[]], "geo": 5, "about": "x", "address": [[]]}',
        '<script type="application/ld+json">{"@type": "House", "name": [[]], "image": {"url": []}, "offers": {}}',
        '<script type=application/json>{"id": 1234567, "price": {"value": {"value": []}}, "city": [], "rooms": {}}',
    ],
)
def test_a_broken_page_raises_no_error(page: str) -> None:
    assert unknown_pages.read(page + "</script>", URL).kind in ("listing", "other")
