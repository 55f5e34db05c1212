"""A backup file contains everything of a store: it is written and restored on a real server of each kind."""

import json
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from realestate import embedded
from realestate.items import FIELDS, Part, as_record
from realestate.storage import Batch, open_store
from realestate.storage.backup import BackupError, Header, backup, restore
from realestate.storage.contacts import Sealed
from realestate.storage.maintenance import RELEASED, FullStore, NotEmpty
from realestate.storage.records import PARTS, Departure, ErasedMark, SealedContacts, Watermark, listing_of
from realestate.storage.snapshots import SnapshotRef
from tests.conftest import empty_database
from tests.examples import a_listing
from tests.storage.batches import PORTAL, all_events, an_order, batch, card, gone, later, page, pages, quarantined
from tests.storage.conftest import Scaled
from tests.storage.snapshots.examples import a_page
from tests.storage.test_others import product, quote
from tests.storage.test_together import histories_are_whole

NOW = datetime.now(UTC)
LAST_VERSION = Path(__file__).with_name("last_version") / "backup-0.1.zip"
HOSTILE = "tab\t newline\n return\r quote' \" backslash\\ \\N None \\x {1,2} %s ə 家 🏠 \u2028 \x01"


@pytest.fixture
def other(other_url: str) -> Iterator[FullStore]:
    """An empty store."""
    store: Any = open_store(other_url)
    store.migrate()
    yield store
    store.close()


@pytest.fixture
def full(any_store: FullStore) -> FullStore:
    fill(any_store)
    return any_store


def fill(store: FullStore) -> None:
    """A store with records of every part."""
    hostile: dict[str, Any] = {"a.b": HOSTILE, "$where": [None, True, 1.5, {"": []}]}
    store.write(
        batch(*pages(30), page("odd", title=HOSTILE, photos=[f"https://x.example/{HOSTILE}"], extra=hostile), job="a")
    )
    store.write(batch(page("1", price=Decimal("340000.55"), title="New"), card("2", 330000), job="b"))
    store.write(batch(page("3", price=Decimal(35000)), job="b"))
    store.write(batch(page("4", status="sold"), page("5", price=None, currency=None, price_basis="on_request")))
    later()
    order = {"portal": PORTAL, "city": HOSTILE, "then": [{"report": True}]}
    store.add_order(an_order("c", content=order), 3600)
    store.add_order(an_order("e", key="nightly"))
    store.order_ended("e", "failed", HOSTILE, {"pages": {"plan": {"found": 1}}, "rate": 1.5})
    store.begin_job("c", PORTAL, "full", "part")
    store.begin_job("d", PORTAL, "sweep", "all")
    store.write(batch(gone("6"), gone("7", "410"), job="c"))
    store.conclude("c", PORTAL, force=True)
    store.end_sweep("d", PORTAL, complete=False, reason="2 pages were given up")
    store.set_watermark(PORTAL, "all", HOSTILE, "a")
    store.keep_part("a", Part(portal="immoweb", search="https://x.example/?a=1", parent=None, total=9, newest=2**40))
    store.write(Batch(quarantined=[quarantined(), replace(quarantined("8"), record={"x": [HOSTILE, None, 1e300]})]))
    row = SnapshotRef.of(a_page(), "immoweb/failed/20261104T120000Z-w-1.warc.gz", 0, 100)
    store.reindex(row.file, [row, replace(row, offset=2**40, ref=None, job=None, url=HOSTILE)])
    store.keep_contacts([Sealed(PORTAL, "1", bytes(range(256)), ("k:a", HOSTILE))], 30)
    store.keep_contacts([Sealed(PORTAL, "1", b"another", ("k:c",), "asked")], 30)
    store.write(Batch(others=[(product("1", name=HOSTILE), "a"), (product("2", stock=None), "a"), (quote(), "b")]))
    store.write(Batch(others=[(product("2", stock=7), "b")]))
    store.erase(PORTAL, "29")
    store.erase_contact("k:mark")


def everything(store: FullStore) -> dict[str, list[str]]:
    """The records of each part, sorted."""
    found: dict[str, list[str]] = {part: [] for part in PARTS}
    for part, record in store.everything():
        found[part].append(plain(record))
    return {part: sorted(records) for part, records in found.items()}


def plain(value: Any) -> str:
    """Canonical JSON of a value: times cut to the millisecond, as some stores keep them, and numbers as floats."""
    text = msgspec.json.encode(value).decode()
    text = re.sub(r"(T[0-9:]{8})(\.\d{1,3})?\d*(Z|\+00:00)", lambda at: at[1] + (at[2] or "").rstrip("0."), text)
    return json.dumps(json.loads(text, parse_int=float), sort_keys=True)


