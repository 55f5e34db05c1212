"""Comparing the result of a crawl with the truth, without a crawl."""

from typing import Any

import pytest

from bench.rig import verdict
from realestate.demo.truth import COMPARED

Row = dict[str, Any]


def row(ref: str, /, **changes: Any) -> Row:
    """A listing as the truth and as the store have it."""
    row: Row = dict.fromkeys((*COMPARED, "delisted_at"))
    row |= {"ref": ref, "url": f"http://x/{ref}-a-home.html", "title": "A home", "price": 125000, "photos": []}
    return row | {"description": "Two  rooms\nand a view", "status": "active"} | changes


def read(ref: str, /, **changes: Any) -> Row:
    """The same as a peer reads it."""
    row = {"ref": ref, "url": f"http://x/{ref}-a-home.html", "title": "A home ", "price": "125 000", "photos": []}
    return row | {"description": "Two rooms and a view"} | changes


TRUTH = [row("101"), row("102"), row("103")]


def test_a_store_with_the_truth_has_no_fault() -> None:
    found = verdict.of_stored(TRUTH, TRUTH, [])
    assert (found.expected, found.right, found.wrong, found.lost, found.gone) == (3, 3, 0, 0, 0)
    assert found.right_share == 1


def test_a_listing_with_two_wrong_values_is_one_wrong_listing() -> None:
    found = verdict.of_stored(TRUTH, [row("101", price=1, title="?"), row("102"), row("103")], [])
    assert (found.right, found.wrong, found.lost) == (2, 1, 1)
    assert len(found.faults) == 2


def test_a_stored_page_that_is_not_a_listing_is_wrong() -> None:
    found = verdict.of_stored(TRUTH, [*TRUTH, row("999")], [])
    assert (found.right, found.wrong) == (3, 1)
    assert found.faults == ("999: there is no such listing",)


def test_a_missing_listing_is_explained_only_by_its_own_dead_letter() -> None:
    stored = [row("101")]
    assert verdict.of_stored(TRUTH, stored, ["http://x/103-a-home.html"]).lost == 1
    assert verdict.of_stored(TRUTH, stored, ["http://x/103-a.html", "http://x/102-a.html"]).lost == 0
    assert verdict.of_stored(TRUTH, stored, ["http://x/1030-a.html", "http://x/list?page=10", "None"]).lost == 2


def test_a_dead_letter_of_a_stored_listing_explains_nothing() -> None:
    found = verdict.of_stored(TRUTH, TRUTH[:2], ["http://x/101-a-home.html"])
    assert (found.right, found.accounted, found.lost) == (2, 0, 1)


def test_listings_marked_as_gone_are_counted() -> None:
    found = verdict.of_stored(TRUTH, [row("101", delisted_at="2026-11-01T00:00:00+00:00"), *TRUTH[1:]], [])
    assert found.gone == 1


def test_a_listing_of_a_peer_is_right_with_any_blanks_and_thousands_separators() -> None:
    found = verdict.of_read(TRUTH, [read("101"), read("102"), read("102")])
    assert (found.expected, found.right, found.wrong) == (3, 2, 0)


@pytest.mark.parametrize(
    "changes",
    [{"price": None}, {"price": "125 00"}, {"title": ""}, {"description": "Two rooms"}, {"photos": ["p"]}, {"ref": ""}],
    ids=str,
)
def test_a_listing_of_a_peer_is_wrong_if_one_value_is_wrong(changes: Row) -> None:
    found = verdict.of_read(TRUTH, [read("101"), read("102", **changes)])
    assert (found.right, found.wrong) == (1, 1)


def test_ban_pages_that_a_peer_took_for_listings_count_as_wrong_listings() -> None:
    ban_pages = [read("", url=f"http://x/{ref}-a-home.html", title="", price=None) for ref in (101, 102)]
    found = verdict.of_read(TRUTH, ban_pages)
    assert (found.right, found.wrong) == (0, 2)


def test_a_missing_price_and_a_price_on_request_are_the_same() -> None:
    assert verdict.of_read([row("101", price=None)], [read("101", price=None)]).right == 1
