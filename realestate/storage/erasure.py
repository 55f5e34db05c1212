"""Erase a listing everywhere: in the store, and in the files of raw pages."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from realestate.storage.maintenance import Erased, MaintenanceStore
from realestate.storage.snapshots import Page, open_place
from realestate.storage.snapshots.files import rewrite


@dataclass(slots=True)
class RawPages:
    """The result for raw pages."""

    erased: int = 0
    files: int = 0
    """Files that were rewritten."""
    in_use: list[str] = field(default_factory=list)
    """A worker still writes to these. A later call rewrites them."""
    missing: list[str] = field(default_factory=list)
    """These are not on this machine. They may be on the machine that wrote them."""

    @property
    def is_over(self) -> bool:
        return not self.in_use and not self.missing


def erase(store: MaintenanceStore, keys: Iterable[tuple[str, str]], marks: Iterable[str] = ()) -> list[Erased]:
    """Erase the listings with these keys (portal, ref), and all that have a contact with one of these marks
    (`Vault.lookup`). Return what was removed of each."""
    wanted = dict.fromkeys(keys)
    for mark in marks:
        wanted |= dict.fromkeys(store.erase_contact(mark))
    return [store.erase(portal, ref) for portal, ref in wanted]


def erase_pages(
    store: MaintenanceStore,
    url: str,
    *,
    spool: Path | None = None,
    scan: Sequence[str] = (),
    progress: Callable[[str], object] = lambda file: None,
) -> RawPages:
    """Remove the raw pages of all erased listings from their files. Safe to repeat.

    Pages are found by the index. If a worker died before it stored the index row, the page has none: therefore every
    file of the portals in `scan` is read."""
    files = dict.fromkeys(row.file for row in store.erased_pages())
    for portal in scan:
        files |= dict.fromkeys(open_place(url, spool).names(portal))
    is_erased = _ErasedListings(store)
    result = RawPages()
    for file in files:
        progress(file)
        rewritten = rewrite(url, file, is_erased, spool=spool)
        if rewritten.outcome == "in use":
            result.in_use.append(file)
        elif rewritten.outcome == "missing":
            result.missing.append(file)
        else:
            store.reindex(file, rewritten.rows)
            result.erased += rewritten.erased
            result.files += bool(rewritten.erased)
    return result


class _ErasedListings:
    """Says whether a page belongs to an erased listing. The store is asked once for each portal."""

    def __init__(self, store: MaintenanceStore) -> None:
        self._store = store
        self._refs: dict[str, frozenset[str]] = {}

    def __call__(self, page: Page) -> bool:
        if page.portal not in self._refs:
            self._refs[page.portal] = self._store.erased(page.portal)
        return page.ref in self._refs[page.portal]
