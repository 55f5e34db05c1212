"""The rules that turn observations of a listing into events, without a database."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realestate.items import Gone, Listing, Sighting, Status, as_record
from realestate.pipelines.clean import clean
from realestate.simulator import history as simulator_history
from realestate.storage.changes import (
    OFF_THE_MARKET,
    Observed,
    Outcome,
    State,
    Suspect,
    changed_fields,
    correct,
    decide,
    depart,
)
from tests.examples import a_listing

START = datetime(2026, 9, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def page(**changes: Any) -> Listing:
    """A listing as it comes out of the pipelines."""
    return clean(a_listing(**changes))


def card(price: Any = None, **fields: Any) -> Sighting:
    listing = a_listing()
    amount = None if price is None else Decimal(price)
    return Sighting(portal=listing.portal, ref=listing.ref, url=listing.url, price=amount, **fields)


def gone(evidence: Any = "404") -> Gone:
    listing = a_listing()
    return Gone(portal=listing.portal, ref=listing.ref, url=listing.url, evidence=evidence, detail="")


class History:
    """A store of one listing that accepts every observation at once."""

    def __init__(self) -> None:
        self.state: State | None = None
        self.now = START
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.outcomes: list[Outcome] = []

    def see(self, *items: Observed, job: str = "") -> list[str]:
        """Observe items one day later. Return the types of the new events."""
        self.now += DAY
        return self.apply(decide(self.state, [(item, job or f"day {self.now.day}") for item in items], self.now))

    def apply(self, outcome: Outcome) -> list[str]:
        self.state = outcome.state
        self.outcomes.append(outcome)
        self.events += [(event.type, event.data) for event in outcome.events]
        return [event.type for event in outcome.events]

    @property
    def listing(self) -> Listing:
        assert self.state is not None
        return self.state.listing

    def prices(self) -> list[tuple[Decimal | None, str, bool]]:
        return [(seen.price, seen.source, seen.suspect) for each in self.outcomes for seen in each.prices]


@pytest.fixture
def known() -> History:
    """Listed at 350,000."""
    history = History()
    history.see(page())
    history.events.clear()
    history.outcomes.clear()
    return history


# ----- the first time


def test_a_new_listing_is_listed_with_its_price() -> None:
    history = History()
    assert history.see(page()) == ["listed"]
    ((_, data),) = history.events
    assert data.pop("status") == "active"
    assert data == {"price": 350000, "currency": "EUR", "price_basis": "total", "rent_period": None}
    assert history.prices() == [(Decimal(350000), "listing", False)]
    assert history.state is not None
    assert history.state.revision == 1
    times = (history.listing.first_seen_at, history.listing.last_seen_at, history.listing.last_fetched_at)
    assert times == (history.now, history.now, history.now)


@pytest.mark.parametrize("status", ["reserved", "sold", "rented", "delisted"])
def test_a_new_listing_is_only_listed_whatever_its_status(status: Status) -> None:
    history = History()
    assert history.see(page(status=status)) == ["listed"]
    assert history.events[0][1]["status"] == status
    assert history.listing.delisted_at == ((history.now, history.now) if status == "delisted" else None)


def test_a_sighting_alone_does_not_make_a_listing() -> None:
    outcome = decide(None, [(card(1000), "job")], START)
    assert (outcome.state, outcome.events, outcome.prices) == (None, [], [])
    assert not outcome.changed(None)


# ----- no change


@pytest.mark.parametrize("again", [page(), card(), card(350000), card(350000, currency="EUR")])
def test_the_same_observation_again_is_no_change(known: History, again: Observed) -> None:
    before = known.state
    assert known.see(again) == []
    assert known.state == before
    assert not known.outcomes[-1].changed(before)


def test_a_listing_without_a_hash_is_compared_field_by_field() -> None:
    history = History()
    history.see(a_listing())
    before = history.state
    assert history.see(a_listing()) == []
    assert history.state == before
    assert history.see(a_listing(title="Another")) == ["updated"]


def test_a_new_update_time_of_the_portal_is_stored_without_an_event(known: History) -> None:
    """Without it, a listing that was only renewed would be read again in every job."""
    assert known.see(page(updated_at=START)) == []
    assert known.listing.updated_at == START
    assert known.state is not None
    assert known.state.revision == 2


# ----- money


def test_a_price_that_falls_and_rises_again_makes_two_events(known: History) -> None:
    assert known.see(page(price=Decimal(330000))) == ["price_changed"]
    assert known.see(page()) == ["price_changed"]
    assert known.events == [
        ("price_changed", {"old": 350000, "new": 330000, "currency": "EUR", "percent": -5.71}),
        ("price_changed", {"old": 330000, "new": 350000, "currency": "EUR", "percent": 6.06}),
    ]


def test_a_price_on_a_search_page_counts_too(known: History) -> None:
    assert known.see(card(330000)) == ["price_changed"]
    assert known.prices() == [(Decimal(330000), "search", False)]
    assert known.listing.price == Decimal(330000)
    assert known.see(page(price=Decimal(330000))) == [], "its own page has the same price"


def test_the_price_per_square_metre_is_updated_too(known: History) -> None:
    before = known.listing.price_per_m2
    known.see(card(175000))
    assert before is not None
    assert known.listing.price_per_m2 == before / 2


def test_a_difference_of_a_tenth_of_a_cent_is_no_change(known: History) -> None:
    assert known.see(page(price=Decimal("350000.001"))) == []


@pytest.mark.parametrize("price", ["NaN", "Infinity", "0", "-5", "1e13"])
def test_an_impossible_price_on_a_search_page_is_ignored(known: History, price: str) -> None:
    before = known.state
    assert known.see(card(price)) == []
    assert known.state == before


def test_a_price_of_another_meaning_on_a_search_page_is_not_compared(known: History) -> None:
    before = known.state
    assert known.see(card(595000, currency="AZN")) == []
    assert known.see(card(2500, price_basis="per_m2")) == []
    assert known.state == before


@pytest.mark.parametrize("price", [Decimal(35000), Decimal(3500000)])
def test_a_price_change_of_more_than_60_percent_counts_when_two_jobs_saw_it(known: History, price: Decimal) -> None:
    assert known.see(page(price=price), job="a") == []
    assert known.see(page(price=price), job="a") == [], "the same job again does not confirm the price"
    assert (known.listing.price, known.listing.price_per_m2) == (Decimal(350000), Decimal(2500))
    assert known.prices() == [(price, "listing", True)]
    assert known.see(page(price=price), job="b") == ["price_changed"]
    assert known.listing.price == price
    assert known.state is not None
    assert known.state.suspect is None


def test_a_search_page_can_confirm_a_suspect_price(known: History) -> None:
    known.see(page(price=Decimal(35000)), job="a")
    assert known.see(card(35000), job="b") == ["price_changed"]


def test_a_suspect_price_on_a_search_page_can_be_confirmed_by_a_page(known: History) -> None:
    before = known.listing
    assert known.see(card(35000), job="a") == []
    assert known.listing == before
    assert known.see(card(35000), job="b") == ["price_changed"]


def test_a_change_of_exactly_60_percent_is_accepted(known: History) -> None:
    assert known.see(page(price=Decimal(140000))) == ["price_changed"]


@pytest.mark.parametrize("corrected", [page(), card(350000)])
def test_a_typing_error_corrected_the_next_day_is_no_event(known: History, corrected: Observed) -> None:
    known.see(page(price=Decimal(35000)))
    assert known.see(corrected) == []
    assert known.state is not None
    assert (known.state.suspect, known.listing.price) == (None, Decimal(350000))
    assert known.events == []
    assert known.see(page(price=Decimal(35000))) == [], "the price is suspect again"


def test_two_different_suspect_prices_do_not_confirm_each_other(known: History) -> None:
    known.see(page(price=Decimal(35000)), job="a")
    assert known.see(page(price=Decimal(36000)), job="b") == []
    assert known.state is not None
    assert known.state.suspect == Suspect(Decimal(36000), "b")


def test_other_fields_change_while_a_price_is_suspect(known: History) -> None:
    assert known.see(page(price=Decimal(35000), title="Sold by owner")) == ["updated"]
    assert (known.listing.title, known.listing.price) == ("Sold by owner", Decimal(350000))


@pytest.mark.parametrize(
    "changes",
    [
        {"currency": "USD"},
        {"price_basis": "per_m2"},
        {"price": None, "currency": None, "price_basis": "on_request"},
        {"operation": "rent", "rent_period": "month"},
    ],
)
def test_a_price_of_another_meaning_has_its_own_event(known: History, changes: dict[str, Any]) -> None:
    assert known.see(page(**changes))[:1] == ["price_meaning_changed"]
    _, data = known.events[0]
    assert data["old"] == {"price": 350000, "currency": "EUR", "price_basis": "total", "rent_period": None}
    expected = data["old"] | {name: value for name, value in changes.items() if name in data["old"]}
    assert data["new"] == expected


def test_a_price_of_another_meaning_replaces_a_suspect_price(known: History) -> None:
    known.see(page(price=Decimal(35000)))
    assert known.see(page(price=Decimal(35000), currency="USD")) == ["price_meaning_changed"]
    assert known.state is not None
    assert known.state.suspect is None


def test_a_search_page_gives_no_price_to_a_listing_on_request() -> None:
    history = History()
    history.see(page(price=None, currency=None, price_basis="on_request"))
    assert history.see(card(1000)) == []
    assert history.listing.price is None


ON_REQUEST: dict[str, Any] = {"price": None, "currency": None, "price_basis": "on_request"}


def test_a_search_page_shows_that_a_price_is_on_request_and_that_it_is_not_any_more(known: History) -> None:
    before = known.listing.price_per_m2
    assert known.see(card(price_basis="on_request")) == ["price_meaning_changed"]
    assert (known.listing.price, known.listing.price_basis, known.listing.price_per_m2) == (None, "on_request", None)
    assert known.prices() == [(None, "search", False)]
    assert known.see(page(**ON_REQUEST)) == [], "its own page says the same"
    assert known.see(card(340000, currency="EUR")) == ["price_meaning_changed"]
    assert (known.listing.price, known.listing.currency, known.listing.price_basis) == (Decimal(340000), "EUR", "total")
    assert before is not None
    assert known.listing.price_per_m2 == before * 340000 / 350000 // Decimal("0.01") * Decimal("0.01")
    assert known.see(page(price=Decimal(340000))) == []


def test_a_rent_that_is_priced_again_needs_its_period() -> None:
    history = History()
    history.see(page(operation="rent", **ON_REQUEST))
    assert history.see(card(900, currency="EUR")) == []
    assert history.see(card(900, currency="EUR", rent_period="month")) == ["price_meaning_changed"]
    assert history.listing.rent_period == "month"


def test_the_period_of_a_price_on_request_is_no_event() -> None:
    history = History()
    history.see(page(operation="rent", rent_period="month", **ON_REQUEST))
    assert history.see(page(operation="rent", **ON_REQUEST)) == []
    assert history.listing.rent_period is None


def test_a_search_page_shows_that_a_home_is_reserved_and_that_it_is_not_any_more(known: History) -> None:
    assert known.see(card(status="active")) == []
    assert known.see(card(350000, status="reserved")) == ["reserved"]
    assert known.listing.status == "reserved"
    assert known.see(page(status="reserved")) == [], "its own page says the same"
    assert known.see(card()) == [], "a search page that shows no status says nothing about it"
    assert known.see(card(330000, status="active")) == ["price_changed", "updated"]
    assert known.events[-1] == ("updated", {"fields": {"status": ["reserved", "active"]}})
    assert known.see(page(price=Decimal(330000))) == []


@pytest.mark.parametrize("status", ["sold", "rented"])
def test_a_search_page_shows_that_a_home_is_sold(known: History, status: Any) -> None:
    assert known.see(card(1, price_basis="on_request", status=status)) == [status]
    assert (known.listing.status, known.listing.price) == (status, Decimal(350000))
    assert known.see(card(status="active")) == [], "only its own page brings it back"


def test_a_search_page_does_not_delist(known: History) -> None:
    assert known.see(card(status="delisted")) == []
    assert known.listing.status == "active"


def test_a_rent_whose_page_has_no_period_keeps_the_known_period() -> None:
    history = History()
    monthly = {"operation": "rent", "price": Decimal(900), "area_m2": 90.0}
    history.see(page(**monthly, rent_period="month"))
    before = history.state
    assert history.see(page(**monthly)) == [], (
        "the page was fetched directly: the search result with the period was not seen"
    )
    assert history.state == before
    assert history.see(page(**monthly | {"price": Decimal(945)})) == ["price_changed"]
    listing = history.listing
    assert (listing.price, listing.rent_period, listing.price_per_m2) == (Decimal(945), "month", Decimal("10.50"))
    assert "rent_period_unknown" not in listing.quality_flags
    assert listing.extra == {"views": 12}


def test_a_rent_of_unknown_period_stays_without_a_price() -> None:
    history = History()
    history.see(page(operation="rent", price=Decimal(900)))
    assert history.see(page(operation="rent", price=Decimal(950))) == []
    assert (history.listing.price, history.listing.extra["price"]) == (None, "900")


# ----- other changes


def test_an_update_names_the_changed_fields(known: History) -> None:
    assert known.see(page(title="New", rooms=9, extra={"views": 99})) == ["updated"]
    assert known.events == [("updated", {"fields": {"rooms": [8, 9], "title": ["House with a garden", "New"]}})]


def test_a_price_and_other_fields_are_two_events_of_one_revision(known: History) -> None:
    assert known.see(page(title="New", price=Decimal(300000))) == ["price_changed", "updated"]
    assert {event.revision for event in known.outcomes[-1].events} == {2}


@pytest.mark.parametrize("status", ["reserved", "sold", "rented"])
def test_a_new_status_is_an_event_with_its_own_name(known: History, status: Status) -> None:
    assert known.see(page(status=status)) == [status]
    assert known.listing.status == status
    assert known.see(page(status=status)) == []


@pytest.mark.parametrize("status", ["sold", "rented"])
def test_of_a_page_of_a_sold_listing_only_the_status_is_used(known: History, status: Status) -> None:
    before = known.listing
    assert known.see(page(status=status, price=Decimal(1), title="SOLD")) == [status]
    assert known.listing == replace(before, status=status)
    assert known.see(page()) == ["relisted"], "nothing else changed"


@pytest.mark.parametrize("first", OFF_THE_MARKET)
@pytest.mark.parametrize("then", ["sold", "rented"])
def test_a_listing_that_left_the_market_does_not_leave_it_again(known: History, first: Status, then: Status) -> None:
    leave(known, first)
    before = known.state
    assert known.see(page(status=then)) == []
    assert known.state == before


def test_a_suspect_price_stays_suspect_while_the_listing_is_delisted(known: History) -> None:
    known.see(page(price=Decimal(35000)))
    leave(known, "delisted")
    assert known.see(page(price=Decimal(35000))) == ["relisted", "price_changed"]


def test_everything_that_happened_between_two_observations_becomes_events_in_order(known: History) -> None:
    leave(known, "delisted")
    events = known.see(page(price=Decimal(300000), title="Back", status="reserved"))
    assert events == ["relisted", "price_changed", "updated", "reserved"]


def test_no_longer_reserved_is_an_update(known: History) -> None:
    known.see(page(status="reserved"))
    assert known.see(page()) == ["updated"]
    assert known.events[-1] == ("updated", {"fields": {"status": ["reserved", "active"]}})


@pytest.mark.parametrize("status", OFF_THE_MARKET)
def test_back_on_the_market_with_the_same_content_is_relisted(known: History, status: Status) -> None:
    leave(known, status)
    assert known.see(page()) == ["relisted"]
    assert known.events[-1] == ("relisted", {"was": status})
    assert (known.listing.status, known.listing.delisted_at) == ("active", None)


def test_a_listing_that_returns_reserved_is_relisted_and_reserved(known: History) -> None:
    leave(known, "delisted")
    assert known.see(page(status="reserved")) == ["relisted", "reserved"]


def test_a_listing_that_returns_at_another_price_is_relisted_with_a_new_price(known: History) -> None:
    leave(known, "delisted")
    assert known.see(page(price=Decimal(300000))) == ["relisted", "price_changed"]


@pytest.mark.parametrize("status", OFF_THE_MARKET)
def test_a_search_page_does_not_relist_a_listing(known: History, status: Status) -> None:
    """It may be older than the listing's own page. Only that page decides."""
    leave(known, status)
    before = known.state
    assert known.see(card(300000)) == []
    assert known.state == before