@pytest.fixture
def file(full: FullStore, tmp_path: Path) -> Path:
    """A backup of `full`."""
    path = tmp_path / "store.backup"
    backup(full, path, NOW)
    return path


@pytest.fixture(scope="session")
def shared_file(services: embedded.Services, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of a PostgreSQL store with records of every part, made once."""
    path = tmp_path_factory.mktemp("backup") / "store.backup"
    with empty_database(services.store_url) as url:
        store = open_store(url)
        fill(store)
        backup(store, path, NOW)
        store.close()
    return path


@pytest.fixture
def copied_file(shared_file: Path, tmp_path: Path) -> Path:
    """A copy of the backup in the test's own folder, so that the test can write beside it."""
    return Path(shutil.copy(shared_file, tmp_path))


# ----- back up and restore


def test_a_restored_store_equals_the_original(full: FullStore, other: FullStore, file: Path) -> None:
    before = everything(full)
    assert all(before[part] for part in PARTS)
    header = restore(other, file)
    assert everything(other) == before
    assert header.counts == {part: len(records) for part, records in before.items()}
    assert plain(list(other.records(PORTAL))) == plain(list(full.records(PORTAL)))
    assert plain(all_events(other)) == plain(all_events(full))
    for ref in range(9):
        assert plain(other.prices(PORTAL, str(ref))) == plain(full.prices(PORTAL, str(ref)))
    assert (plain(other.jobs()), other.watermark(PORTAL, "all")) == (plain(full.jobs()), HOSTILE)
    assert plain(other.quarantined()) == plain(full.quarantined())
    assert other.erased(PORTAL) == {"29"}
    assert other.counts() == full.counts()


def test_contacts_of_an_older_file_have_the_source_page() -> None:
    line = b'{"portal":"immoweb","ref":"1","sealed":"AA==","lookups":[],"expires_at":"2026-11-16T00:00:00Z"}'
    assert msgspec.json.decode(line, type=SealedContacts).source == "page"


def test_a_restored_store_handles_new_writes_like_the_original(full: FullStore, other: FullStore, file: Path) -> None:
    restore(other, file)
    today = batch(*pages(30), page("new"), card("2", 320000), page("3", price=Decimal(35000)), job="e")
    assert other.write(today).events == full.write(today).events
    events = [(each.seq, each.event.ref, each.event.type) for each in all_events(other)]
    assert events == [(each.seq, each.event.ref, each.event.type) for each in all_events(full)]
    assert other.erased(PORTAL) == {"29"}


def test_the_number_of_an_erased_event_is_not_used_again(
    any_store: FullStore, other: FullStore, tmp_path: Path
) -> None:
    any_store.write(batch(page("1")))
    any_store.write(batch(page("2")))
    last = all_events(any_store)[-1].seq
    any_store.erase(PORTAL, "2")
    backup(any_store, tmp_path / "file", NOW)
    restore(other, tmp_path / "file")
    other.write(batch(page("3")))
    assert all_events(other)[-1].seq > last


def test_an_empty_store_can_be_backed_up_and_restored(any_store: FullStore, other: FullStore, tmp_path: Path) -> None:
    header = backup(any_store, tmp_path / "file", NOW)
    assert set(header.counts) == set(PARTS)
    restore(other, tmp_path / "file")
    other.write(batch(page()))
    assert [each.seq for each in all_events(other)] == [1]


def test_a_backup_is_consistent_while_others_write(
    any_store: FullStore, other: FullStore, open_another: Callable[[], FullStore], scaled: Scaled, tmp_path: Path
) -> None:
    count = scaled(300)
    any_store.write(batch(*pages(count)))
    begun, stop, writing = threading.Event(), threading.Event(), open_another()

    def write() -> None:
        for price in range(310000, 400000):
            if stop.is_set():
                return
            writing.write(batch(*(page(str(ref), price=Decimal(price)) for ref in range(0, count, 5))))
            begun.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert begun.wait(60)
    for number in range(5):
        backup(any_store, tmp_path / str(number), NOW)
    stop.set()
    writer.join()
    restore(other, tmp_path / "4")
    histories_are_whole(other)
    assert len(all_events(other)) > count


def test_the_file_is_a_zip_of_json_lines_that_only_its_owner_can_read(file: Path) -> None:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with zipfile.ZipFile(file) as archive:
        assert sorted(archive.namelist()) == sorted(["header.json", *(f"{part}.jsonl" for part in PARTS)])
        header = json.loads(archive.read("header.json"))
        first = json.loads(archive.read("listings.jsonl").splitlines()[0])
    assert (header["format"], header["version"], header["counts"]["listings"]) == ("realestate backup", 5, 30)
    assert first["listing"]["portal"] == PORTAL
    assert set(first) == {"listing", "revision", "last_job", "suspect", "price_sighted_at"}


def test_an_existing_file_is_not_overwritten(full: FullStore, file: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(BackupError, match="exists already"):
        backup(full, file, NOW)
    assert file.read_bytes() == before


def test_a_backup_cut_short_leaves_no_file(full: FullStore, tmp_path: Path) -> None:
    def stop(part: str, count: int) -> None:
        if part == "events":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backup(full, tmp_path / "new", NOW, stop)
    assert not list(tmp_path.glob("*new*"))
    assert full.counts()[PORTAL][0] == 30, "the store still works"


def test_the_last_job_that_saw_a_listing_is_in_its_record(any_store: FullStore) -> None:
    any_store.write(batch(*pages(4), job="a"))
    any_store.write(batch(page("1"), page("2", title="New"), card("3"), job="b"))
    any_store.correct([page("0", title="Corrected")], "c")
    last_jobs = {
        record.listing["ref"]: record.last_job for part, record in any_store.everything() if part == "listings"
    }
    assert last_jobs == {"0": "a", "1": "b", "2": "b", "3": "b"}


# ----- refused files


def test_only_an_empty_store_can_be_restored(full: FullStore, other: FullStore, file: Path) -> None:
    before = everything(full)
    with pytest.raises(NotEmpty, match="not empty"):
        restore(full, file)
    assert everything(full) == before
    other.begin_job("job", PORTAL, "full", "all")
    with pytest.raises(NotEmpty, match="jobs"):
        restore(other, file)


def is_empty(store: FullStore) -> bool:
    return [record for part, record in store.everything() if part != "numbering"] == []


def changed(file: Path, folder: Path | None = None, /, **members: bytes | None) -> Path:
    """The same file with other members: header=b"…", or events=None to leave it out."""
    new = (folder or file.parent) / "changed"
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(new, "w") as archive:
        for name in old.namelist():
            data = members.get(name.partition(".")[0], old.read(name))
            if data is not None:
                archive.writestr(name, data)
    return new


def header_with(file: Path, **changes: Any) -> bytes:
    with zipfile.ZipFile(file) as archive:
        return json.dumps({**json.loads(archive.read("header.json")), **changes}).encode()


def lines(file: Path, part: str) -> list[dict[str, Any]]:
    with zipfile.ZipFile(file) as archive:
        return [json.loads(line) for line in archive.read(f"{part}.jsonl").splitlines()]


def written(records: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda file: changed(file, header=None), "not a backup"),
        (lambda file: changed(file, header=b"[1]"), "not a backup"),
        (lambda file: changed(file, header=header_with(file, format="tar")), "not a backup of realestate"),
        (lambda file: changed(file, header=header_with(file, version=99)), "newer version"),
        (lambda file: changed(file, header=header_with(file, version=-5)), "not a backup of realestate"),
        (lambda file: changed(file, header=header_with(file, version=0)), "not a backup of realestate"),
        (lambda file: changed(file, header=header_with(file, counts={"events": -1})), "not a backup of realestate"),
        (lambda file: changed(file, header=header_with(file, counts={})), "not complete"),
        (lambda file: changed(file, events=None), "not complete: it has no events.jsonl"),
        (lambda file: changed(file, prices=b""), "prices.jsonl has 0 records"),
        (lambda file: changed(file, erased=b"{}\n"), "erased.jsonl, line 1"),
        (lambda file: changed(file, erased=b"\xff\n"), "erased.jsonl, line 1"),
        (lambda file: changed(file, events=written(lines(file, "events") * 2)), "refuses|has"),
    ],
)
def test_an_incomplete_or_foreign_file_is_refused_with_one_line(
    other: FullStore, copied_file: Path, spoil: Callable[[Path], Path], message: str
) -> None:
    with pytest.raises(BackupError, match=message) as error:
        restore(other, spoil(copied_file))
    assert "\n" not in str(error.value)
    assert is_empty(other)


