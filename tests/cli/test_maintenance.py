"""`quarantine`, `retain`, `erase`, `upkeep`, `backup` and `restore`, as text and as JSON."""

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cryptography.fernet import Fernet

from realestate import settings
from realestate.cli import app, errors, maintenance
from realestate.jobs.release import page_of
from realestate.storage import Batch, Quarantined, open_store
from realestate.storage.contacts import Contacts, Sealed
from realestate.storage.maintenance import Finding, FullStore, InQuarantine
from realestate.storage.snapshots import SnapshotRef, pages
from realestate.storage.vault import Vault
from tests.storage.batches import PORTAL, batch, page, record, types
from tests.storage.snapshots.examples import a_page, a_writer


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The output, parsed as JSON."""
        return json.loads(self.out)


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return tmp_path / "raw"


@pytest.fixture(params=["store_url", "mongodb_url"])
def url(request: pytest.FixtureRequest) -> str:
    """Of an empty database of either kind."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture
def store(url: str) -> Iterator[FullStore]:
    store = open_store(url)
    store.migrate()
    yield store
    store.close()


@pytest.fixture
def run(
    url: str, redis_url: str, raw: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Done]]:
    """`realestate …`, in this process."""
    for name, value in {"STORE_URL": url, "REDIS_URL": redis_url, "SNAPSHOTS_URL": str(raw)}.items():
        monkeypatch.setattr(settings, name, value)
    handler = signal.getsignal(signal.SIGTERM)

    def act(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["realestate", *arguments])
        capsys.readouterr()
        code = errors.run(app)
        return Done(code, *capsys.readouterr())

    yield act
    signal.signal(signal.SIGTERM, handler)


Run = Callable[..., Done]


def bad(ref: str = "1", error: str = "rooms: 5000 is greater than 1000", **changes: Any) -> Quarantined:
    return Quarantined.of(page(ref, **{"rooms": 5000, **changes}), error)


def keep(store: FullStore, raw: Path, *refs: str, **changes: Any) -> list[SnapshotRef]:
    with closing(a_writer(raw)) as writer:
        rows = [writer.write(a_page(ref=ref, body=f"page of {ref}".encode(), **changes)) for ref in refs]
    for file in {row.file for row in rows}:
        store.reindex(file, [row for row in rows if row.file == file])
    return rows


# ----- quarantine


def test_quarantine_is_listed_with_counts(store: FullStore, run: Run) -> None:
    store.write(Batch(quarantined=[bad("1"), bad("2"), bad("3", "price: [bad]", portal="emlak")]))
    done = run("quarantine", "list")
    assert done.code == 0
    assert "immoweb: rooms 2\n" in done.out
    assert "emlak: price 1\n" in done.out
    assert "[bad]" in done.out, "no text of a page is taken for markup"
    assert run("quarantine", "list", "--portal", "emlak", "--json").json["faults"] == {"emlak": {"price": 1}}
    values = run("quarantine", "list", "--fault", "rooms", "--json").json
    assert sorted(entry["ref"] for entry in values["entries"]) == ["1", "2"]
    assert "no entry in quarantine matches" in run("quarantine", "list", "--ref", "9").err