def leave(history: History, status: Status) -> None:
    assert history.state is not None
    if status == "delisted":
        history.apply(depart(history.state, {"evidence": "404"}, history.now, "job", history.now))
    else:
        history.see(page(status=status))


# ----- the end


def test_a_departure_is_an_interval_with_its_evidence(known: History) -> None:
    assert known.state is not None
    seen, at = known.now, known.now + DAY
    assert known.apply(depart(known.state, {"evidence": "404"}, at, "job", at + DAY)) == ["delisted"]
    assert known.listing.delisted_at == (seen, at)
    interval = {"after": seen.isoformat(), "before": at.isoformat()}
    assert known.events == [("delisted", {"evidence": {"evidence": "404"}, **interval})]


@pytest.mark.parametrize("status", OFF_THE_MARKET)
def test_a_listing_that_is_off_the_market_is_not_delisted(known: History, status: Status) -> None:
    leave(known, status)
    assert known.state is not None
    outcome = depart(known.state, {"evidence": "404"}, known.now, "job", known.now)
    assert (outcome.events, outcome.state) == ([], known.state)


def test_a_page_that_is_gone_is_evidence_and_changes_nothing(known: History) -> None:
    before = known.state
    assert known.see(gone(), job="a") == []
    assert known.state == before
    assert known.outcomes[-1].evidence == [(gone(), "a", known.now)]