#: Times that are in the year 0 or 10000 in UTC.
IMPOSSIBLE_TIMES = ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00")


@pytest.mark.parametrize("time", IMPOSSIBLE_TIMES)
@pytest.mark.parametrize(
    ("part", "path"),
    [
        ("listings", ("listing", "posted_at")),
        ("listings", ("listing", "first_seen_at")),
        ("listings", ("price_sighted_at",)),
        ("others", ("first_seen_at",)),
        ("events", ("event", "at")),
        ("prices", ("at",)),
        ("jobs", ("job", "started_at")),
        ("departures", ("at",)),
        ("watermarks", ("set_at",)),
        ("quarantine", ("at",)),
        ("snapshots", ("fetched_at",)),
        ("erased", ("at",)),
    ],
)
def test_a_time_that_a_backup_could_not_read_again_is_refused(
    any_store: FullStore, copied_file: Path, part: str, path: tuple[str, ...], time: str
) -> None:
    records = lines(copied_file, part)
    found = records[0]
    for name in path[:-1]:
        found = found[name]
    found[path[-1]] = time
    with pytest.raises(BackupError, match=f"{part}.jsonl, line 1: .* is not a time of the years 1 to 9999") as error:
        restore(any_store, changed(copied_file, **{part: written(records)}))
    assert "\n" not in str(error.value)
    assert is_empty(any_store)


