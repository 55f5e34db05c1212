"""The entries of a timetable file, and the times at which they are due. Pure: the clock is passed in."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

import msgspec
from cronsim import CronSim, CronSimError

from realestate.jobs.order import BadOrder, JobOrder, check_order, read_order

#: What an entry does if the job of its last occurrence has not ended: leave this one out, start it all the same (it
#: waits in the queue), or cancel the other one.
Overlap = Literal["skip", "queue", "replace"]
#: Which occurrences are started that are found late, because no process ran: none, the latest, or all of them.
CatchUp = Literal["none", "latest", "all"]
#: What an entry may run, beside submitting a job.
Task = Literal["retain", "upkeep", "backup", "report"]
_UNITS = {"s": 1, "m": 60, "h": 3600}


class BadTimetable(ValueError):
    """A timetable that cannot be used. The text names the file, the entry and what is wrong."""


class _Entry(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """An entry as the file has it."""

    name: str
    cron: str
    zone: str = "UTC"
    jitter: str = "0s"
    overlap: Overlap = "skip"
    catch_up: CatchUp = "latest"
    submit: dict[str, Any] | None = None
    run: Task | None = None
    folder: str | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    entry: list[_Entry]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is due at certain times: a job, or a task."""

    name: str
    cron: str
    zone: ZoneInfo
    jitter: timedelta
    overlap: Overlap
    catch_up: CatchUp
    order: JobOrder | None = None
    task: Task | None = None
    folder: str | None = None
    """Where a backup is written."""

    def due_after(self, last: datetime) -> Iterator[datetime]:
        """The times after this one, in UTC. When the clock is set forward, a time that does not exist is due at the
        change; when it is set back, a time that exists twice is due once."""
        for local in CronSim(self.cron, last.astimezone(self.zone)):
            due = local.astimezone(UTC)
            if due > last:
                yield due

    def starts_at(self, due: datetime) -> datetime:
        """When the work of an occurrence begins: up to `jitter` later, the same for every process."""
        share = int.from_bytes(blake2b(f"{self.name}@{due.isoformat()}".encode(), digest_size=4).digest()) / 2**32
        return due + self.jitter * share

    @property
    def what(self) -> str:
        """What it does, in a few words."""
        if self.order is None:
            return str(self.task)
        scope = str(self.order.scope)
        return f"{self.order.mode} {self.order.portal}" + (f" ({scope})" if scope else "")


def read_timetable(path: Path, simulator: str | None) -> tuple[Entry, ...]:
    """The entries of a file. Raises BadTimetable: one line."""
    try:
        content = path.read_text("utf-8")
    except FileNotFoundError as error:
        raise BadTimetable(f"there is no file {path}; docs/timetable.md shows one") from error
    except (OSError, UnicodeDecodeError) as error:
        raise BadTimetable(f"{path} cannot be read: {error}") from error
    return parse_timetable(content, str(path), simulator)


def parse_timetable(content: str, name: str, simulator: str | None) -> tuple[Entry, ...]:
    """The entries of a file's text. Raises BadTimetable."""
    try:
        file = msgspec.convert(tomllib.loads(content), _File)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise BadTimetable(f"{name}: {error}") from error
    entries: list[Entry] = []
    for raw in file.entry:
        try:
            entries.append(_checked(raw, simulator))
        except ValueError as error:
            raise BadTimetable(f"{name}, entry {raw.name!r}: {error}") from error
    names = [each.name for each in entries]
    if twice := sorted({each for each in names if names.count(each) > 1}):
        raise BadTimetable(f"{name}: two entries are named {', '.join(twice)}")
    return tuple(entries)


def _checked(raw: _Entry, simulator: str | None) -> Entry:
    if not 1 <= len(raw.name) <= 60 or not all(letter.isalnum() or letter in "-_." for letter in raw.name):
        raise ValueError("a name has 1 to 60 letters, digits, dots and dashes")
    if (raw.submit is None) == (raw.run is None):
        raise ValueError("it needs either submit or run")
    if (raw.folder is not None) != (raw.run == "backup"):
        raise ValueError("a backup needs a folder, and only a backup has one")
    try:
        next(CronSim(raw.cron, datetime(2026, 1, 1, tzinfo=UTC)))
    except CronSimError as error:
        raise ValueError(f"cron {raw.cron!r}: {error}") from error
    except StopIteration:
        raise ValueError(f"cron {raw.cron!r} is never due") from None
    try:
        zone = ZoneInfo(raw.zone)
    except (KeyError, ValueError, OSError) as error:  # ZoneInfoNotFoundError is a KeyError
        raise ValueError(f"no time zone {raw.zone!r}: write a name such as Asia/Baku") from error
    order = None
    if raw.submit is not None:
        order = read_order(raw.submit)
        if order.key is not None:
            raise BadOrder("an entry has no key: each occurrence is a job of its own")
        check_order(order, simulator)
    return Entry(
        name=raw.name,
        cron=raw.cron,
        zone=zone,
        jitter=_duration(raw.jitter),
        overlap=raw.overlap,
        catch_up=raw.catch_up,
        order=order,
        task=raw.run,
        folder=raw.folder,
    )


def _duration(text: str) -> timedelta:
    number = text[:-1]
    unit = text[-1:]
    if not number.isdecimal() or unit not in _UNITS:
        raise ValueError(f"jitter {text!r} is not a duration: write a number and s, m or h, such as 20s")
    return timedelta(seconds=int(number) * _UNITS[unit])


def coming(entries: Sequence[Entry], now: datetime, count: int) -> list[tuple[datetime, Entry]]:
    """The next occurrences of all entries, in order."""
    found: list[tuple[datetime, Entry]] = []
    for entry in entries:
        times = entry.due_after(now)
        found += [(due, entry) for due, _ in zip(times, range(count), strict=False)]
    return sorted(found, key=lambda each: (each[0], each[1].name))[:count]