def test_a_page_that_says_it_has_ended_is_evidence_and_changes_nothing(known: History) -> None:
    before = known.state
    assert known.see(page(status="delisted", title="EXPIRED"), job="a") == []
    assert known.state == before
    ((evidence, job, _),) = known.outcomes[-1].evidence
    assert (evidence.evidence, evidence.ref, job) == ("marker", "21000001", "a")


@pytest.mark.parametrize("seen", [page(), card()])
def test_evidence_is_void_when_the_listing_is_seen_afterwards(known: History, seen: Observed) -> None:
    assert decide(known.state, [(gone(), "a"), (seen, "a")], START).evidence == []
    assert decide(known.state, [(seen, "a"), (gone(), "a")], START).evidence == [(gone(), "a", START)]


# ----- batches


def test_the_events_of_a_batch_follow_its_order() -> None:
    history = History()
    prices = (Decimal(100), Decimal(90), Decimal(100))
    assert history.see(*(page(price=price) for price in prices)) == ["listed", "price_changed", "price_changed"]
    assert history.state is not None
    assert history.state.revision == 3


def test_a_batch_that_changes_nothing_in_the_end_makes_no_event(known: History) -> None:
    """It looks the same as an item that is written again because the reply of the database was lost."""
    batch = (page(price=Decimal(300000)), card(310000), page(price=Decimal(310000), title="New"))
    assert known.see(*batch) == ["price_changed", "price_changed", "updated"]
    before = known.state
    assert known.see(*batch) == []
    assert known.state == before


