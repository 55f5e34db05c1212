"""All a store keeps in one file, and back: a zip of JSON lines, a member for each of `records.PARTS`.

The file knows no kind of database: one that was made of PostgreSQL restores into any store.
"""

import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import jsonschema_rs
import msgspec
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from realestate import __version__
from realestate.schema import listing_schema, other_schemas
from realestate.storage.errors import StoreError
from realestate.storage.maintenance import RELEASED, MaintenanceStore
from realestate.storage.other_kinds import StoredOther
from realestate.storage.records import PARTS, StoredListing, listing_of

FORMAT = "realestate backup"
#: Raised when an older version of ours could not read the file.
VERSION = 2
#: Parts that a file of an older version does not have.
_SINCE = {"others": 2, "parts": 2}
_HEADER = "header.json"
#: No record is so long; a file that was made to harm might be.
_LONGEST_LINE = 64 * 1024 * 1024
_BUFFER = 1024 * 1024
#: Records between two words of progress.
_SOME = 5000

Progress = Callable[[str, int], object]
"""Is told a part, and how many of its records are done."""


class BackupError(StoreError):
    """The file cannot be written, or is not one to restore from; the text is for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    format: str
    version: int
    made_at: datetime
    made_by: str
    counts: dict[str, int]
    """Records of each part."""


def backup(store: MaintenanceStore, path: Path, now: datetime, progress: Progress = lambda part, count: None) -> Header:
    """The file appears when it is whole. Nobody but its owner may read it."""
    if path.exists():
        raise BackupError(f"{path} is there already")
    half = path.with_name(f".{path.name}.partial")
    try:
        with open(half, "wb", opener=_for_us_alone) as file:
            header = _write(store, file, now, progress)
            file.flush()
            os.fsync(file.fileno())
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)
    return header


def restore(store: MaintenanceStore, path: Path, progress: Progress = lambda part, count: None) -> Header:
    """Into an empty store, wholly or not at all; everything is checked on its way."""
    try:
        with zipfile.ZipFile(path) as archive:
            header = _header(archive)
            store.restore(_checked(archive, header, progress))
            return header
    except StoreError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:  # the last: it has a password
        raise BackupError(f"{path} is no whole backup: {error or type(error).__name__}") from error
    except ValueError as error:
        raise BackupError(f"the database refuses what is in {path}: {error}") from error


# ----- writing


def _write(store: MaintenanceStore, file: IO[bytes], now: datetime, progress: Progress) -> Header:
    counts = dict.fromkeys(PARTS, 0)
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        closing(store.everything()) as everything,  # type: ignore[type-var]
    ):
        for part, told in groupby(everything, itemgetter(0)):
            with archive.open(_member(part), "w", force_zip64=True) as member:
                counts[part] = _write_lines(member, (record for _, record in told), partial(progress, part))
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


def _for_us_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _member(part: str) -> str:
    return f"{part}.jsonl"


# ----- reading


def _header(archive: zipfile.ZipFile) -> Header:
    try:
        with archive.open(_HEADER) as member:
            header = msgspec.json.decode(member.read(_BUFFER), type=Header)
    except (KeyError, msgspec.MsgspecError) as error:
        raise BackupError(f"{archive.filename} is no backup: {error}") from error
    if header.format != FORMAT:
        raise BackupError(f"{archive.filename} is no backup of ours")
    if header.version > VERSION:
        raise BackupError(f"{archive.filename} was made by {header.made_by}: a newer version of realestate is needed")
    wanted = _parts(header.version)
    if missing := {_member(part) for part in wanted} - set(archive.namelist()) or wanted.keys() - header.counts.keys():
        raise BackupError(f"{archive.filename} is not whole: it has no {', '.join(sorted(missing))}")
    return header


def _parts(version: int) -> dict[str, type]:
    """Those that a file of the version has."""
    return {part: kind for part, kind in PARTS.items() if _SINCE.get(part, 1) <= version}


def _checked(archive: zipfile.ZipFile, header: Header, progress: Progress) -> Iterator[tuple[str, Any]]:
    """Every record, if it is what it should be; raises before the last one is taken if one is not."""
    for part, kind in _parts(header.version).items():
        decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(kind)
        count = 0
        for count, line in enumerate(_lines(archive, part), start=1):
            try:
                record = decoder.decode(line)
                if isinstance(record, StoredListing):
                    _demand_valid(record)
                elif isinstance(record, StoredOther):
                    _demand_valid_other(record)
            except (msgspec.MsgspecError, TypeError) as error:
                raise BackupError(f"{_member(part)}, line {count}: {error}") from error
            yield part, record
            if not count % _SOME:
                progress(part, count)
        if count != header.counts[part]:
            raise BackupError(f"{_member(part)} has {count} records, and should have {header.counts[part]}")
        progress(part, count)


def _lines(archive: zipfile.ZipFile, part: str) -> Iterator[bytes]:
    with archive.open(_member(part)) as member, io.BufferedReader(member, _BUFFER) as lines:  # type: ignore[type-var]
        while line := lines.readline(_LONGEST_LINE):
            yield line


def _demand_valid(stored: StoredListing) -> None:
    """By the schema; what a person let pass needs only be a listing at all."""
    record = stored.listing
    if not _validator().is_valid(record) and RELEASED not in record.get("quality_flags", ()):
        why = best_match(Draft202012Validator(listing_schema()).iter_errors(record))
        where = f"{why.json_path}: {why.message[:200]}" if why else "not by our schema"
        raise BackupError(f"listing {record.get('portal')}/{record.get('ref')}: {where}")
    listing_of(record)


def _demand_valid_other(stored: StoredOther) -> None:
    validator = _other_validators().get(stored.kind)
    if validator is None or not validator.is_valid(stored.record):
        raise BackupError(f"{stored.portal}/{stored.ref} is no {stored.kind} by our schema")


@cache
def _validator() -> Any:
    return jsonschema_rs.Draft202012Validator(listing_schema())


@cache
def _other_validators() -> dict[str, Any]:
    return {kind: jsonschema_rs.Draft202012Validator(schema) for kind, schema in other_schemas().items()}