def test_an_entry_is_shown_with_its_raw_page(store: FullStore, run: Run, raw: Path, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    keep(store, raw, "1", fetched_at=now - timedelta(days=1))
    (wanted,) = keep(store, raw, "1", fetched_at=now)
    keep(store, raw, "1", fetched_at=now + timedelta(days=1))
    store.write(Batch(quarantined=[bad("1"), bad("2")]))
    (entry,) = store.quarantined(ref="1")
    values = run("quarantine", "show", entry.id).json
    assert values["errors"] == ["rooms: 5000 is greater than 1000"]
    assert values["record"]["rooms"] == 5000
    assert (values["page"]["file"], values["page"]["offset"]) == (wanted.file, wanted.offset)
    copy = tmp_path / "page.html"
    assert run("quarantine", "show", entry.id, "--page", str(copy)).code == 0
    assert copy.read_bytes() == b"page of 1"
    (other,) = store.quarantined(ref="2")
    assert run("quarantine", "show", other.id).json["page"] is None
    done = run("quarantine", "show", other.id, "--page", str(copy))
    assert (done.code, done.err) == (2, f"realestate: the raw page of entry {other.id!r} was not kept\n")


def test_an_entry_can_be_released(store: FullStore, run: Run) -> None:
    store.write(Batch(quarantined=[bad("1"), bad("2")]))
    (entry,) = store.quarantined(ref="1")
    dry = run("quarantine", "release", entry.id, "--dry-run")
    assert (dry.code, "would be stored" in dry.out) == (0, True)
    assert store.counts()[PORTAL] == (0, 2)
    assert run("quarantine", "release", entry.id).code == 0
    assert store.counts()[PORTAL] == (1, 1)
    found = record(store, "1")
    assert (found["rooms"], found["quality_flags"]) == (5000, ["released"])
    assert types(store, "1") == ["listed"]
    again = run("quarantine", "release", entry.id)
    assert (again.code, again.err) == (2, f"realestate: there is no entry in quarantine with the id {entry.id!r}\n")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"rooms": "many"}, "it is not a listing: Expected `int | null`, got `str` - at `$.rooms`"),
        ({"operation": "barter"}, "it is not a listing: Invalid enum value 'barter'"),
        ({"price": 0}, "it is not a listing: 0 is not a price"),
        ({"ref": "other"}, "it is not a listing: the record belongs to another listing"),
        ({"charges": 10**15}, "the database refuses it"),
    ],
)
def test_an_entry_that_cannot_be_stored_stays_in_quarantine_with_the_reason(
    store: FullStore, run: Run, changes: dict[str, Any], why: str
) -> None:
    entry = bad("1")
    store.write(Batch(quarantined=[replace(entry, record={**entry.record, **changes}), bad("2")]))
    ids = [each.id for ref in "12" for each in store.quarantined(ref=ref)]
    done = run("quarantine", "release", *ids, "--json")
    assert done.code == 1
    first, second = done.json
    assert (first["stored"], second["stored"]) == (False, True)
    assert first["why"].startswith(why)
    assert store.counts()[PORTAL] == (1, 1)


def test_a_newer_page_is_not_overwritten(store: FullStore, run: Run) -> None:
    store.write(Batch(quarantined=[bad("1")]))
    store.write(batch(page("1", title="Newer")))
    (entry,) = store.quarantined()
    done = run("quarantine", "release", entry.id)
    assert (done.code, "a newer page of it is stored: drop this" in done.out) == (1, True)
    assert record(store)["title"] == "Newer"


def test_drop_prints_how_many_entries_it_deletes(store: FullStore, run: Run) -> None:
    store.write(Batch(quarantined=[bad(str(ref)) for ref in range(5)] + [bad("9", "price: bad")]))
    assert run("quarantine", "drop", "--fault", "rooms", "--dry-run").out == "would drop 5\n"
    assert run("quarantine", "drop", store.quarantined(ref="1")[0].id).out == "dropped 1\n"
    assert run("quarantine", "drop", "--portal", PORTAL, "--fault", "rooms").out == "dropped 4\n"
    assert [entry.ref for entry in store.quarantined()] == ["9"]
    done = run("quarantine", "drop")
    assert (done.code, done.err) == (2, "realestate: nothing to drop: give ids, --portal, --ref or --fault\n")


def test_the_raw_page_of_an_entry_is_the_last_one_before_it() -> None:
    at = datetime(2026, 11, 4, 12, tzinfo=UTC)
    entry = InQuarantine(id="x", portal=PORTAL, ref="1", url="", errors=(), record={}, at=at)

    def row(minutes: float) -> SnapshotRef:
        return SnapshotRef.of(a_page(fetched_at=at + timedelta(minutes=minutes)), "f", 0, 1)

    assert page_of(entry, []) is None
    assert page_of(entry, [row(60), row(-1), row(-60)]) == row(-1)
    assert page_of(entry, [row(60), row(5), row(-60)]) == row(5), "its worker's clock was ahead"
    assert page_of(entry, [row(60)]) is None


# ----- retain and erase