def test_without_a_hash_a_batch_is_compared_too() -> None:
    history = History()
    history.see(a_listing())
    assert history.see(a_listing(title="a"), a_listing(title="b")) == ["updated", "updated"]


# ----- data from before there were histories


def test_a_listing_from_before_histories_is_listed_when_it_was_first_seen() -> None:
    first = START - 30 * DAY
    old = State(replace(page(), first_seen_at=first, last_seen_at=START, last_fetched_at=START), revision=0)
    outcome = decide(old, [(page(price=Decimal(300000)), "job")], START)
    assert [(event.type, event.at, event.revision) for event in outcome.events] == [
        ("listed", first, 1),
        ("price_changed", START, 2),
    ]
    assert [seen.price for seen in outcome.prices] == [Decimal(350000), Decimal(300000)]
    assert decide(old, [(page(), "job")], START).changed(old)
    assert [event.type for event in depart(old, {}, START, "job", START).events] == ["listed", "delisted"]


# ----- corrections


def test_a_correction_is_not_a_market_event(known: History) -> None:
    assert known.state is not None
    better = page(rooms=7, price=Decimal(340000))
    assert known.apply(correct(known.state, better, "reparse", START)) == ["corrected"]
    assert known.events == [("corrected", {"fields": {"price": [350000, 340000], "rooms": [8, 7]}})]
    assert known.prices() == [(Decimal(340000), "correction", False)]
    assert known.see(better) == []


