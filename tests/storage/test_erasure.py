"""A listing is erased in the store and in the files of raw pages."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from realestate.storage.contacts import Sealed
from realestate.storage.erasure import erase, erase_pages
from realestate.storage.maintenance import FullStore
from realestate.storage.snapshots import SnapshotRef, SnapshotWriter, pages, read
from tests.storage.batches import PORTAL, batch, page
from tests.storage.snapshots.conftest import make_writer  # noqa: F401
from tests.storage.snapshots.examples import a_page

MakeWriter = Callable[..., SnapshotWriter]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "raw")


def keep(store: FullStore, writer: SnapshotWriter, *refs: str | None, portal: str = PORTAL) -> list[SnapshotRef]:
    """Write a page of each listing, with its row in the index."""
    rows = [writer.write(a_page(ref=ref, portal=portal, body=f"page of {ref}".encode())) for ref in refs]
    writer.close()
    for file in {row.file for row in rows}:
        store.reindex(file, [row for row in rows if row.file == file])
    return rows


def refs(folder: str) -> list[str | None]:
    return [row.ref for row, _ in pages(folder)]


def test_a_listing_is_erased_with_its_pages(any_store: FullStore, folder: str, make_writer: MakeWriter) -> None:  # noqa: F811
    any_store.write(batch(page("1"), page("2")))
    keep(any_store, make_writer(folder), "1", "2", None, "1")
    keep(any_store, make_writer(folder), "1", portal="emlak")
    (erased,) = erase(any_store, [(PORTAL, "1"), (PORTAL, "1")])
    assert erased.removed["listings"] == 1
    result = erase_pages(any_store, folder)
    assert (result.erased, result.files, result.is_over) == (2, 1, True)
    assert sorted(refs(folder), key=str) == ["1", "2", None], "the listing of emlak is another one"
    (row,) = any_store.snapshots(PORTAL, "2")
    assert read(folder, row).body == b"page of 2"
    assert any_store.snapshots(PORTAL, "1") == []
    assert erase_pages(any_store, folder).erased == 0


def test_a_file_in_use_is_erased_the_next_time(any_store: FullStore, folder: str, make_writer: MakeWriter) -> None:  # noqa: F811
    writer = make_writer(folder)
    row = writer.write(a_page(ref="1"))
    writer.flush()
    any_store.reindex(row.file, [row])
    erase(any_store, [(PORTAL, "1")])
    result = erase_pages(any_store, folder)
    assert (result.erased, result.in_use, result.is_over) == (0, [row.file], False)
    writer.close()
    assert erase_pages(any_store, folder).erased == 1
    assert refs(folder) == []


def test_a_file_that_is_not_here_is_reported_and_its_row_stays(any_store: FullStore, folder: str) -> None:
    kept = a_page(ref="1", fetched_at=datetime(2026, 11, 4, 12, tzinfo=UTC))
    row = SnapshotRef.of(kept, "immoweb/failed/20261104T120000Z-w-1.warc.gz", 0, 10)
    any_store.reindex(row.file, [row])
    erase(any_store, [(PORTAL, "1")])
    assert erase_pages(any_store, folder).missing == [row.file]
    assert any_store.erased_pages() == [row]


def test_an_erasure_that_stops_between_file_and_index_is_finished_by_the_next(
    any_store: FullStore,
    folder: str,
    make_writer: MakeWriter,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keep(any_store, make_writer(folder), "1", "2", "3")
    erase(any_store, [(PORTAL, "1")])
    with monkeypatch.context() as broken:
        broken.setattr(type(any_store), "reindex", _dies)
        with pytest.raises(ConnectionError):
            erase_pages(any_store, folder)
    assert refs(folder) == ["2", "3"], "the page cannot be read any more"
    erase_pages(any_store, folder)
    assert any_store.erased_pages() == []
    assert [read(folder, row).ref for ref in "23" for row in any_store.snapshots(PORTAL, ref)] == ["2", "3"]


def _dies(*arguments: Any) -> None:
    raise ConnectionError("the database is away")


def test_a_page_without_a_row_is_found_by_reading_all_files(
    any_store: FullStore,
    folder: str,
    make_writer: MakeWriter,  # noqa: F811
) -> None:
    writer = make_writer(folder)
    for ref in "12":
        writer.write(a_page(ref=ref))
    writer.close()
    erase(any_store, [(PORTAL, "1")])
    assert erase_pages(any_store, folder).erased == 0
    seen: list[str] = []
    result = erase_pages(any_store, folder, scan=[PORTAL, "emlak"], progress=seen.append)
    assert (result.erased, len(seen)) == (1, 1)
    assert refs(folder) == ["2"]
    assert [row.ref for row in any_store.snapshots(PORTAL, "2")] == ["2"], "the other pages have rows now"


def test_listings_are_erased_by_the_lookup_of_a_contact(any_store: FullStore) -> None:
    any_store.write(batch(page("1"), page("2"), page("3")))
    marks = {"1": ("k:a", "k:b"), "2": ("k:a",), "3": ("k:c",)}
    any_store.keep_contacts([Sealed(PORTAL, ref, b"sealed", lookups) for ref, lookups in marks.items()], 30)
    erased = erase(any_store, [], ["k:a", "k:nobody"])
    assert [(each.ref, each.removed["listings"], each.removed["contacts"]) for each in erased] == [
        ("1", 1, 1),
        ("2", 1, 1),
    ]
    assert any_store.erased_contacts(["k:a", "k:b", "k:nobody"]) == {"k:a", "k:nobody"}
    assert [row["ref"] for row in any_store.records(PORTAL)] == ["3"]
