"""Validators (ETag, Last-Modified) are used only while the store has the values of the page they belong to."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from realestate.items import Listing, Sighting
from realestate.storage import FullStore
from realestate.storage import validators as rules
from realestate.storage.contacts import Sealed
from realestate.storage.mongo import read as in_mongo
from realestate.storage.postgres import read as in_postgres
from realestate.storage.validators import LONGEST, PageRead, Validators, page_read
from tests.storage.batches import PORTAL, all_events, batch, card, gone, later, page, record, types

ETAG, CHANGED, NOW = '"v1"', "Mon, 05 Oct 2026 07:00:00 GMT", "Tue, 06 Oct 2026 07:00:00 GMT"


def read(listing: Listing, **changed: str) -> PageRead:
    headers = {"etag": ETAG, "last_modified": CHANGED, "date": NOW, **changed}
    found = page_read(listing, listing.url, **headers)
    assert found is not None
    return found


def keep(store: FullStore, *listings: Listing, **headers: str) -> None:
    store.write(batch(*listings))
    store.keep_validators([read(each, **headers) for each in listings])


def holding(store: FullStore, *refs: str, **asked: Any) -> dict[str, Validators]:
    return dict(store.validators(PORTAL, refs or ("1",), **{"parser_version": 1, **asked}))


def unchanged(ref: str = "1") -> Sighting:
    return Sighting(portal=PORTAL, ref=ref, url="https://x.example/", is_read=True)


# ----- which headers are stored


@pytest.mark.parametrize("etag", ['"a"', 'W/"a"', '"' + "a" * (LONGEST - 2) + '"'])
def test_an_etag_is_stored_unchanged(etag: str) -> None:
    assert read(page(), etag=etag, last_modified="").etag == etag


HOSTILE_ETAGS = [
    "",
    "*",
    '""',
    "unquoted",
    '"a"b"',
    '"a", "b"',
    '"a\r\nX-Evil: 1"',
    '"a\0"',
    '"a\x7f"',
    '"\xe9"',
    '"' + "a" * (LONGEST - 1) + '"',
    '"' + "a" * 10_000_000 + '"',
]


@pytest.mark.parametrize("etag", HOSTILE_ETAGS, ids=lambda etag: repr(etag[:12]))
def test_a_hostile_etag_is_not_stored(etag: str) -> None:
    headers = {"etag": etag, "date": NOW}
    assert page_read(page(), "https://x.example/", last_modified="", **headers) is None
    beside = page_read(page(), "https://x.example/", last_modified=CHANGED, **headers)
    assert beside is not None
    assert (beside.etag, beside.last_modified) == (None, CHANGED)


@pytest.mark.parametrize(
    "changed",
    [
        "yesterday",
        "Mon, 05 Oct 2026 07:00:00",
        "Wed, 07 Oct 2026 07:00:00 GMT",
        f"{CHANGED}\r\nX-Evil: 1",
        "Mon, 05 Oct 99999999999999999999 07:00:00 GMT",
        CHANGED + " " * 10_000_000,
    ],
    ids=lambda changed: repr(changed[:40]),
)
def test_a_hostile_date_is_not_stored(changed: str) -> None:
    assert page_read(page(), "https://x.example/", etag="", last_modified=changed, date=NOW) is None


@pytest.mark.parametrize("ref", ["", "\0", "a\ud800", "9" * 5000])
def test_a_ref_or_url_that_does_not_fit_a_table_is_not_stored(ref: str) -> None:
    assert page_read(page(ref), "https://x.example/", etag=ETAG, last_modified="", date="") is None
    assert page_read(page(), f"https://x.example/{'a' * 5000}", etag=ETAG, last_modified="", date="") is None


def test_without_a_date_header_any_last_modified_is_accepted() -> None:
    assert read(page(), etag="", date="").last_modified == CHANGED


# ----- when validators are valid


def test_stored_validators_are_returned(any_store: FullStore) -> None:
    rent = page("2", operation="rent", rent_period="month")
    keep(any_store, page("1"), rent)
    validators = holding(any_store, "1", "2", "3")
    assert validators == {
        "1": Validators(page("1").url, ETAG, CHANGED, None),
        "2": Validators(rent.url, ETAG, CHANGED, "month"),
    }
    assert holding(any_store, "1", parser_version=2) == {}
    assert any_store.validators("emlak", ["1"], 1) == {}
    assert "etag" not in record(any_store)


def test_the_last_validators_count(any_store: FullStore) -> None:
    keep(any_store, page())
    keep(any_store, page(), etag='"v2"', last_modified="")
    any_store.keep_validators([read(page(), etag='"old"'), read(page(), etag='"v3"', last_modified="")])
    assert holding(any_store)["1"][1:3] == ('"v3"', None)
    assert types(any_store) == ["listed"]


Happened = Callable[[FullStore], Any]


@pytest.mark.parametrize(
    "happened",
    [
        pytest.param(lambda store: store.write(batch(card(price=340_000), job="b")), id="a card's price"),
        pytest.param(lambda store: store.write(batch(card(price=1_000), job="b")), id="a suspect price"),
        pytest.param(lambda store: store.write(batch(page(title="New"), job="b")), id="another page"),
        pytest.param(lambda store: store.write(batch(page(status="sold"), job="b")), id="sold"),
        pytest.param(lambda store: store.correct([page(title="Mended")], "b"), id="corrected"),
        pytest.param(lambda store: store.erase(PORTAL, "1"), id="erased"),
    ],
)
def test_validators_are_valid_only_while_the_listing_is_unchanged(any_store: FullStore, happened: Happened) -> None:
    keep(any_store, page())
    assert holding(any_store)
    happened(any_store)
    assert holding(any_store) == {}


def test_a_delisted_listing_has_no_validators(any_store: FullStore) -> None:
    keep(any_store, *(page(str(number)) for number in range(10)))
    any_store.begin_job("b", PORTAL, "full", "")
    any_store.write(batch(gone("1"), job="b"))
    assert any_store.conclude("b", PORTAL).delisted == 1
    assert set(holding(any_store, *map(str, range(10)))) == set(map(str, range(10))) - {"1"}


def test_old_validators_expire(any_store: FullStore, monkeypatch: pytest.MonkeyPatch) -> None:
    assert timedelta(days=7) < rules.TRUSTED < timedelta(days=60)
    keep(any_store, page())
    for module in (in_mongo, in_postgres):
        monkeypatch.setattr(module, "TRUSTED", timedelta(0))
    later()
    assert holding(any_store) == {}


def test_without_the_wanted_contacts_there_are_no_validators(any_store: FullStore) -> None:
    keep(any_store, page("1"), page("2"), page("3"))
    any_store.keep_contacts([Sealed(PORTAL, "1", b"s", ()), Sealed(PORTAL, "2", b"s", (), "asked")], 30)
    assert set(holding(any_store, "1", "2", "3")) == {"1", "2", "3"}
    assert set(holding(any_store, "1", "2", "3", contacts="page")) == {"1"}
    assert set(holding(any_store, "1", "2", "3", contacts="asked")) == {"2"}


def test_validators_of_an_erased_listing_are_not_stored(any_store: FullStore) -> None:
    keep(any_store, page("1"), page("2"))
    assert any_store.erase(PORTAL, "1").removed["validators"] == 1
    any_store.keep_validators([read(page("1"))])
    assert any_store.erase(PORTAL, "1").removed["validators"] == 0
    assert set(holding(any_store, "1", "2")) == {"2"}


def test_a_listing_that_is_not_stored_has_no_validators(any_store: FullStore) -> None:
    any_store.keep_validators([read(page())])
    assert holding(any_store) == {}
    any_store.write(batch(page(title="Another")))
    assert holding(any_store) == {}


def test_many_validators_are_looked_up_at_once(any_store: FullStore) -> None:
    listings = [page(str(number)) for number in range(1200)]
    any_store.keep_validators([replace(read(page()), ref=each.ref) for each in listings])
    any_store.write(batch(page("7"), page("1100")))
    assert set(holding(any_store, *(each.ref for each in listings))) == {"7", "1100"}


# ----- an unchanged page


def test_an_unchanged_page_sets_the_times_and_makes_no_event(any_store: FullStore) -> None:
    any_store.write(batch(page("1"), page("2")))
    before, other = record(any_store), record(any_store, "2")
    later()
    written = any_store.write(batch(unchanged(), job="b"))
    after = record(any_store)
    assert (written.new, written.known, written.seen) == (0, 0, 1)
    assert after["last_fetched_at"] == after["last_seen_at"] > before["last_seen_at"]
    ours = ("last_fetched_at", "last_seen_at")
    assert {k: v for k, v in after.items() if k not in ours} == {k: v for k, v in before.items() if k not in ours}
    assert len(all_events(any_store)) == 2
    assert record(any_store, "2") == other


def test_a_search_result_alone_does_not_set_the_fetch_time(any_store: FullStore) -> None:
    any_store.write(batch(page()))
    before = record(any_store)
    later()
    any_store.write(batch(card(), job="b"))
    assert record(any_store)["last_fetched_at"] == before["last_fetched_at"] < record(any_store)["last_seen_at"]


def test_an_unchanged_page_and_its_search_result_can_be_in_one_batch(any_store: FullStore) -> None:
    any_store.write(batch(page()))
    before = record(any_store)
    later()
    any_store.write(batch(card(price=340_000), unchanged(), job="b"))
    assert types(any_store) == ["listed", "price_changed"]
    assert record(any_store)["last_fetched_at"] > before["last_fetched_at"]


def test_an_unchanged_page_of_an_unknown_listing_stores_nothing(any_store: FullStore) -> None:
    any_store.write(batch(unchanged()))
    assert list(any_store.records(PORTAL)) == []
    assert all_events(any_store) == []


def test_an_unchanged_page_does_not_relist_and_cancels_earlier_evidence(any_store: FullStore) -> None:
    any_store.write(batch(*(page(str(number)) for number in range(10))))
    any_store.begin_job("b", PORTAL, "full", "")
    any_store.write(batch(gone("1"), gone("2"), job="b"))
    later()
    any_store.write(batch(unchanged("2"), job="b"))
    any_store.conclude("b", PORTAL)
    any_store.write(batch(unchanged("1"), job="c"))
    assert [record(any_store, ref)["status"] for ref in ("1", "2")] == ["delisted", "active"]
    assert types(any_store, "1") == ["listed", "delisted"]