def test_a_correction_that_changes_nothing_is_not_an_event(known: History) -> None:
    assert known.state is not None
    outcome = correct(known.state, page(), "reparse", START)
    assert (outcome.events, outcome.state) == ([], known.state)


def test_a_correction_does_not_bring_a_listing_back(known: History) -> None:
    leave(known, "delisted")
    assert known.state is not None
    interval = known.listing.delisted_at
    known.apply(correct(known.state, page(rooms=7), "reparse", START))
    assert (known.listing.status, known.listing.delisted_at, known.listing.rooms) == ("delisted", interval, 7)


def test_an_old_page_does_not_correct_a_newer_price(known: History) -> None:
    known.see(card(340000))
    assert known.state is not None
    known.apply(correct(known.state, page(rooms=7), "reparse", START, repriced=True))
    assert (known.listing.price, known.listing.rooms) == (Decimal(340000), 7)
    assert known.see(page(rooms=7, price=Decimal(340000))) == []


def test_a_correction_does_not_make_a_doubtful_price_true(known: History) -> None:
    known.see(page(price=Decimal(35000)))
    assert known.state is not None
    known.apply(correct(known.state, page(price=Decimal(35000), rooms=7), "reparse", START))
    assert (known.listing.price, known.listing.rooms) == (Decimal(350000), 7)
    assert known.see(page(price=Decimal(35000), rooms=7)) == ["price_changed"]