@pytest.mark.parametrize("price", ["NaN", "Infinity", "1e12"])
def test_a_price_that_is_no_amount_is_refused(any_store: FullStore, copied_file: Path, price: str) -> None:
    records = lines(copied_file, "prices")
    records[0]["price"] = price
    with pytest.raises(BackupError, match=r"prices.jsonl, line 1: .* is not an amount of money"):
        restore(any_store, changed(copied_file, prices=written(records)))


def test_a_planted_link_is_not_followed(full: FullStore, tmp_path: Path) -> None:
    """Somebody else may write to the folder, and has put links there that lead to a file of ours."""
    precious = tmp_path / "precious"
    precious.write_text("ours")
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / ".x.partial").symlink_to(precious)
    backup(full, folder / "x", NOW)
    (folder / "y").symlink_to(tmp_path / "nowhere")
    with pytest.raises(BackupError, match="exists already"):
        backup(full, folder / "y", NOW)
    assert precious.read_text() == "ours"
    assert not (tmp_path / "nowhere").exists()
    assert stat.S_IMODE((folder / "x").stat().st_mode) == 0o600
    assert not (folder / "x").is_symlink()


def test_a_file_that_appears_during_the_backup_is_not_overwritten(full: FullStore, tmp_path: Path) -> None:
    def plant(part: str, count: int) -> None:
        (tmp_path / "z").write_text("ours")

    with pytest.raises(BackupError, match="exists already"):
        backup(full, tmp_path / "z", NOW, plant)
    assert (tmp_path / "z").read_text() == "ours"
    assert not list(tmp_path.glob("*.partial"))


def test_a_file_of_version_1_is_restored(other: FullStore, tmp_path: Path) -> None:
    """It has no items of other kinds, and no parts."""
    events = [event for event in lines(LAST_VERSION, "events") if event["event"]["portal"] == PORTAL]
    counts = {**json.loads(header_with(LAST_VERSION))["counts"], "events": len(events)}
    del counts["others"], counts["parts"]
    header = header_with(LAST_VERSION, version=1, counts=counts)
    restore(other, changed(LAST_VERSION, tmp_path, others=None, parts=None, events=written(events), header=header))
    assert other.counts()[PORTAL] == (5, 1)
    assert list(other.others("ecommerce")) == []


@pytest.mark.parametrize(("name", "value"), [("kind", "castle"), ("data", {"name": "x", "price": -1}), ("url", "x")])
def test_an_item_of_an_unknown_kind_is_refused(other: FullStore, copied_file: Path, name: str, value: Any) -> None:
    records = lines(copied_file, "others")
    records[0][name] = value
    with pytest.raises(BackupError, match="ecommerce/1 is not a valid"):
        restore(other, changed(copied_file, others=written(records)))
    assert is_empty(other)


