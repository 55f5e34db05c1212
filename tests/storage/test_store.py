"""What every store does, on a real server of each kind."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from realestate.items import FIELDS, OURS, Part, as_record
from realestate.storage import Batch, Quarantined, Store, StoreError, Written
from realestate.storage.history import EventFilter
from realestate.storage.maintenance import FullStore
from realestate.storage.records import StoredListing
from realestate.storage.store import WHOLE, CardRead, Numbered, Unread
from tests.examples import a_listing
from tests.storage.batches import (
    PORTAL,
    all_events,
    batch,
    card,
    gone,
    later,
    page,
    pages,
    quarantined,
    record,
    types,
)


def everything(store: Store) -> tuple[Any, ...]:
    """Everything in a store except the times it was seen."""
    clock = {"last_seen_at", "last_fetched_at"}
    listings = [{name: row[name] for name in FIELDS if name not in clock} for row in store.records(PORTAL)]
    prices = [store.prices(PORTAL, row["ref"]) for row in listings]
    return listings, prices, all_events(store), store.counts()


# ----- writing


def test_a_written_listing_is_read_back(any_store: Store) -> None:
    listing = page(price=Decimal("350000.50"), quality_flags=frozenset({"odd"}), parser_version=3)
    any_store.write(batch(listing))
    (found,) = any_store.records(PORTAL)
    names = {name for name in FIELDS if name not in OURS} | {"price_per_m2", "content_hash", "extra", "parser_version"}
    true = as_record(listing)
    assert {name: found[name] for name in names} == {name: true[name] for name in names}
    assert found["quality_flags"] == ["odd"]
    assert found["first_seen_at"] == found["last_seen_at"] == found["last_fetched_at"]
    assert found["delisted_at"] is None


def test_hostile_texts_are_read_back(any_store: Store) -> None:
    text = "tab\t newline\n return\r quote' \" backslash\\ \\N \\x {1,2} %s %(x)s $1 ; -- /* ə 家 🏠 \u2028"
    extra: dict[str, Any] = {"a.b": text, "$where": [None, True, 1.5, {"": []}]}
    listing = page(title=text, features=frozenset({text, ""}), extra=extra)
    listing.photos = [text]  # the pipeline leaves out what is no link; the store takes any text
    any_store.write(batch(listing))
    found = record(any_store)
    assert (found["title"], found["photos"], found["extra"]) == (text, [text], extra)
    assert set(found["features"]) == {text, ""}


def test_writing_a_batch_twice_is_the_same_as_once(any_store: Store) -> None:
    many = Batch([(each, "job") for each in pages(50)], [quarantined()])
    assert any_store.write(many) == Written(new=50, quarantined=1, events={"listed": 50})
    before = everything(any_store)
    assert any_store.write(many) == Written(known=50, quarantined=1)
    assert everything(any_store) == before


def test_a_batch_of_changes_written_twice_is_the_same_as_once(any_store: Store) -> None:
    any_store.write(batch(*pages(3)))
    changes = batch(
        page("0", price=Decimal(340000)), card("0", 330000), page("1", title="New"), card("2", 300000), gone("1")
    )
    events = {"price_changed": 3, "updated": 1}
    assert any_store.write(changes) == Written(known=2, seen=2, events=events)
    before = everything(any_store)
    assert any_store.write(changes) == Written(known=2, seen=2)
    assert everything(any_store) == before


def test_an_empty_batch_writes_nothing(any_store: Store) -> None:
    assert any_store.write(Batch()) == Written()


def test_a_listing_twice_in_one_batch_makes_events_in_order(any_store: Store) -> None:
    assert any_store.write(batch(page(), page(title="Newer"))) == Written(new=1, events={"listed": 1, "updated": 1})
    assert record(any_store)["title"] == "Newer"


def test_the_same_ref_on_two_portals_is_two_listings(any_store: Store) -> None:
    any_store.write(batch(page(), page(portal="emlak")))
    assert any_store.counts() == {"immoweb": (1, 0), "emlak": (1, 0)}


def test_a_row_the_database_refuses_goes_to_quarantine_and_the_others_are_stored(any_store: Store) -> None:
    half_a_pair, too_big = a_listing(ref="bad", title="\ud800"), a_listing(ref="big", rooms=2**70)
    good = pages(20)
    written = any_store.write(Batch([(each, "job") for each in (*good, half_a_pair, too_big)], [quarantined()]))
    assert written == Written(new=20, quarantined=3, events={"listed": 20})
    assert any_store.counts() == {PORTAL: (20, 3)}
    assert len(all_events(any_store)) == 20


def test_a_sighting_the_database_refuses_goes_to_quarantine_too(any_store: Store) -> None:
    any_store.write(batch(page()))
    assert any_store.write(batch(card("\ud800"), card("1", 340000))).quarantined == 1
    assert types(any_store) == ["listed", "price_changed"]


def test_quarantine_accepts_any_values(any_store: Store) -> None:
    hostile = {"title": "nul \0, half a pair \ud800", "nested": [{"\0": object()}], 5: 2**80, "x": float("nan")}
    item = Quarantined(portal=PORTAL, ref="\0", url="\ud800", errors=("bad \0",), record=hostile)  # type: ignore[arg-type]
    assert any_store.write(Batch(quarantined=[item])) == Written(quarantined=1)
    assert any_store.counts() == {PORTAL: (0, 1)}


# ----- history


def test_each_change_is_an_event_and_each_price_is_kept(any_store: Store) -> None:
    any_store.write(batch(page(), job="a"))
    any_store.write(batch(page(price=Decimal(330000), title="New"), job="b"))
    any_store.write(batch(card(price=350000), job="c"))
    assert types(any_store) == ["listed", "price_changed", "updated", "price_changed"]
    events = any_store.history(PORTAL, "1")
    assert [(event.revision, event.job) for event in events] == [(1, "a"), (2, "b"), (2, "b"), (3, "c")]
    assert events[1].data == {"old": 350000, "new": 330000, "currency": "EUR", "percent": -5.71}
    prices = any_store.prices(PORTAL, "1")
    assert [(seen.price, seen.source) for seen in prices] == [
        (Decimal(350000), "listing"),
        (Decimal(330000), "listing"),
        (Decimal(350000), "search"),
    ]
    assert record(any_store)["price"] == 350000


def test_events_are_numbered_in_their_order(any_store: Store) -> None:
    any_store.write(batch(*pages(5)))
    any_store.write(batch(page("3", price=Decimal(340000), title="New", status="reserved")))
    numbered = all_events(any_store, page_size=2)
    assert [each.seq for each in numbered] == sorted({each.seq for each in numbered})
    assert [each.event.type for each in numbered[5:]] == ["price_changed", "updated", "reserved"]
    assert any_store.events(numbered[-1].seq) == []
    assert [each.seq for each in any_store.events(0, 3)] == [each.seq for each in numbered[:3]]


def test_a_suspect_price_counts_when_another_job_sees_it(any_store: Store) -> None:
    any_store.write(batch(page()))
    low = page(price=Decimal(35000))
    for _ in range(2):
        assert any_store.write(batch(low, job="a")).events == {}
    assert record(any_store)["price"] == 350000
    assert [(seen.price, seen.suspect) for seen in any_store.prices(PORTAL, "1")][1:] == [(Decimal(35000), True)]
    assert any_store.write(batch(low, job="b")).events == {"price_changed": 1}
    assert record(any_store)["price"] == 35000


def test_a_price_error_that_is_corrected_makes_no_event(any_store: Store) -> None:
    for price, job in ((350000, "a"), (3500000, "b"), (350000, "c"), (3500000, "d")):
        any_store.write(batch(page(price=Decimal(price)), job=job))
    assert types(any_store) == ["listed"]


def test_a_sighting_sets_only_the_time_seen(any_store: Store) -> None:
    any_store.write(batch(page()))
    before = record(any_store)
    later()
    assert any_store.write(batch(card())) == Written(seen=1)
    after = record(any_store)
    assert after["last_seen_at"] > before["last_seen_at"]
    assert after["last_fetched_at"] == before["last_fetched_at"]
    later()
    any_store.write(batch(page()))
    assert record(any_store)["last_fetched_at"] > after["last_fetched_at"]
    assert record(any_store)["first_seen_at"] == before["first_seen_at"]


def test_a_change_sets_the_times_too(any_store: Store) -> None:
    any_store.write(batch(page()))
    before = record(any_store)
    later()
    any_store.write(batch(card(price=340000)))
    sighted = record(any_store)
    assert sighted["last_seen_at"] > before["last_seen_at"]
    assert sighted["last_fetched_at"] == before["last_fetched_at"]
    later()
    any_store.write(batch(page(price=Decimal(330000))))
    assert record(any_store)["last_fetched_at"] > before["last_fetched_at"]


def test_a_sighting_shows_reservations_and_prices_on_request(any_store: Store) -> None:
    any_store.write(batch(page()))
    same = {"currency": "EUR", "price_basis": "total", "status": "active"}
    assert any_store.write(batch(card(price=350000, **same))).events == {}
    assert any_store.write(batch(card(status="reserved"))).events == {"reserved": 1}
    assert any_store.write(batch(card(status="reserved"))).events == {}
    assert any_store.write(batch(card(price_basis="on_request"))).events == {"price_meaning_changed": 1}
    assert any_store.write(batch(card(price_basis="on_request", status="active"))).events == {"updated": 1}
    stored = record(any_store)
    assert (stored["status"], stored["price"], stored["price_basis"]) == ("active", None, "on_request")
    assert any_store.write(batch(card(price=340000, **same))).events == {"price_meaning_changed": 1}
    assert types(any_store) == [
        "listed",
        "reserved",
        "price_meaning_changed",
        "updated",
        "price_meaning_changed",
    ]


def test_what_a_search_page_showed_is_kept_until_the_listing_is_erased(any_store: FullStore) -> None:
    any_store.write(batch(page(), page("2")))
    assert any_store.known(PORTAL, ["1"])["1"].card is None
    any_store.keep_cards([CardRead(PORTAL, "1", "a"), CardRead(PORTAL, "2", "b"), CardRead(PORTAL, "1", "c")])
    any_store.keep_cards([CardRead(PORTAL, "2", "d")])
    assert {ref: known.card for ref, known in any_store.known(PORTAL, ["1", "2"]).items()} == {"1": "c", "2": "d"}
    assert any_store.erase(PORTAL, "1").removed["cards"] == 1
    any_store.keep_cards([CardRead(PORTAL, "1", "e")])
    assert any_store.erase(PORTAL, "1").removed["cards"] == 0, "of an erased listing nothing is kept"


def test_an_update_has_the_old_and_new_values(any_store: Store) -> None:
    any_store.write(batch(page(title="Old", photos=["https://x.example/1.jpg"])))
    any_store.write(batch(page(title="New", photos=[])))
    (event,) = [each for each in any_store.history(PORTAL, "1") if each.type == "updated"]
    assert event.data == {"fields": {"photos": [["https://x.example/1.jpg"], []], "title": ["Old", "New"]}}


def test_events_are_filtered(any_store: Store) -> None:
    any_store.write(batch(page(), page("2"), page("1", portal="emlak")))
    later()
    any_store.write(batch(page(price=Decimal(340000))))
    every = all_events(any_store)
    changed = every[-1]

    def found(after: int = 0, limit: int = 100, **wanted: Any) -> list[Numbered]:
        return list(any_store.events(after, limit, EventFilter(**wanted)))

    assert found() == every
    assert [each.event.ref for each in found(portal="emlak")] == ["1"]
    assert found(type="price_changed") == [changed]
    assert found(since=changed.event.at) == [changed]
    assert found(until=changed.event.at) == every[:-1]
    assert found(portal=PORTAL, type="listed", limit=1) == every[:1]
    assert found(every[0].seq, portal=PORTAL, type="listed") == every[1:2]
    assert found(portal="nowhere") == []


def test_listings_are_counted_by_status(any_store: Store) -> None:
    any_store.write(batch(page(), page("2", status="reserved"), page("3", status="sold"), page("4", portal="emlak")))
    assert dict(any_store.statuses(PORTAL)) == {"active": 1, "reserved": 1, "sold": 1}
    assert dict(any_store.statuses("nowhere")) == {}


def test_a_sighting_of_an_unknown_listing_stores_nothing(any_store: Store) -> None:
    assert any_store.write(batch(card(price=1000))) == Written(seen=1)
    assert any_store.counts() == {}


def test_a_renewed_listing_has_the_new_update_time(any_store: Store) -> None:
    any_store.write(batch(page()))
    renewed = page(updated_at=a_listing().posted_at)
    assert any_store.write(batch(renewed)).events == {}
    known = any_store.known(PORTAL, ["1", "2"])
    assert set(known) == {"1"}
    assert known["1"].updated_at == a_listing().posted_at
    assert (known["1"].status, known["1"].price, known["1"].currency) == ("active", Decimal(350000), "EUR")


def test_a_correction_is_not_a_market_event(any_store: Store) -> None:
    any_store.write(batch(page("1"), page("2"), page("3")))
    any_store.write(batch(card("3", 340000)))
    before = record(any_store)
    later()
    result = any_store.correct([page("1", rooms=7), page("2"), page("3", bedrooms=2), page("4")], "reparse")
    assert result == {"corrected": 2, "unchanged": 1, "unknown": 1}
    assert types(any_store) == ["listed", "corrected"]
    assert record(any_store)["last_seen_at"] == before["last_seen_at"], "an old page is not a sighting"
    third = record(any_store, "3")
    assert (third["bedrooms"], third["price"]) == (2, 340000), "the page is older than the price"
    assert any_store.correct([page("1", rooms=7)], "reparse") == {"corrected": 0, "unchanged": 1, "unknown": 0}


# ----- delisting


def sweep(store: Store, job: str, *seen: Any, **ended: Any) -> list[str]:
    """Run a job over the whole portal. Return the refs that it did not see."""
    store.begin_job(job, PORTAL, ended.pop("mode", "full"), ended.pop("scope", WHOLE))
    later()
    store.write(batch(*seen, job=job))
    later()
    return [each.ref for each in store.end_sweep(job, PORTAL, **{"complete": True, **ended})]


def found_gone(store: Store, job: str, *refs: str, evidence: Any = "404") -> None:
    store.write(batch(*(gone(ref, evidence) for ref in refs), job=job))
    later()


def test_a_complete_sweep_returns_the_listings_it_did_not_see(any_store: Store) -> None:
    any_store.write(batch(*pages(4), page("sold", status="sold"), page("x", portal="emlak")))
    later()
    assert sweep(any_store, "a", page("0"), card("2")) == ["1", "3"]
    assert any_store.end_sweep("a", PORTAL, complete=True) == [
        Unread(ref, f"https://www.immoweb.be/en/classified/{ref}") for ref in ("1", "3")
    ], "safe to ask again"


@pytest.mark.parametrize(
    "how", [{"complete": False, "reason": "blocked"}, {"scope": "namur"}, {"mode": "incremental"}, {"mode": "refresh"}]
)
def test_only_a_complete_sweep_returns_unseen_listings(any_store: Store, how: dict[str, Any]) -> None:
    any_store.write(batch(*pages(2)))
    later()
    assert sweep(any_store, "a", page("0"), **how) == []


def test_jobs_are_stored_with_their_state(any_store: Store) -> None:
    sweep(any_store, "a", complete=False, reason="3 pages given up")
    assert not any_store.begin_job("a", PORTAL, "sweep", "elsewhere")
    later()
    assert any_store.begin_job("b", "emlak", "sweep", "baku")
    newest, first = any_store.jobs()
    assert (newest.job, newest.portal, newest.mode, newest.scope) == ("b", "emlak", "sweep", "baku")
    assert (newest.swept_at, newest.complete, newest.verdict, newest.concluded_at) == (None, None, None, None)
    assert (first.job, first.mode, first.scope) == ("a", "full", WHOLE), "the first begin counts"
    assert (first.complete, first.reason) == (False, "3 pages given up")
    assert [job.job for job in any_store.jobs(PORTAL)] == ["a"]
    assert [job.job for job in any_store.jobs(limit=1)] == ["b"]


@pytest.mark.parametrize(
    "ask",
    [lambda store: store.end_sweep("?", PORTAL, complete=True), lambda store: store.conclude("?", PORTAL)],
)
def test_an_unknown_job_is_an_error(any_store: Store, ask: Any) -> None:
    with pytest.raises(StoreError, match=r"no job '\?'"):
        ask(any_store)


def test_jobs_of_two_portals_may_have_the_same_name(any_store: Store) -> None:
    """Each keeps its own record, its own searches, and delists its own listings."""
    for portal in (PORTAL, "emlak"):
        any_store.write(Batch([(page(str(number), portal=portal), "before") for number in range(10)]))
    later()
    assert any_store.begin_job("nightly", PORTAL, "full", WHOLE)
    assert any_store.begin_job("nightly", "emlak", "sweep", WHOLE)
    assert not any_store.begin_job("nightly", "emlak", "full", WHOLE)
    for portal in (PORTAL, "emlak"):
        any_store.keep_part("nightly", Part(portal=portal, search="s", parent=None, total=len(portal)))
    later()
    any_store.write(Batch([(page(str(number), portal="emlak"), "nightly") for number in range(9)]))
    assert [each.ref for each in any_store.end_sweep("nightly", "emlak", complete=True)] == ["9"]
    assert any_store.end_sweep("nightly", PORTAL, complete=False, reason="2 pages given up") == []
    any_store.write(Batch([(replace(gone("9"), portal="emlak"), "nightly"), (gone("3"), "nightly")]))
    later()
    concluded = any_store.conclude("nightly", "emlak")
    assert (concluded.verdict, concluded.found, concluded.offered, concluded.delisted) == ("applied", 1, 10, 1)
    assert {each["ref"] for each in any_store.records("emlak") if each["status"] == "delisted"} == {"9"}
    assert all(each["status"] == "active" for each in any_store.records(PORTAL)), "its job is not concluded yet"
    assert any_store.conclude("nightly", PORTAL).delisted == 1
    assert types(any_store, "3") == ["listed", "delisted"]
    assert any_store.conclude("nightly", "emlak") == concluded
    found = {each.portal: (each.mode, each.complete, each.departures) for each in any_store.jobs(job="nightly")}
    assert found == {PORTAL: ("full", False, 1), "emlak": ("sweep", True, 1)}
    assert [each.total for each in any_store.parts("nightly", "emlak")] == [len("emlak")]


@pytest.mark.parametrize("evidence", ["404", "410", "marker"])
def test_listings_that_a_job_found_gone_are_delisted_when_it_is_concluded(any_store: Store, evidence: Any) -> None:
    any_store.write(batch(*pages(10)))
    later()
    sweep(any_store, "a", *pages(9), complete=False)
    found_gone(any_store, "a", "9", evidence=evidence)
    assert types(any_store, "9") == ["listed"], "one page alone does not delist"
    conclusion = any_store.conclude("a", PORTAL)
    assert (conclusion.verdict, conclusion.found, conclusion.offered, conclusion.delisted) == ("applied", 1, 10, 1)
    listed, delisted = any_store.history(PORTAL, "9")
    assert (delisted.type, delisted.job, delisted.data["evidence"]["evidence"]) == ("delisted", "a", evidence)
    kept = record(any_store, "9")
    assert kept["status"] == "delisted"
    assert kept["delisted_at"] == [delisted.data["after"], delisted.data["before"]]
    assert delisted.data["after"] == listed.at.isoformat()
    assert any_store.conclude("a", PORTAL) == conclusion, "safe to ask again"
    assert types(any_store, "9") == ["listed", "delisted"]
    (job,) = any_store.jobs()
    assert (job.verdict, job.departures) == ("applied", 1)
    assert job.concluded_at is not None


def test_a_job_that_found_nothing_gone_is_concluded_too(any_store: Store) -> None:
    any_store.write(batch(*pages(2)))
    sweep(any_store, "a")
    conclusion = any_store.conclude("a", PORTAL)
    assert (conclusion.verdict, conclusion.found, conclusion.offered, conclusion.delisted) == ("applied", 0, 2, 0)


def test_too_many_gone_listings_are_withheld_unless_forced(any_store: Store) -> None:
    any_store.write(batch(*pages(10)))
    later()
    sweep(any_store, "a")
    found_gone(any_store, "a", "1", "2", "3")
    for _ in range(2):
        conclusion = any_store.conclude("a", PORTAL)
        assert (conclusion.verdict, conclusion.found, conclusion.offered, conclusion.delisted) == ("withheld", 3, 10, 0)
    assert {row["status"] for row in any_store.records(PORTAL)} == {"active"}
    any_store.write(batch(page("3")))
    conclusion = any_store.conclude("a", PORTAL, force=True)
    assert (conclusion.verdict, conclusion.found, conclusion.delisted) == ("applied", 2, 2), "one was seen again"
    assert any_store.conclude("a", PORTAL) == conclusion


def test_a_fifth_of_the_listings_is_not_too_many(any_store: Store) -> None:
    any_store.write(batch(*pages(10)))
    later()
    sweep(any_store, "a")
    found_gone(any_store, "a", "1", "2")
    assert any_store.conclude("a", PORTAL).delisted == 2


def test_evidence_of_one_listing_counts_once(any_store: Store) -> None:
    any_store.write(batch(*pages(5)))
    later()
    sweep(any_store, "a")
    for evidence in ("404", "410", "404"):
        found_gone(any_store, "a", "1", evidence=evidence)
    assert any_store.conclude("a", PORTAL).found == 1


@pytest.mark.parametrize("seen", [page("1"), card("1"), page("1", title="New")])
def test_evidence_does_not_count_if_the_listing_was_seen_after_it(any_store: Store, seen: Any) -> None:
    any_store.write(batch(*pages(10)))
    later()
    sweep(any_store, "a")
    found_gone(any_store, "a", "1")
    any_store.write(batch(seen, job="b"))
    assert any_store.conclude("a", PORTAL).found == 0
    assert record(any_store)["status"] == "active"


def test_evidence_after_the_conclusion_does_not_change_the_verdict(any_store: Store) -> None:
    any_store.write(batch(*pages(10)))
    later()
    sweep(any_store, "a")
    before = any_store.conclude("a", PORTAL)
    found_gone(any_store, "a", *map(str, range(10)))
    assert any_store.conclude("a", PORTAL) == before
    assert {row["status"] for row in any_store.records(PORTAL)} == {"active"}


def test_a_sold_listing_is_not_delisted_when_its_page_is_gone(any_store: Store) -> None:
    any_store.write(batch(*pages(9), page("9", status="sold")))
    later()
    sweep(any_store, "a")
    found_gone(any_store, "a", "9", "unheard of")
    assert any_store.conclude("a", PORTAL).found == 0
    assert record(any_store, "9")["status"] == "sold"


def test_a_page_that_says_it_has_ended_counts_as_evidence(any_store: Store) -> None:
    any_store.write(batch(*pages(10)))
    later()
    sweep(any_store, "a", *pages(9))
    assert any_store.write(batch(page("9", status="delisted"), job="a")).events == {}
    assert any_store.conclude("a", PORTAL).delisted == 1


def test_absence_counts_after_two_complete_sweeps(any_store: Store) -> None:
    any_store.write(batch(*pages(10)))
    later()
    for job, delisted in (("a", 0), ("b", 1)):
        assert sweep(any_store, job, *pages(9)) == ["9"]
        found_gone(any_store, job, "9", evidence="absent")
        assert any_store.conclude(job, PORTAL).delisted == delisted


@pytest.mark.parametrize(
    "how", [{"complete": False}, {"scope": "namur"}, {"mode": "incremental"}, {"mode": "refresh"}], ids=str
)
def test_only_complete_sweeps_of_the_whole_portal_count_for_absence(any_store: Store, how: dict[str, Any]) -> None:
    any_store.write(batch(*pages(10)))
    later()
    sweep(any_store, "a", *pages(9), **how)
    sweep(any_store, "b", *pages(9))
    found_gone(any_store, "b", "9", evidence="absent")
    assert any_store.conclude("b", PORTAL).found == 0


def test_a_listing_that_was_seen_between_two_sweeps_is_not_absent(any_store: Store) -> None:
    any_store.write(batch(*pages(10)))
    later()
    sweep(any_store, "a", *pages(9))
    any_store.write(batch(card("9"), job="x"))
    later()
    sweep(any_store, "b", *pages(9))
    found_gone(any_store, "b", "9", evidence="absent")
    assert any_store.conclude("b", PORTAL).found == 0


def test_a_listing_that_returns_is_relisted_by_its_own_page(any_store: Store) -> None:
    any_store.write(batch(*pages(10)))
    later()
    sweep(any_store, "a", *pages(9))
    found_gone(any_store, "a", "9")
    any_store.conclude("a", PORTAL)
    assert any_store.write(batch(card("9", 340000))).events == {}
    assert any_store.known(PORTAL, ["9"])["9"].status == "delisted"
    assert any_store.write(batch(page("9"))).events == {"relisted": 1}
    kept = record(any_store, "9")
    assert (kept["status"], kept["delisted_at"]) == ("active", None)


# ----- reading


def test_a_watermark_keeps_its_last_value(any_store: Store) -> None:
    assert any_store.watermark(PORTAL, "namur") is None
    any_store.set_watermark(PORTAL, "namur", "2026-09-01", "a")
    any_store.set_watermark(PORTAL, "namur", "2026-09-02", "b")
    any_store.set_watermark(PORTAL, "liege", "5", "b")
    assert (any_store.watermark(PORTAL, "namur"), any_store.watermark(PORTAL, "liege")) == ("2026-09-02", "5")


def test_the_parts_of_a_job_are_stored_once(any_store: Store) -> None:
    whole = Part(portal=PORTAL, search="https://x.example/?a=1", parent=None, total=900, is_split=True, newest=2**40)
    part = Part(portal=PORTAL, search="https://x.example/?a=1&to=5", parent=whole.search, total=None)
    for each in (part, whole, replace(part, total=400)):
        any_store.keep_part("a", each)
    any_store.keep_part("b", part)
    assert any_store.parts("a", PORTAL) == [whole, replace(part, total=400)]
    assert any_store.parts("b", PORTAL) == [part]
    assert any_store.parts("c", PORTAL) == []


@pytest.mark.parametrize(
    ("seen_days", "read_days", "revision", "is_due"),
    [
        (100, 1, 1, False),
        (100, 15, 1, True),  # the longest wait
        (20, 4, 1, False),  # one change in 16 days: due after eight
        (20, 9, 1, True),
        (20, 4, 4, True),  # more changes: due after two
        (20, 0.5, 1000, False),  # never due before one day
    ],
)
def test_a_listing_that_changes_often_is_due_sooner(
    any_store: FullStore, seen_days: float, read_days: float, revision: int, is_due: bool
) -> None:
    now = datetime.now(UTC)
    first, read = now - timedelta(days=seen_days), now - timedelta(days=read_days)
    times = {"first_seen_at": first, "last_seen_at": now, "last_fetched_at": read}
    rent: Any = {"operation": "rent", "rent_period": "month"}
    stored = [page("1", **rent, **times), page("2", status="sold", **times)]
    any_store.restore([("listings", StoredListing(as_record(each), revision, "job", None)) for each in stored])
    assert list(any_store.due(PORTAL)) == ([Unread("1", stored[0].url, "month")] if is_due else [])
    assert list(any_store.due("nobody")) == []


def test_the_longest_overdue_come_first(any_store: FullStore) -> None:
    now = datetime.now(UTC)
    days = {"1": 20, "2": 40, "3": 30}
    stored = [
        page(ref, first_seen_at=now - timedelta(days=50), last_seen_at=now, last_fetched_at=now - timedelta(days=each))
        for ref, each in days.items()
    ]
    any_store.restore([("listings", StoredListing(as_record(each), 1, "job", None)) for each in stored])
    assert [each.ref for each in any_store.due(PORTAL, limit=2)] == ["2", "3"]


def test_many_records_come_in_order(any_store: Store) -> None:
    for first in range(0, 1200, 400):
        any_store.write(batch(*(page(f"{number:05}") for number in range(first, first + 400))))
    assert [row["ref"] for row in any_store.records(PORTAL)] == [f"{number:05}" for number in range(1200)]
    assert list(any_store.records("nobody")) == []


def test_the_market_has_medians_by_place_and_operation(any_store: Store) -> None:
    prices = (100_000, 200_000, 900_000)
    rent = {"operation": "rent", "area_m2": None}
    any_store.write(
        batch(
            *(page(str(price), price=Decimal(price), area_m2=100.0) for price in prices),
            page("rent", rent_period="month", price=Decimal(900), **rent),
            page("daily", rent_period="day", price=Decimal(50), **rent),
            page("gone", price=Decimal(1), status="delisted"),
        )
    )
    sale, let = any_store.market("BE")
    assert (sale.city, sale.operation, sale.listings) == ("Namur", "sale", 3)
    assert (sale.median_price, sale.median_price_per_m2) == (Decimal(200_000), Decimal(2000))
    assert (let.operation, let.listings, let.median_price) == ("rent", 1, Decimal(900))
    assert any_store.market("AZ") == []


def test_medians_exist_for_every_known_city(any_store: Store) -> None:
    prices = (100_000, 200_000, 300_000, 400_000, 900_000)
    many = [page(str(price), price=Decimal(price), area_m2=100.0) for price in prices]
    nowhere, sold = page("nowhere", city=None), page("sold", status="sold", price=Decimal(10))
    any_store.write(batch(*many, sold, nowhere, page("alone", city="Dinant", district=None)))
    alone, median = sorted(any_store.medians())
    assert median == ("BE", "Namur", "Namur", "sale", "house", None, "EUR", 3000.0, 5)
    assert alone == ("BE", "Dinant", None, "sale", "house", None, "EUR", 2500.0, 1)
    assert {type(row.price_per_m2) for row in any_store.medians()} == {float}


@pytest.mark.parametrize("url", ["store_url", "mongodb_url"])
def test_reading_an_empty_database_finds_nothing(url: str, request: pytest.FixtureRequest) -> None:
    from realestate.storage import open_store

    store = open_store(str(request.getfixturevalue(url)))
    assert store.counts() == {}
    store.close()
