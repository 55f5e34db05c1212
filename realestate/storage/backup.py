"""Back up a whole store into one file, and restore it: a zip of JSON lines, one member for each of `records.PARTS`.

The file does not depend on the kind of database: a backup of PostgreSQL can be restored into MongoDB.
"""

import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

import jsonschema_rs
import msgspec
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from realestate import __version__
from realestate.items import is_storable_time
from realestate.private_files import owner_only
from realestate.schema import listing_schema, other_schemas
from realestate.storage.errors import StoreError
from realestate.storage.maintenance import RELEASED, MaintenanceStore
from realestate.storage.other_kinds import StoredOther
from realestate.storage.prices import DEAREST
from realestate.storage.records import PARTS, Departure, StoredJob, StoredListing, listing_of
from realestate.storage.store import Job

FORMAT = "realestate backup"
#: The version of the file format. It is raised when older versions of this project could not read the file.
VERSION = 5
#: The first version in which a job is called a job. Before, it was called a run.
_JOBS_SINCE = 3
#: The first version in which portal and name identify a job. Before, the name did.
_JOBS_BY_PORTAL_SINCE = 4
#: Parts that a file of an older version does not have.
_SINCE = {"others": 2, "parts": 2, "job_orders": 5}
_HEADER = "header.json"
#: No record is longer. A longer line is refused, because a malicious file could fill the memory with it.
_LONGEST_LINE = 64 * 1024 * 1024
_BUFFER = 1024 * 1024
#: Records between two calls of `Progress`.
_SOME = 5000

Progress = Callable[[str, int], object]
"""Called with the name of a part and how many of its records are done."""


class BackupError(StoreError):
    """The file cannot be written, or cannot be restored; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    format: str
    version: int
    made_at: datetime
    made_by: str
    counts: dict[str, int]
    """part -> number of its records."""


def backup(store: MaintenanceStore, path: Path, now: datetime, progress: Progress = lambda part, count: None) -> Header:
    """Write everything the store keeps to `path`, and return the header.

    The file appears when it is complete. Only its owner can read it."""
    if os.path.lexists(path):  # also a symbolic link to nowhere
        raise BackupError(f"{path} exists already")
    half = path.with_name(f".{path.name}.{token_hex(8)}.partial")
    try:
        with open(half, "xb", opener=owner_only) as file:  # x: never follows a link that somebody put there
            header = _write(store, file, now, progress)
            file.flush()
            os.fsync(file.fileno())
        _named(half, path)
    finally:
        half.unlink(missing_ok=True)
    return header


def _named(half: Path, path: Path) -> None:
    """Give the complete file its name, unless another file has got it meanwhile."""
    try:
        os.link(half, path)
    except FileExistsError:
        raise BackupError(f"{path} exists already") from None
    except OSError:  # this kind of disk has no links
        half.replace(path)


def restore(store: MaintenanceStore, path: Path, progress: Progress = lambda part, count: None) -> Header:
    """Load the file into an empty store, all of it or nothing. Every record is checked."""
    try:
        with zipfile.ZipFile(path) as archive:
            header = _header(archive)
            store.restore(_checked(archive, header, progress))
            return header
    except StoreError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:  # RuntimeError: it has a password
        raise BackupError(f"{path} is not a complete backup: {error or type(error).__name__}") from error
    except ValueError as error:
        raise BackupError(f"the database refuses a record of {path}: {error}") from error


# ----- writing


def _write(store: MaintenanceStore, file: IO[bytes], now: datetime, progress: Progress) -> Header:
    counts = dict.fromkeys(PARTS, 0)
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        closing(store.everything()) as everything,  # type: ignore[type-var]
    ):
        for part, records in groupby(everything, itemgetter(0)):
            with archive.open(_member(part), "w", force_zip64=True) as member:
                counts[part] = _write_lines(member, (record for _, record in records), partial(progress, part))
        for part, count in counts.items():
            if not count:
                archive.writestr(_member(part), b"")
        made_by = f"realestate {__version__}"
        header = Header(format=FORMAT, version=VERSION, made_at=now, made_by=made_by, counts=counts)
        archive.writestr(_HEADER, msgspec.json.format(msgspec.json.encode(header)))
    return header


def _write_lines(member: IO[bytes], records: Iterator[Any], progress: Callable[[int], object]) -> int:
    count = 0
    with io.BufferedWriter(member, _BUFFER) as lines:
        for count, record in enumerate(records, start=1):
            lines.write(msgspec.json.encode(record) + b"\n")
            if not count % _SOME:
                progress(count)
    progress(count)
    return count


def _member(part: str, version: int = VERSION) -> str:
    """The name of the part's member in a file of the version."""
    return "runs.jsonl" if part == "jobs" and version < _JOBS_SINCE else f"{part}.jsonl"


def _stem(member: str) -> str:
    return member.removesuffix(".jsonl")


# ----- reading


def _header(archive: zipfile.ZipFile) -> Header:
    """Return the header. Its counts have the present names of the parts."""
    try:
        with archive.open(_HEADER) as member:
            header = msgspec.json.decode(member.read(_BUFFER), type=Header)
    except (KeyError, msgspec.MsgspecError) as error:
        raise BackupError(f"{archive.filename} is not a backup: {error}") from error
    if header.format != FORMAT or header.version < 1 or any(count < 0 for count in header.counts.values()):
        raise BackupError(f"{archive.filename} is not a backup of realestate")
    if header.version > VERSION:
        raise BackupError(f"{archive.filename} was made by {header.made_by}: a newer version of realestate is needed")
    members = {part: _member(part, header.version) for part in _parts(header.version)}
    counts = {part: header.counts[_stem(name)] for part, name in members.items() if _stem(name) in header.counts}
    missing = set(members.values()) - set(archive.namelist()) or members.keys() - counts.keys()
    if missing:
        raise BackupError(f"{archive.filename} is not complete: it has no {', '.join(sorted(missing))}")
    return replace(header, counts=counts)