def test_a_truncated_file_or_another_file_is_refused(other: FullStore, copied_file: Path, tmp_path: Path) -> None:
    whole = copied_file.read_bytes()
    damaged = bytearray(whole)
    damaged[len(whole) // 3] ^= 0xFF
    for data in (b"", b"not a zip", whole[: len(whole) // 2], bytes(damaged)):
        bad = tmp_path / "bad"
        bad.write_bytes(data)
        with pytest.raises(BackupError):
            restore(other, bad)
        assert is_empty(other)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("price", -5, r"listing immoweb/0: \$\.price"),
        ("rooms", "many", r"\$\.rooms"),
        ("country", None, r"\$\.country"),
        ("surprise", 1, "surprise"),
        ("currency", None, r"listing immoweb/0"),
    ],
)
def test_a_listing_the_schema_refuses_is_named_and_nothing_is_restored(
    other: FullStore, copied_file: Path, name: str, value: Any, message: str
) -> None:
    records = lines(copied_file, "listings")
    records[0]["listing"][name] = value
    with pytest.raises(BackupError, match=message):
        restore(other, changed(copied_file, listings=written(records)))
    assert is_empty(other)


def test_a_released_listing_need_not_be_valid_but_must_be_a_listing(other: FullStore, copied_file: Path) -> None:
    records = lines(copied_file, "listings")
    records[0]["listing"] |= {"quality_flags": [RELEASED], "rooms": 5000}
    restore(other, changed(copied_file, listings=written(records)))
    assert next(iter(other.records(PORTAL)))["rooms"] == 5000


def test_a_record_that_is_not_a_listing_is_refused_even_if_released(other: FullStore, copied_file: Path) -> None:
    records = lines(copied_file, "listings")
    records[0]["listing"] |= {"quality_flags": [RELEASED], "rooms": "many"}
    with pytest.raises(BackupError, match="rooms"):
        restore(other, changed(copied_file, listings=written(records)))
    assert is_empty(other)


KILLED = """
import sys, time
from realestate.storage import open_store
from realestate.storage.backup import restore
from pathlib import Path

def stop(part, count):
    if part == "events":
        print("in the middle", flush=True)
        time.sleep(600)

restore(open_store(sys.argv[1]), Path(sys.argv[2]), stop)
"""


def test_a_restore_killed_in_the_middle_leaves_an_empty_store(
    other: FullStore,
    other_url: str,
    file: Path,
) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, other_url, str(file)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"in the middle\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert is_empty(other)
    restore(other, file)
    assert not is_empty(other)


# ----- records


EVERY_FIELD = a_listing(
    **{"rent_period": "month", "is_new_building": False, "charges": Decimal("120.50"), "price_per_m2": Decimal("2.01")},
    **{"price": Decimal("123456789012.35"), "bathrooms": 2, "floor": -1, "floors_total": 4, "year_built": 1890},
    **{"condition": "good", "energy_class": "A++", "energy_kwh_m2": -12.5, "heating": "gas", "facades": 2},
    **{"has_deed": True, "has_mortgage": False, "region": "X", "metro_station": "28 May", "street": HOSTILE},
    **{"postal_code": "0123", "description": HOSTILE, "seller_type": "owner", "agency_name": "A", "agency_ref": "B"},
    **{"updated_at": NOW, "first_seen_at": NOW, "last_seen_at": NOW, "last_fetched_at": NOW, "status": "delisted"},
    **{"delisted_at": (NOW, NOW + timedelta(days=1)), "content_hash": "0" * 32, "parser_version": 7},
    **{"quality_flags": frozenset({"odd"}), "extra": {"a": [1, {"b": None}]}},
)


def test_a_record_is_read_back_as_the_listing_it_was() -> None:
    assert None not in (getattr(EVERY_FIELD, name) for name in FIELDS)
    assert listing_of(json.loads(json.dumps(as_record(EVERY_FIELD)))) == EVERY_FIELD


@pytest.mark.parametrize(
    "record",
    [
        Departure("r", PORTAL, "1", "404", "", "https://x.example/", NOW, True),
        Watermark(PORTAL, "all", "v", "r", NOW),
        ErasedMark("listing", "immoweb/1", NOW),
    ],
    ids=lambda record: type(record).__name__,
)
def test_each_part_can_be_restored_alone(any_store: FullStore, record: Any) -> None:
    (part,) = (name for name, kind in PARTS.items() if kind is type(record))
    any_store.restore([(part, record)])
    (found,) = (restored for name, restored in any_store.everything() if name == part)
    assert abs(getattr(found, "at", NOW) - NOW) < timedelta(milliseconds=1)


def test_the_header_has_every_field_and_the_time(file: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        header = json.loads(archive.read("header.json"))
    assert set(header) == set(Header.__dataclass_fields__)
    assert datetime.fromisoformat(header["made_at"]) == NOW
