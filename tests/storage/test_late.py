"""A worker that comes back late: what it fetched before the stored page was fetched changes nothing."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest

from realestate.items import Listing
from realestate.items.others import Product
from realestate.storage import Batch, FullStore, Store
from realestate.storage.changes import add_late_prices, decide
from realestate.storage.clock import Dated, Now, Seen, steady
from realestate.storage.history import Observed, State
from realestate.storage.other_kinds import SeenOther
from realestate.storage.store import WHOLE
from tests.storage.batches import PORTAL, all_events, card, gone, later, page, record, types
from tests.storage.conftest import OpenStore

START = datetime(2026, 9, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def at(minutes: float, item: Observed, job: str = "job") -> Dated:
    return Dated(item, job, START + minutes * MINUTE)


def priced(amount: int, **changes: Any) -> Listing:
    return page(price=Decimal(amount), **changes)


def ago(seconds: float, *items: Observed, job: str = "job") -> Batch:
    """A batch of a worker that sent its requests this long ago."""
    return Batch([Seen(item, job, steady() - seconds) for item in items])


def amounts(store: Store, ref: str = "1") -> list[tuple[int, str]]:
    return [(int(seen.price or 0), seen.source) for seen in store.prices(PORTAL, ref)]


# ----- the rules


def known(minutes: float = 10, sighted: float | None = None, **changes: Any) -> State:
    """A listing whose page was fetched at that minute, at 350,000, and whose price a search page showed later."""
    state = decide(None, [at(minutes, page(**changes))], START).state
    assert state is not None
    return State(state.listing, 1, None, None if sighted is None else START + sighted * MINUTE)


def test_an_older_page_changes_nothing_and_is_late() -> None:
    before = known()
    outcome = decide(before, [at(5, priced(300_000, title="Old title"))], START)
    assert (outcome.state, outcome.events, outcome.prices, outcome.late) == (before, [], [], 1)


def test_an_older_page_with_the_same_values_is_not_late() -> None:
    before = known()
    outcome = decide(before, [at(5, page())], START)
    assert (outcome.state, outcome.late, outcome.late_prices) == (before, 0, [])


def test_an_older_search_page_changes_nothing_and_is_late() -> None:
    for before in (known(10), known(1, sighted=10)):
        outcome = decide(before, [at(5, card("1", 300_000))], START)
        assert (outcome.state, outcome.events, outcome.late) == (before, [], 1)


def test_content_that_is_newer_than_the_stored_page_counts_but_its_price_is_older_than_the_search_page() -> None:
    outcome = decide(known(1, sighted=10), [at(5, priced(300_000, title="New title"))], START)
    assert outcome.state is not None
    assert (outcome.state.listing.title, outcome.state.listing.price) == ("New title", Decimal(350_000))
    assert ([event.type for event in outcome.events], outcome.late) == (["updated"], 1)
    again = decide(State(outcome.state.listing, 2), [at(20, priced(300_000, title="New title"))], START)
    assert [event.type for event in again.events] == ["price_changed"], "the hash is that of the stored price"


def test_a_sighting_without_a_price_does_not_make_an_older_price_late() -> None:
    outcome = decide(known(1), [at(5, priced(300_000)), at(8, card())], START)
    assert [event.type for event in outcome.events] == ["price_changed"]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_observations_of_one_batch_count_in_the_order_of_their_fetches(order: tuple[int, ...]) -> None:
    seen = [at(12, priced(340_000)), at(14, card("1", 330_000)), at(16, priced(320_000))]
    outcome = decide(known(), [seen[place] for place in order], START)
    assert outcome.state is not None
    assert (outcome.state.listing.price, outcome.late) == (Decimal(320_000), 0)
    assert [(event.type, event.at) for event in outcome.events] == [
        ("price_changed", START + minutes * MINUTE) for minutes in (12, 14, 16)
    ]


def test_evidence_has_the_time_of_its_fetch_and_does_not_count_if_the_listing_was_seen_after_it() -> None:
    before = known()
    assert decide(before, [at(8, gone())], START).evidence == [(gone(), "job", START + 8 * MINUTE)]
    assert decide(before, [at(12, card()), at(11, gone())], START).evidence == []
    assert decide(before, [at(11, card()), at(12, gone())], START).evidence == [(gone(), "job", START + 12 * MINUTE)]


def test_a_page_from_before_the_evidence_does_not_bring_a_delisted_listing_back() -> None:
    listing = known().listing
    listing.status, listing.delisted_at = "delisted", (START + 10 * MINUTE, START + 20 * MINUTE)
    assert decide(State(listing, 2), [at(15, page())], START).events == []
    assert [event.type for event in decide(State(listing, 2), [at(25, page())], START).events] == ["relisted"]


def test_an_older_page_leaves_a_suspect_price_as_it_is() -> None:
    before = known()
    suspect = decide(before, [at(20, card("1", 35_000), "a")], START).state
    assert suspect is not None
    before = State(suspect.listing, suspect.revision, suspect.suspect, START + 20 * MINUTE)
    for item in (card("1", 350_000), card("1", 35_000)):
        assert decide(before, [at(15, item, "b")], START).state == before


def test_a_late_price_enters_the_price_history_once_at_its_time() -> None:
    first = decide(None, [at(0, priced(100_000))], START)
    second = decide(first.state, [at(10, priced(120_000))], START)
    history = [*first.prices, *second.prices]
    assert second.state is not None
    before = State(second.state.listing, second.state.revision, None, START + 10 * MINUTE)
    for minutes, amount, missing in ((5, 110_000, True), (5, 100_000, False), (5, 120_000, False), (-5, 90_000, True)):
        outcome = decide(before, [at(minutes, card("1", amount))], START)
        add_late_prices(outcome, history)
        added = [(seen.price, seen.at, seen.source, seen.revision) for seen in outcome.prices]
        assert added == ([(Decimal(amount), START + minutes * MINUTE, "late", 3)] if missing else []), (minutes, amount)
        assert outcome.changed(before) == missing
        again = decide(before, [at(minutes, card("1", amount))], START)
        add_late_prices(again, [*history, *outcome.prices])
        assert again.prices == []
        assert outcome.state is not None
        assert outcome.state.listing.price == 120_000


def test_a_late_price_that_is_far_from_the_one_before_it_is_suspect() -> None:
    first = decide(None, [at(0, priced(100_000))], START)
    assert first.state is not None
    first.state.listing.last_fetched_at = START + 10 * MINUTE
    outcome = decide(first.state, [at(5, card("1", 10_000))], START)
    add_late_prices(outcome, first.prices)
    assert [seen.suspect for seen in outcome.prices] == [True]


# ----- the clock


def test_the_time_of_a_fetch_is_the_databases_time_minus_its_age() -> None:
    now = Now(START, 1000.0)
    assert now.when(940.0) == START - MINUTE
    assert now.when(None) == now.when(1000.0) == START
    assert now.when(5000.0) == START, "never in the future"


def test_the_steady_clock_only_grows() -> None:
    seen = [steady() for _ in range(1000)]
    assert seen == sorted(seen)


# ----- the stores


@pytest.fixture
def store(any_store: FullStore) -> FullStore:
    return any_store


def test_a_late_worker_does_not_overwrite_newer_data(store: FullStore) -> None:
    """The false `price_changed` of an attack: the old price is written after the new one."""
    store.write(ago(60, priced(350_000)))
    store.write(ago(1, priced(300_000, title="New title")))
    before, events = record(store), len(all_events(store))
    written = store.write(ago(30, priced(350_000, title="Old title")))
    assert (written.late, written.events) == (1, {})
    assert record(store) == before
    assert len(all_events(store)) == events
    assert types(store) == ["listed", "price_changed", "updated"]
    assert amounts(store) == [(350_000, "listing"), (300_000, "listing")], "the old price is there already"


def test_the_price_of_a_late_page_is_added_to_the_price_history(store: FullStore) -> None:
    store.write(ago(60, priced(350_000)))
    store.write(ago(1, priced(300_000)))
    for _ in range(2):  # the batch may be written twice
        assert store.write(ago(30, priced(330_000), job="late")).late == 1
    assert amounts(store) == [(350_000, "listing"), (330_000, "late"), (300_000, "listing")]
    times = [seen.at for seen in store.prices(PORTAL, "1")]
    assert timedelta(seconds=25) < times[1] - times[0] < timedelta(seconds=35)
    assert (types(store), record(store)["price"]) == (["listed", "price_changed"], 300_000)
    store.write(ago(0, priced(290_000)))
    assert types(store) == ["listed", "price_changed", "price_changed"]


def test_a_late_search_page_does_not_change_the_price(store: FullStore) -> None:
    store.write(ago(60, priced(350_000)))
    store.write(ago(1, card("1", 300_000)))
    assert store.write(ago(30, card("1", 350_000))).late == 1
    assert (record(store)["price"], types(store)) == (300_000, ["listed", "price_changed"])


def test_a_search_page_with_the_same_price_makes_older_prices_late(store: FullStore) -> None:
    """The second sighting changes nothing but the time at which the price was seen."""
    store.write(ago(60, priced(350_000)))
    store.write(ago(1, card("1", 350_000)))
    assert store.write(ago(30, priced(300_000, title="New title"))).late == 1
    stored = record(store)
    assert (stored["price"], stored["title"], types(store)) == (350_000, "New title", ["listed", "updated"])


def test_times_and_the_last_job_are_those_of_the_newest_fetch(store: FullStore) -> None:
    store.write(ago(60, page(), job="first"))
    store.write(ago(10, page(), job="newer"))
    before = record(store)
    store.write(ago(30, page(), card(), job="late"))
    assert record(store) == before
    (stored,) = (each for part, each in store.everything() if part == "listings")
    assert stored.last_job == "newer"
    first, last = (datetime.fromisoformat(before[name]) for name in ("first_seen_at", "last_fetched_at"))
    assert timedelta(seconds=45) < last - first < timedelta(seconds=55)


def test_late_evidence_does_not_delist_a_listing_that_was_seen_since(store: FullStore) -> None:
    store.begin_job("a", PORTAL, "full", WHOLE)
    store.write(ago(60, *(page(str(ref)) for ref in range(10)), job="a"))
    store.write(ago(1, card("3"), job="a"))
    store.write(ago(30, gone("3"), gone("4"), job="a"))
    later()
    assert store.conclude("a", PORTAL).delisted == 1
    assert (record(store, "3")["status"], record(store, "4")["status"]) == ("active", "delisted")
    assert store.write(ago(40, page("4"))).late == 1, "fetched before the page was gone"
    assert record(store, "4")["status"] == "delisted"
    store.write(ago(0, page("4")))
    assert types(store, "4") == ["listed", "delisted", "relisted"]


def test_a_late_item_of_another_kind_changes_nothing(store: FullStore) -> None:
    def product(stock: int) -> Product:
        return Product(portal="ecommerce", ref="1", url="https://x.example/1", name="x", stock=stock)

    def sent(seconds: float, *stocks: int) -> Batch:
        return Batch(others=[SeenOther(product(stock), "j", steady() - seconds - n) for n, stock in enumerate(stocks)])

    store.write(sent(60, 5))
    store.write(sent(1, 3, 4))  # of one batch: the first was sent last
    assert store.write(sent(30, 5)).late == 1
    assert [other.data["stock"] for other in store.others("ecommerce")] == [3]
    assert [event.type for event in store.history("ecommerce", "1")] == ["appeared", "updated"]


def test_a_sighting_that_comes_between_the_reading_and_the_writing_counts(
    open_another: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A late worker has read the listing. Before it writes, another worker sees the listing unchanged, which does not
    change its revision."""
    late, other = open_another(), open_another()
    late.migrate()
    late.write(ago(60, priced(350_000)))
    module = "postgres" if type(late).__name__ == "PostgresStore" else "mongo"
    path = f"realestate.storage.{module}.write.decide"
    calls = 0

    def decide_late(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        outcome = decide(*arguments)
        if calls == 1:
            other.write(ago(1, priced(350_000)))
        return outcome

    monkeypatch.setattr(path, decide_late)
    assert late.write(ago(30, priced(300_000))).late == 1
    assert calls == 2
    assert (record(late)["price"], types(late)) == (350_000, ["listed"])
