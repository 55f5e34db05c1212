"""What is in quarantine, and where raw pages are."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from realestate.storage.keeping import InQuarantine
from realestate.storage.postgres.asking import Asking
from realestate.storage.postgres.copying import encoded
from realestate.storage.postgres.rows import as_json, recordset
from realestate.storage.snapshots import Kind, SnapshotRef

#: As `keeping.fault_of` says it.
_FAULT = "split_part(split_part(error, ':', 1), '.', 1)"
_FOUND = f"""
    SELECT fingerprint, portal, ref, url, errors, record, quarantined_at FROM quarantine
    WHERE (%(portal)s IS NULL OR portal = %(portal)s) AND (%(ref)s IS NULL OR ref = %(ref)s)
      AND (%(ids)s IS NULL OR fingerprint = ANY (%(ids)s::text[]))
      AND (%(fault)s IS NULL
           OR EXISTS (SELECT FROM jsonb_array_elements_text(errors) AS error WHERE {_FAULT} = %(fault)s))
    ORDER BY quarantined_at DESC, portal, fingerprint LIMIT %(limit)s
"""
_FAULTS = f"""
    SELECT portal, {_FAULT} AS fault, count(DISTINCT fingerprint)::int
    FROM quarantine, jsonb_array_elements_text(errors) AS error
    WHERE %(portal)s IS NULL OR portal = %(portal)s GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2
"""
#: A row's fields by their columns.
INDEX = {each.name: "run" if each.name == "job" else each.name for each in fields(SnapshotRef)}
_TYPES = {**dict.fromkeys(INDEX.values(), "text"), "offset": "bigint", "length": "bigint", "status": "integer"}
_TYPES |= {"fetched_at": "timestamptz"}
_COLUMNS = ", ".join(f'"{column}"' for column in INDEX.values())
_REINDEX = f"""
    DELETE FROM snapshots WHERE file = %(file)s;
    INSERT INTO snapshots ({_COLUMNS}) SELECT {_COLUMNS}
    FROM {recordset("rows", {f'"{column}"': type for column, type in _TYPES.items()})}
"""
PAGES = f"SELECT {_COLUMNS} FROM snapshots"


def page_of(row: Sequence[Any]) -> SnapshotRef:
    """From the columns of PAGES."""
    return SnapshotRef(**dict(zip(INDEX, row, strict=True)))


class Looking(Asking):
    """The part of the store that is looked at when something went wrong."""

    def quarantined(
        self,
        *,
        portal: str | None = None,
        ref: str | None = None,
        fault: str | None = None,
        ids: Sequence[str] | None = None,
        limit: int = 20,
    ) -> Sequence[InQuarantine]:
        asked = {"portal": portal, "ref": ref, "fault": fault, "limit": limit}
        rows = self._ask(_FOUND, {**asked, "ids": None if ids is None else list(ids)})
        return [in_quarantine(row) for row in rows]

    def faults(self, portal: str | None = None) -> Mapping[str, Mapping[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for name, fault, count in self._ask(_FAULTS, {"portal": portal}):
            found.setdefault(name, {})[fault] = count
        return found

    def drop_quarantined(self, ids: Sequence[str]) -> int:
        gone = self._ask("DELETE FROM quarantine WHERE fingerprint = ANY (%s) RETURNING fingerprint", (list(ids),))
        return len(gone)

    def snapshots(self, portal: str, ref: str) -> Sequence[SnapshotRef]:
        rows = self._ask(f"{PAGES} WHERE (portal, ref) = (%s, %s) ORDER BY fetched_at DESC", (portal, ref))
        return [page_of(row) for row in rows]

    def reindex(self, file: str, rows: Sequence[SnapshotRef]) -> None:
        told = ({column: getattr(row, name) for name, column in INDEX.items()} for row in rows)
        self._ask(_REINDEX, {"file": file, "rows": as_json(map(encoded, told))})

    def forget_snapshots(self, files: Sequence[str]) -> None:
        self._ask("DELETE FROM snapshots WHERE file = ANY (%s)", (list(files),))

    def forget_pages(self, kind: Kind, days: float) -> None:
        old = "DELETE FROM snapshots WHERE kind = %s AND fetched_at < now() - make_interval(secs => %s)"
        self._ask(old, (kind, days * 86400))


def in_quarantine(row: Sequence[Any]) -> InQuarantine:
    id, portal, ref, url, errors, record, at = row
    return InQuarantine(id=id, portal=portal, ref=ref, url=url, errors=tuple(errors), record=record, at=at)