def test_retain_prints_what_it_would_delete_and_what_it_deleted(store: FullStore, run: Run, raw: Path) -> None:
    keep(store, raw, "1", kind="failed")
    keep(store, raw, "2", kind="sampled")
    store.write(Batch(quarantined=[bad("1")]))
    long_ago = datetime.now(UTC) - timedelta(days=400)
    sold = replace(page("1", status="sold", description="Sunny."), last_fetched_at=long_ago)
    store.release([sold, replace(page("2"), last_fetched_at=long_ago)], "run")
    store.keep_contacts([Sealed(PORTAL, "2", b"sealed", ())], 0)
    asked = ("retain", "--sampled-days", "0.00000001", "--quarantine-days", "0.00000001")
    dry = run(*asked, "--dry-run")
    assert dry.code == 0
    assert dry.out.splitlines() == [
        "raw pages: 1 files would be deleted (1 sampled)",
        "quarantine: 1 entries would be deleted",
        "contacts: 1 would be deleted",
        "delisted: texts of 1 listings would be deleted; their history stays",
    ]
    assert store.counts()[PORTAL] == (2, 1)
    values = run(*asked, "--json").json
    assert (values["files"], values["dry_run"]) == ({"sampled": 1}, False)
    assert values["expired"] == {"quarantined": 1, "contacts": 1, "trimmed": 1}
    assert [row.ref for row, _ in pages(str(raw))] == ["1"]
    assert store.snapshots(PORTAL, "2") == []
    assert (record(store, "1")["description"], types(store, "1")) == (None, ["listed"])
    assert "0 files deleted" in run(*asked).out


def test_a_missing_raw_page_is_reported_only_within_its_retention_time(store: FullStore, run: Run) -> None:
    old = a_page(ref="1", fetched_at=datetime.now(UTC) - timedelta(days=60))
    row = SnapshotRef.of(old, "immoweb/failed/20261104T120000Z-w-1.warc.gz", 0, 10)
    store.reindex(row.file, [row])
    done = run("erase", "--ref", "immoweb/1")
    assert (
        done.code,
        f"this file is not here, run the command on the machine that has it: {row.file}" in done.out,
    ) == (1, True)
    assert run("retain").code == 1
    assert run("retain", "--failed-days", "50").code == 0
    assert store.erased_pages() == []


def test_days_are_those_of_the_settings_and_0_is_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "RETAIN_ALL_DAYS", 0.0)
    days = maintenance.retention_days(failed=None, sampled=7, all=None, quarantine=0, delisted=None)
    assert (days.failed, days.sampled, days.all, days.quarantine, days.delisted) == (90, 7, None, None, 365)
    assert days.raw == {"failed": 90, "sampled": 7}


def test_an_erased_listing_is_deleted_everywhere(store: FullStore, run: Run, raw: Path) -> None:
    store.write(batch(page("1"), page("2")))
    keep(store, raw, "1", "2")
    done = run("erase", "--ref", "immoweb/1")
    assert done.code == 0
    assert "immoweb/1: 1 listings, 1 events, 1 prices; it will not be stored again\n" in done.out
    assert "raw pages: 1 erased in 1 files\n" in done.out
    assert [row.ref for row, _ in pages(str(raw))] == ["2"]
    assert store.write(batch(page("1"))).new == 0
    again = run("erase", "--ref", "immoweb/1", "--ref", "emlak/a/b", "--json").json
    assert [(each["portal"], each["ref"]) for each in again["erased"]] == [("immoweb", "1"), ("emlak", "a/b")]


def test_exit_code_1_if_a_raw_page_cannot_be_erased_yet(store: FullStore, run: Run, raw: Path) -> None:
    with closing(a_writer(raw)) as writer:
        row = writer.write(a_page(ref="1"))
        writer.flush()
        store.reindex(row.file, [row])
        done = run("erase", "--ref", "immoweb/1")
        assert done.code == 1
        assert f"a worker still writes to this file, run the command again later: {row.file}" in done.out
        assert run("retain").code == 1
    assert run("retain", "--failed-days", "0").code == 0, "which is what a timetable will run"
    assert list(pages(str(raw))) == []