def test_changed_fields_are_found_unless_the_hashes_are_equal() -> None:
    assert changed_fields(a_listing(), a_listing(rooms=7, price=Decimal(1), status="sold")) == ["rooms"]
    assert changed_fields(page(), page(rooms=7)) == ["rooms"]
    assert changed_fields(page(), replace(page(rooms=7), content_hash=page().content_hash)) == []


# ----- random observations

RUNS = st.sampled_from(["a", "b", "c"])
PRICES = st.sampled_from([None, *map(Decimal, (10, 12, 15, 20, 45, 100, 160, 1000))])
STATUSES = st.sampled_from(["active", "active", "active", "reserved", "sold", "rented", "delisted"])


@st.composite
def pages(draw: st.DrawFn) -> Listing:
    price = draw(PRICES)
    currency = None if price is None else draw(st.sampled_from(["EUR", "EUR", "AZN"]))
    basis = "on_request" if price is None else "total"
    title, status = draw(st.sampled_from(["x", "y"])), draw(STATUSES)
    return page(price=price, currency=currency, price_basis=basis, title=title, status=status)


def cards() -> st.SearchStrategy[Sighting]:
    return st.builds(card, PRICES, currency=st.sampled_from([None, "EUR", "AZN"]))


ITEMS = st.one_of(pages(), cards(), st.builds(gone))
OBSERVED = st.tuples(ITEMS, RUNS)


@given(st.lists(st.lists(OBSERVED, min_size=1, max_size=3), max_size=12))
def test_a_random_history_is_consistent(batches: Sequence[Sequence[tuple[Observed, str]]]) -> None:
    state: State | None = None
    names: list[tuple[int, str]] = []
    price: Any = None
    last_seen: Decimal | None = None
    for number, batch in enumerate(batches):
        outcome = decide(state, batch, START + number * DAY)
        for event in outcome.events:
            if event.type == "listed":
                price = event.data["price"]
            if event.type == "price_changed":
                assert event.data["old"] == price
                price = event.data["new"]
            if event.type == "price_meaning_changed":
                assert event.data["old"]["price"] == price
                price = event.data["new"]["price"]
        last_seen = next((seen.price for seen in reversed(outcome.prices) if not seen.suspect), last_seen)
        names += [(event.revision, event.type) for event in outcome.events]
        if state is not None and outcome.state is not None:
            assert outcome.state.revision >= state.revision
            assert outcome.changed(state) or outcome.state == state
        state = outcome.state
    assert len(names) == len(set(names)), "an event that is written twice would be stored once"
    assert names == sorted(names, key=lambda name: name[0])
    if state is not None:
        assert state.listing.price == price == last_seen, "the events and the prices lead to the state"
        assert (state.listing.status == "delisted") == (state.listing.delisted_at is not None)


