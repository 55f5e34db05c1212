"""Items of other kinds in each kind of store: stored once, with events in the same numbering as those of listings."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from realestate.items.others import Other, Product, Quote
from realestate.storage import Batch, Store, open_store
from realestate.storage.backup import backup, restore
from realestate.storage.maintenance import FullStore
from realestate.storage.other_kinds import SeenOther, StoredOther, decide_other, last_of_each
from tests.storage.batches import all_events, later, page
from tests.storage.conftest import OpenStore, Scaled
from tests.storage.test_together import together, writer

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def product(ref: str = "1", **changes: Any) -> Product:
    fields: dict[str, Any] = {"name": "Kettle", "price": Decimal("29.90"), "currency": "EUR", "stock": 5, **changes}
    return Product(portal="ecommerce", ref=ref, url=f"https://shop.example/p/{ref}", **fields)


def quote(ref: str = "XX01", **changes: Any) -> Quote:
    fields: dict[str, Any] = {"ticker": "ABC", "price": Decimal("12.345"), "currency": "EUR", "volume": 9, **changes}
    return Quote(portal="finance", ref=ref, url="https://quotes.example/", **{"quoted_at": NOW, **fields})


def batch(*others: Other, job: str = "job") -> Batch:
    return Batch(others=[(other, job) for other in others])


def events_of(store: Store) -> list[tuple[str, str, int]]:
    return [(each.event.ref, each.event.type, each.event.revision) for each in all_events(store)]


# ----- the rule


def stored(other: Other) -> StoredOther:
    return decide_other(None, other, "first", NOW).after


def test_a_new_item_appears_with_all_its_fields() -> None:
    event = decide_other(None, product(), "first", NOW).event
    assert event is not None
    data = {"kind": "product", "name": "Kettle", "price": 29.9, "currency": "EUR", "stock": 5}
    assert (event.type, event.revision, event.data) == ("appeared", 1, data)


def test_an_update_has_the_old_and_the_new_values() -> None:
    decided = decide_other(stored(product()), product(price=Decimal(25), stock=0), "second", NOW + timedelta(1))
    assert decided.event is not None
    assert (decided.event.type, decided.event.revision) == ("updated", 2)
    assert decided.event.data == {"fields": {"price": [29.9, 25], "stock": [5, 0]}}
    assert (decided.after.first_seen_at, decided.after.last_seen_at) == (NOW, NOW + timedelta(1))


def test_equal_amounts_in_another_notation_are_no_change() -> None:
    decided = decide_other(stored(product()), product(price=Decimal("29.9000")), "second", NOW)
    assert (decided.event, decided.after.revision) == (None, 1)


@pytest.mark.parametrize("changes", [{"quoted_at": NOW + timedelta(1)}, {"quoted_at": None}])
def test_a_new_quote_time_is_stored_without_an_event(changes: dict[str, Any]) -> None:
    decided = decide_other(stored(quote()), quote(**changes), "second", NOW)
    assert (decided.event, decided.after.revision) == (None, 2)
    assert decided.after.data["quoted_at"] != NOW.isoformat()


def test_the_last_item_of_a_batch_counts() -> None:
    assert list(last_of_each([(product(stock=1), "a"), (product("2"), "a"), (product(stock=3), "b")]).values()) == [
        SeenOther(product(stock=3), "b"),
        SeenOther(product("2"), "a"),
    ]


# ----- the stores


def test_an_item_is_stored_with_all_its_values(any_store: Store) -> None:
    written = any_store.write(batch(product("2", name="Ə \"'\\ {%s} 家"), product("1", price=None, currency=None)))
    any_store.write(batch(quote()))
    assert (written.others, written.events, written.quarantined) == (2, {"appeared": 2}, 0)
    first, second = any_store.others("ecommerce")
    assert (first.ref, first.data["price"], second.data["name"]) == ("1", None, "Ə \"'\\ {%s} 家")
    (third,) = any_store.others("finance")
    assert (third.kind, third.record) == (
        "quote",
        {"portal": "finance", "ref": "XX01", "url": "https://quotes.example/", "ticker": "ABC", "price": 12.345}
        | {"currency": "EUR", "volume": 9, "quoted_at": NOW.isoformat()},
    )
    assert any_store.counts() == {"ecommerce": (2, 0), "finance": (1, 0)}


def test_writing_again_changes_only_the_time_it_was_seen(any_store: Store) -> None:
    any_store.write(batch(product(), product("2")))
    (before, _) = any_store.others("ecommerce")
    later()
    assert any_store.write(batch(product(), product("2"), job="again")).events == {}
    (after, _) = any_store.others("ecommerce")
    assert (after.revision, after.first_seen_at, after.last_job) == (1, before.first_seen_at, "again")
    assert after.last_seen_at > before.last_seen_at
    assert len(all_events(any_store)) == 2


def test_changes_are_events_in_one_numbering_with_those_of_listings(any_store: Store) -> None:
    any_store.write(batch(product()))
    any_store.write(Batch([(page(), "job")], others=[(product(stock=4), "job"), (quote(), "job")]))
    any_store.write(batch(product(stock=4), product(stock=3)))
    assert sorted(events_of(any_store)) == sorted(
        [("1", "appeared", 1), ("1", "listed", 1), ("1", "updated", 2), ("XX01", "appeared", 1), ("1", "updated", 3)]
    )
    history = any_store.history("ecommerce", "1")
    assert [(event.type, event.data.get("fields")) for event in history] == [
        ("appeared", None),
        ("updated", {"stock": [5, 4]}),
        ("updated", {"stock": [4, 3]}),
    ]
    assert [event.type for event in any_store.history("immoweb", "1")] == ["listed"]


def test_two_workers_at_once_make_one_event_of_each_change(
    any_store: Store, open_another: OpenStore, scaled: Scaled
) -> None:
    refs = [str(number) for number in range(scaled(100))]
    days = [batch(*(product(ref, stock=stock) for ref in refs)) for stock in (5, 4)]
    backwards = [Batch(others=day.others[::-1]) for day in days]
    together([writer(open_another(), *days), writer(open_another(), *backwards), writer(open_another(), *days)])
    events = all_events(any_store)
    names = [(each.event.ref, each.event.revision, each.event.type) for each in events]
    assert len(names) == len(set(names))
    assert [each.seq for each in events] == sorted({each.seq for each in events})
    assert Counter(type for _, _, type in names)["appeared"] == len(refs)
    stock: dict[str, Any] = {}
    for each in (each.event for each in events):
        old, new = each.data["fields"]["stock"] if each.type == "updated" else (None, each.data["stock"])
        assert stock.get(each.ref) == old, "an update was lost"
        stock[each.ref] = new
    assert stock == {other.ref: other.data["stock"] for other in any_store.others("ecommerce")}
    assert any_store.counts()["ecommerce"] == (len(refs), 0)


@pytest.mark.parametrize("bad", [{"name": "half \ud800"}, {"stock": object()}, {"price": Decimal("NaN")}])
def test_an_item_that_the_database_refuses_goes_to_quarantine_and_the_others_are_stored(
    any_store: FullStore, bad: Any
) -> None:
    written = any_store.write(batch(product("1"), product("2", **bad), product("3")))
    assert (written.others, written.quarantined) == (2, 1)
    assert [other.ref for other in any_store.others("ecommerce")] == ["1", "3"]
    (entry,) = any_store.quarantined(portal="ecommerce")
    assert (entry.ref, entry.errors[0].partition(":")[0]) == ("2", "refused by the database")


def test_an_erased_item_is_not_stored_again(any_store: FullStore) -> None:
    any_store.write(batch(product(), product("2")))
    any_store.write(batch(product(stock=1)))
    erased = any_store.erase("ecommerce", "1")
    assert (erased.removed["others"], erased.removed["events"], erased.removed["listings"]) == (1, 2, 0)
    assert any_store.write(batch(product(stock=0), product("2", stock=0))).others == 1
    assert [other.ref for other in any_store.others("ecommerce")] == ["2"]
    assert {each.event.ref for each in all_events(any_store)} == {"2"}
    assert any_store.history("ecommerce", "1") == []


def test_a_backup_has_the_items_with_their_history(any_store: FullStore, other_url: str, tmp_path: Path) -> None:
    any_store.write(Batch([(page(), "job")], others=[(product(), "job"), (quote(), "job")]))
    any_store.write(batch(product(stock=1)))
    any_store.erase("finance", "XX01")
    backup(any_store, tmp_path / "all.zip", NOW)
    other = open_store(other_url)
    try:
        restore(other, tmp_path / "all.zip")
        (kept,) = other.others("ecommerce")
        (before,) = any_store.others("ecommerce")
        assert (kept.record, kept.revision, kept.last_job) == (before.record, before.revision, before.last_job)
        assert [(each.seq, each.event.type) for each in all_events(other)] == [
            (each.seq, each.event.type) for each in all_events(any_store)
        ]
        assert [event.type for event in other.history("ecommerce", "1")] == ["appeared", "updated"]
        assert other.write(batch(product(stock=0), quote())).events == {"updated": 1}, (
            "the erased item is not stored again"
        )
    finally:
        other.close()


def test_items_of_other_kinds_do_not_expire(any_store: FullStore) -> None:
    any_store.write(batch(product()))
    any_store.expire(quarantine_days=0, delisted_days=0)
    assert [other.ref for other in any_store.others("ecommerce")] == ["1"]