def test_scan_finds_raw_pages_that_are_not_in_the_index(store: FullStore, run: Run, raw: Path) -> None:
    with closing(a_writer(raw)) as writer:
        writer.write(a_page(ref="1"))
    run("erase", "--ref", "immoweb/1")
    assert len(list(pages(str(raw)))) == 1
    assert "1 erased in 1 files" in run("erase", "--ref", "immoweb/1", "--scan").out
    assert list(pages(str(raw))) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to erase: give --ref portal/ref, --phone or --email"),
        (["--ref", "1"], "--ref is '1': portal/ref is needed, such as emlak/840001"),
        (["--ref", "immoweb/"], "--ref is 'immoweb/'"),
        (["--ref", "nowhere/1"], "no portal 'nowhere'"),
        (["--phone", "050 123"], "'050 123' is not a telephone number with its country code"),
        (["--phone", "+994501234567"], "CONTACTS_KEYS is not set"),
    ],
)
def test_a_wrong_argument_of_erase_is_one_line(run: Run, arguments: list[str], message: str) -> None:
    done = run("erase", *arguments)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert message in line


def test_erase_by_telephone_number_or_email(store: FullStore, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "CONTACTS_KEYS", (Fernet.generate_key().decode(),))
    vault = Vault(settings.CONTACTS_KEYS)
    store.write(batch(page("1"), page("2"), page("3")))
    persons = [
        Contacts(portal=PORTAL, ref="1", phones=("+994501234567",)),
        Contacts(portal=PORTAL, ref="2", emails=("somebody@example.org",)),
        Contacts(portal=PORTAL, ref="3", phones=("+994509999999",)),
    ]
    store.keep_contacts([vault.kept(person) for person in persons], 30)
    done = run("erase", "--phone", "+994 (50) 123-45.67", "--email", " Somebody@Example.org ")
    assert done.code == 0
    assert [line.partition(":")[0] for line in done.out.splitlines()] == ["immoweb/1", "immoweb/2"]
    assert not [each for each in ("1234567", "omebody") if each in done.out], "the output contains no contact"
    assert [row["ref"] for row in store.records(PORTAL)] == ["3"]
    store.keep_contacts([vault.kept(replace(persons[0], ref="4"))], 30)
    assert "no listing has that contact" in run("erase", "--phone", "+994501234567").out


# ----- upkeep, backup and restore


def test_upkeep_prints_its_findings(store: FullStore, run: Run) -> None:
    done = run("upkeep")
    assert done.code == 0
    assert " checked, no" in done.out
    assert {finding["what"] for finding in run("upkeep", "--json").json} >= {"indexes", "sizes"}


def test_exit_code_1_if_upkeep_finds_a_fault(store: FullStore, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = Finding("age", "old", "VACUUM FREEZE", "fault")
    monkeypatch.setattr(type(store), "upkeep", lambda self: iter([fault]))
    done = run("upkeep")
    assert (done.code, done.out) == (1, "BAD  age          old\n                  -> VACUUM FREEZE\n")


def test_a_backup_can_be_restored(
    store: FullStore,
    run: Run,
    second_store_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store.write(batch(page("1"), page("2")))
    file = tmp_path / "file.zip"
    done = run("backup", str(file))
    assert done.code == 0
    assert "2 listings, 2 events, 2 prices" in done.out
    again = run("backup", str(file))
    assert (again.code, again.err) == (1, f"realestate: {file} exists already\n")
    refused = run("restore", str(file))
    assert (refused.code, "the store is not empty: it has " in refused.err) == (1, True)
    monkeypatch.setattr(settings, "STORE_URL", second_store_url)
    assert run("restore", str(file), "--json").json["counts"]["listings"] == 2
    with closing(open_store(second_store_url)) as other:
        assert [row["ref"] for row in other.records(PORTAL)] == ["1", "2"]


@pytest.mark.parametrize("name", ["nothing.zip", "folder"])
def test_a_missing_file_or_a_folder_is_one_line(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    for command in ("restore", "backup"):
        path = tmp_path / name if command == "restore" else tmp_path / "nowhere" / "file.zip"
        done = run(command, str(path))
        assert done.code == 1
        assert len(done.err.splitlines()) == 1