@given(st.lists(OBSERVED, max_size=8), OBSERVED)
def test_an_item_observed_twice_in_one_job_changes_the_listing_once(
    past: list[tuple[Observed, str]], last: Any
) -> None:
    state: State | None = None
    for each in past:
        state = decide(state, [each], START).state
    once = decide(state, [last], START)
    twice = decide(once.state, [last], START + DAY)
    assert (twice.events, twice.prices) == ([], [])
    assert twice.state == once.state


@given(st.lists(st.lists(OBSERVED, max_size=4), max_size=4), st.lists(OBSERVED, max_size=4))
def test_a_batch_written_twice_changes_the_listing_once(
    past: list[list[tuple[Observed, str]]], last: list[Any]
) -> None:
    """The prices are near each other: with suspect prices the order would matter."""
    near = {Decimal(10): Decimal(100), Decimal(12): Decimal(110), Decimal(15): Decimal(120), Decimal(20): Decimal(130)}
    near |= {Decimal(45): Decimal(90), Decimal(160): Decimal(140), Decimal(1000): Decimal(95)}
    batches = [[(_nearer(item, near), job) for item, job in batch] for batch in (*past, last)]
    state: State | None = None
    for batch in batches:
        state = decide(state, batch, START).state
    again = decide(state, batches[-1], START + DAY)
    assert (again.events, again.prices) == ([], [])
    assert again.state == state


def _nearer(item: Observed, near: dict[Decimal, Decimal]) -> Observed:
    if isinstance(item, Gone) or item.price is None:
        return item
    moved = replace(item, price=near.get(item.price, item.price))
    return clean(moved) if isinstance(moved, Listing) else moved


@given(st.lists(st.one_of(pages(), st.builds(gone, st.sampled_from(["404", "410", "marker"]))), max_size=10))
def test_one_observation_a_day_gives_the_events_of_the_simulator(days: list[Listing | Gone]) -> None:
    """The simulator has its own implementation of the rules."""
    ours, true = History(), simulator_history.History("immoweb")
    first = page(price=Decimal(100), title="x")
    for day, seen in enumerate([first, *days]):
        ours.see(seen)
        assert ours.state is not None
        for evidence, job, _ in ours.outcomes[-1].evidence:
            ours.apply(depart(ours.state, {"evidence": evidence.evidence}, ours.now, job, ours.now))
        true.look(day, [_sight(seen)])
    assert [_comparable(type, data) for type, data in ours.events] == [
        _comparable(event["type"], event) for event in true.events
    ]


def _sight(seen: Listing | Gone) -> simulator_history.Sight:
    if isinstance(seen, Gone):
        evidence: Any = seen.evidence
        return simulator_history.Sight(seen.ref, None, evidence)
    return simulator_history.Sight(seen.ref, as_record(seen), "marker" if seen.status == "delisted" else None)


def _comparable(type: str, data: dict[str, Any]) -> tuple[Any, ...]:
    parts = {name: data[name] for name in ("old", "new", "percent", "fields") if name in data}
    evidence = data.get("evidence")
    return type, parts, evidence["evidence"] if isinstance(evidence, dict) else evidence


def test_an_older_search_page_does_not_change_the_status() -> None:
    known = State(page(), 1, price_sighted_at=START)
    known.listing.last_fetched_at = START
    for status in ("reserved", "sold"):
        outcome = decide(known, [(card(status=status), "job")], START - DAY)
        assert (outcome.state, outcome.events, outcome.late) == (known, [], 1)


def test_an_older_page_does_not_relist_what_a_newer_search_page_shows_as_sold() -> None:
    known = State(page(status="sold"), 1, price_sighted_at=START)
    known.listing.last_fetched_at = START - 2 * DAY
    outcome = decide(known, [(page(), "job")], START - DAY)
    assert (outcome.state, outcome.events, outcome.late) == (known, [], 1)