def _parts(version: int) -> dict[str, type]:
    """The parts that a file of the version has."""
    return {part: kind for part, kind in PARTS.items() if _SINCE.get(part, 1) <= version}


def _checked(archive: zipfile.ZipFile, header: Header, progress: Progress) -> Iterator[tuple[str, Any]]:
    """Yield every record with its part; raise before the last one if any record is not valid."""
    lost = LostJobs()
    for part, kind in _parts(header.version).items():
        name = _member(part, header.version)
        decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(kind)
        count = 0
        for count, line in enumerate(_lines(archive, name), start=1):
            try:
                record = decoder.decode(line if header.version >= _JOBS_SINCE else _with_job(part, line))
                demand_storable(record)
                if isinstance(record, StoredListing):
                    _demand_valid(record)
                elif isinstance(record, StoredOther):
                    _demand_valid_other(record)
            except (msgspec.MsgspecError, TypeError) as error:
                raise BackupError(f"{name}, line {count}: {error}") from error
            lost.look_at(record)
            yield part, record
            if not count % _SOME:
                progress(part, count)
        if count != header.counts[part]:
            raise BackupError(f"{name} has {count} records, and should have {header.counts[part]}")
        progress(part, count)
        if part == "departures" and header.version < _JOBS_BY_PORTAL_SINCE:
            yield from (("jobs", job) for job in lost.jobs())


class LostJobs:
    """Finds evidence whose job has no record, because another portal had a job of the same name. Only files from before
    version 4 have such evidence. `realestate jobs apply` can apply it, because the job gets a record."""

    def __init__(self) -> None:
        self._known: dict[str, Job] = {}
        self._has_record: set[tuple[str, str]] = set()
        self._times: dict[tuple[str, str], tuple[datetime, datetime]] = {}

    def look_at(self, record: Any) -> None:
        if isinstance(record, StoredJob):
            self._known[record.job.job] = record.job
            self._has_record.add((record.job.portal, record.job.job))
        elif isinstance(record, Departure):
            first, last = self._times.get((record.portal, record.job), (record.at, record.at))
            self._times[record.portal, record.job] = min(first, record.at), max(last, record.at)

    def jobs(self) -> Iterator[StoredJob]:
        for (portal, name), (first, last) in self._times.items():
            if (portal, name) not in self._has_record:
                other = self._known.get(name)
                job = Job(
                    job=name,
                    portal=portal,
                    mode=other.mode if other else "full",
                    scope=other.scope if other else "",
                    started_at=first,
                    swept_at=last,
                    complete=False,
                    reason="its record was lost: another portal had a job of the same name",
                )
                yield StoredJob(job, 0)


#: part -> the objects of a record that name a job: the record itself is (), one within it is ("event",).
_NAMES_A_JOB: dict[str, tuple[tuple[str, ...], ...]] = {
    "listings": ((), ("suspect",)),
    "others": ((),),
    "events": (("event",),),
    "prices": ((),),
    "jobs": (("run",), ()),
    "departures": ((),),
    "parts": ((),),
    "watermarks": ((),),
}
_OLD_JOB_FIELDS = {"run": "job", "last_run": "last_job"}


def _with_job(part: str, line: bytes) -> bytes:
    """Return a record of a file from before version 3 with its job under the present name."""
    record = msgspec.json.decode(line)
    for path in _NAMES_A_JOB.get(part, ()):
        found = record
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        if isinstance(found, dict):
            for old, new in _OLD_JOB_FIELDS.items():
                if old in found:
                    found[new] = found.pop(old)
    return msgspec.json.encode(record)


def _lines(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    with archive.open(name) as member, io.BufferedReader(member, _BUFFER) as lines:  # type: ignore[type-var]
        while line := lines.readline(_LONGEST_LINE):
            yield line


def _demand_valid(stored: StoredListing) -> None:
    """Check the listing by the schema. A listing that a person released may break rules, but must have valid fields."""
    record = stored.listing
    if not _validator().is_valid(record) and RELEASED not in record.get("quality_flags", ()):
        why = best_match(Draft202012Validator(listing_schema()).iter_errors(record))
        where = f"{why.json_path}: {why.message[:200]}" if why else "not valid by the schema"
        raise BackupError(f"listing {record.get('portal')}/{record.get('ref')}: {where}")
    demand_storable(listing_of(record))


def demand_storable(value: Any) -> None:
    """Raise TypeError if a value could be written, but not be read again: a time that is not between the years 1 and
    9999 in UTC, or an amount of money that is not a number or has too many digits."""
    if isinstance(value, datetime):
        if not is_storable_time(value):
            raise TypeError(f"{value.isoformat()} is not a time of the years 1 to 9999")
    elif isinstance(value, Decimal):
        if not value.is_finite() or abs(value) > DEAREST:
            raise TypeError(f"{value} is not an amount of money")
    elif isinstance(value, list | tuple):
        for each in value:
            demand_storable(each)
    elif is_dataclass(value):
        for each in fields(value):
            demand_storable(getattr(value, each.name))


def _demand_valid_other(stored: StoredOther) -> None:
    validator = _other_validators().get(stored.kind)
    if validator is None or not validator.is_valid(stored.record):
        raise BackupError(f"{stored.portal}/{stored.ref} is not a valid {stored.kind}")


@cache
def _validator() -> Any:
    return jsonschema_rs.Draft202012Validator(listing_schema())


@cache
def _other_validators() -> dict[str, Any]:
    return {kind: jsonschema_rs.Draft202012Validator(schema) for kind, schema in other_schemas().items()}
