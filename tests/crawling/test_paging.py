"""Ways of paging, where a search ends, and how it is split: pure rules, tested with small invented portals."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realestate.crawling.paging import MOST_PAGES, Cursors, Links, Numbers, Offsets, Paging
from realestate.crawling.results import Found, Results
from realestate.crawling.search_splitting import Axis, Band, Choice, parts_of
from realestate.crawling.search_urls import whole_number, with_parameters
from realestate.crawling.watermark import Newest, SearchProgress, mark_of, watermark_of
from realestate.items import Listing, Sighting

SEARCH = "https://portal.example/homes?kind=flat"
NOW = datetime(2026, 11, 16, tzinfo=UTC)


def found(ref: str, price: int | None = None, dated: datetime | None = None) -> Found:
    return Found(Sighting(portal="p", ref=ref, url=f"https://portal.example/{ref}", price=price), dated=dated)  # type: ignore[arg-type]


def shows(refs: Sequence[object], **values: object) -> Results:
    return Results([found(str(ref)) for ref in refs], **values)  # type: ignore[arg-type]


def walked(paging: Paging, answer: "Answer", until: int | None = None, newest: Newest | None = None) -> list[str]:
    """The search pages that are requested, in order. The test fails if a search does not end."""
    asked, waiting = [], [(SEARCH, SearchProgress(until))]
    while waiting:
        search, walk = waiting.pop(0)
        asked.append(search)
        assert len(asked) < 200
        results = answer(search)
        following = SearchProgress.from_meta(walk.after(results, newest).as_meta())
        waiting += [(page, following) for page in walk.next_pages(paging, newest, search, results)]
    return asked


class Answer:
    """A portal with this many results, newest (greatest ref) first. `past` is the page shown after the last one."""

    def __init__(self, count: int, size: int = 10, *, total: bool = False, past: str = "empty") -> None:
        self.refs = list(range(count, 0, -1))
        self.size, self.total, self.past = size, total, past

    def __call__(self, search: str) -> Results:
        number = whole_number(search, "page") or 1
        pages = max(1, -(-len(self.refs) // self.size))
        if number > pages:
            number = {"empty": number, "last": pages, "first": 1}[self.past]
        shown = self.refs[(number - 1) * self.size : number * self.size]
        return shows(shown, total=len(self.refs) if self.total else None)


@pytest.mark.parametrize("past", ["empty", "last", "first"])
def test_without_a_total_pages_are_read_until_one_shows_nothing_new(past: str) -> None:
    asked = walked(Numbers(size=10), Answer(45, past=past))
    assert [whole_number(url, "page") or 1 for url in asked] == [1, 2, 3, 4, 5, 6]


def test_with_a_total_all_pages_are_requested_at_once() -> None:
    answer = Answer(45, total=True)
    assert len(SearchProgress().next_pages(Numbers(size=10), None, SEARCH, answer(SEARCH))) == 4
    assert len(walked(Numbers(size=10), answer)) == 5, "no page is requested twice"


def test_no_page_is_requested_beyond_the_last_that_the_portal_shows() -> None:
    for answer in (Answer(95, total=True), Answer(95)):
        assert len(walked(Numbers(size=10, last=3), answer)) == 3
        assert len(walked(Numbers(size=10, most=35), answer)) == 4


def test_a_total_that_a_site_has_made_up_does_not_fill_the_queue() -> None:
    results = Results([], total=10**15)
    assert len(Numbers(size=10).rest(SEARCH, results) or ()) == MOST_PAGES - 1
    assert Numbers(size=10).reach == 10 * MOST_PAGES


def test_an_offset_counts_results() -> None:
    paging = Offsets("index", 24)
    rest = paging.rest(SEARCH, shows([1], total=60))
    assert rest == [f"{SEARCH}&index=24", f"{SEARCH}&index=48"]
    assert paging.next(f"{SEARCH}&index=24", shows([1])) == f"{SEARCH}&index=48"
    assert paging.key(f"{SEARCH}&index=24") == SEARCH
    assert (paging.is_first(SEARCH), paging.is_first(f"{SEARCH}&index=24")) == (True, False)


def test_a_search_ends_where_the_server_says_so() -> None:
    assert SearchProgress().next_pages(Numbers(), None, SEARCH, shows([1, 2], is_last=True)) == []


def test_a_cursor_leads_from_page_to_page() -> None:
    pages = {"": ([3, 2], "b c"), "b c": ([1], None)}

    def answer(search: str) -> Results:
        refs, after = pages[dict(parse_qsl(urlsplit(search).query)).get("cursor", "")]
        return shows(refs, after=after, total=3)

    assert walked(Cursors(), answer) == [SEARCH, f"{SEARCH}&cursor=b+c"]  # type: ignore[arg-type]


def test_a_cursor_that_leads_in_a_circle_ends() -> None:
    assert len(walked(Cursors(), lambda search: shows([1, 2], after="again"))) == 2  # type: ignore[arg-type]


def test_a_link_may_be_relative() -> None:
    assert Links().next(SEARCH, shows([1], after="/homes?page=2")) == "https://portal.example/homes?page=2"
    assert Links().next(SEARCH, shows([1])) is None


# ----- incremental


def test_an_incremental_search_stops_after_two_pages_without_anything_new() -> None:
    asked = walked(Numbers(size=10), Answer(1000, total=True), until=985, newest="ref")
    assert len(asked) == 4, "two pages with new adverts, two without"


def test_old_adverts_among_the_new_do_not_end_the_search() -> None:
    pages = {1: [100, 3, 4], 2: [5, 6, 7], 3: [99, 8, 9], 4: [10, 11, 12], 5: [13, 14, 15], 6: [98]}
    asked = walked(Numbers(size=3), lambda search: shows(pages[whole_number(search, "page") or 1]), 50, "ref")  # type: ignore[arg-type]
    assert len(asked) == 5


def test_if_results_are_sorted_by_date_the_last_one_decides() -> None:
    def answer(search: str) -> Results:
        first = ((whole_number(search, "page") or 1) - 1) * 10
        dated = [found(str(n), dated=NOW - timedelta(hours=n)) for n in range(first, first + 10)]
        promoted = found("9999", dated=NOW - timedelta(days=90))
        return Results([promoted, *dated], total=1000)

    until = int((NOW - timedelta(hours=15)).timestamp() * 1000)
    assert len(walked(Numbers(size=10), answer, until, "date")) == 2  # type: ignore[arg-type]


def test_a_watermark_is_the_newest_date_that_is_not_in_the_future() -> None:
    results = Results(
        [found("7", dated=NOW - timedelta(days=1)), found("9", dated=NOW + timedelta(days=400)), found("x")]
    )
    assert watermark_of(results, "date", NOW) == int((NOW - timedelta(days=1)).timestamp() * 1000)
    assert watermark_of(results, "ref", NOW) == 9
    assert watermark_of(results, None, NOW) is None
    whole = Listing(portal="p", ref="5", url="https://portal.example/5", country="BE", posted_at=NOW)
    assert mark_of(whole, "date") == int(NOW.timestamp() * 1000)


# ----- splitting


class Market:
    """Adverts with a price and an area, found by inclusive bands."""

    def __init__(self, prices: Sequence[int], region: bool = False) -> None:
        rng = Random(5)
        self.homes = [(price, rng.randint(20, 300), rng.choice("abc")) for price in prices]

    def matching(self, search: str) -> list[tuple[int, int, str]]:
        values = dict(parse_qsl(urlsplit(search).query))
        bounds = (int(values.get(name, default)) for name, default in (("from", 0), ("to", 10**15)))
        areas = (int(values.get(name, default)) for name, default in (("area_from", 0), ("area_to", 10**15)))
        (low, high), (small, large), region = bounds, areas, values.get("region")
        return [
            home
            for home in self.homes
            if low <= home[0] <= high and small <= home[1] <= large and region in (None, home[2])
        ]


PRICE, AREA = Band("from", "to"), Band("area_from", "area_to", top=500, is_price=False)
REGION = Choice("region", ("a", "b", "c"))


def leaves(market: Market, axes: tuple[Axis, ...], reach: int) -> tuple[list[str], int]:
    """The parts that are read, and how many requests it took to find them."""
    waiting, read, asked = [SEARCH], [], 0
    while waiting:
        search = waiting.pop()
        matching = market.matching(search)
        asked += 1
        assert asked < 5000
        parts = (
            parts_of(search, axes, len(matching), reach, [price for price, *_ in matching[:30]])
            if len(matching) > reach
            else []
        )
        waiting += parts
        if not parts:
            read.append(search)
    return read, asked


@given(st.lists(st.one_of(st.integers(0, 3_000_000), st.sampled_from([0, 1, 250_000, 10**9])), max_size=400))
def test_the_parts_together_show_every_advert_once(prices: list[int]) -> None:
    market = Market(prices)
    read, _ = leaves(market, (PRICE, AREA, REGION), 20)
    shown = [home for search in read for home in market.matching(search)]
    assert sorted(shown) == sorted(market.homes)


def test_a_choice_splits_only_a_search_of_its_root() -> None:
    tree = Choice("kind", ("flat", "house"), whole="home")
    assert tree.split("https://p.example/?kind=home&page=1", 2, ()) == [
        "https://p.example/?kind=flat&page=1",
        "https://p.example/?kind=house&page=1",
    ]
    assert tree.split("https://p.example/?kind=flat", 2, ()) == []
    assert tree.split("https://p.example/", 2, ()) == []
    assert REGION.split("https://p.example/?region=a", 2, ()) == []


def test_no_part_is_longer_than_the_portal_shows() -> None:
    rng = Random(1)
    market = Market([int(rng.lognormvariate(12.5, 0.6)) for _ in range(30_000)])
    read, asked = leaves(market, (PRICE, AREA), 999)
    assert max(len(market.matching(search)) for search in read) <= 999
    assert asked <= 4 * 30_000 / 999, "a split costs few requests"


def test_results_of_one_price_are_split_by_the_next_axis() -> None:
    market = Market([500] * 300)
    read, _ = leaves(market, (PRICE, AREA, REGION), 50)
    assert max(len(market.matching(search)) for search in read) <= 50


def test_a_search_that_cannot_be_split_has_no_parts() -> None:
    whole = with_parameters(SEARCH, {"from": 500, "to": 500, "region": "a"})
    assert parts_of(whole, (PRICE, REGION), 300, 50, [500] * 30) == []


def test_a_part_keeps_the_other_parameters() -> None:
    search = "https://portal.example/homes?tag=a&tag=b&empty=&from=10"
    low, high = PRICE.split(search, 2, [20, 30, 40, 50])
    assert low == "https://portal.example/homes?tag=a&tag=b&empty=&from=10&to=39"
    assert high == "https://portal.example/homes?tag=a&tag=b&empty=&from=40"
    assert re.search(r"to=", high) is None, "the outermost part stays open"
