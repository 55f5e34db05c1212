"""The timetable: its file, its times, and each occurrence once, whoever dies."""

import itertools
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from redis import Redis

from realestate.embedded import poll
from realestate.jobs.manage import JobDesk
from realestate.jobs.order import job_id_of
from realestate.jobs.timetable.entries import BadTimetable, Entry, coming, parse_timetable, read_timetable
from realestate.jobs.timetable.file import TimetableFile
from realestate.jobs.timetable.process import Tasks
from realestate.jobs.timetable.runner import MISSED, OVERLAP, Runner, key_of
from realestate.queue import keys
from realestate.queue.connection import connect_blocking
from realestate.storage import FullStore, open_store

EXAMPLE = Path(__file__).parents[2] / "docker" / "timetable.example.toml"
ZONES = ("Asia/Baku", "Europe/Brussels", "America/New_York", "Australia/Sydney")
START = datetime(2026, 11, 18, 12, 0, 30, tzinfo=UTC)


def entries(text: str) -> tuple[Entry, ...]:
    return parse_timetable(text, "timetable.toml", None)


def one(cron: str = "* * * * *", zone: str = "UTC", more: str = "") -> tuple[Entry, ...]:
    return entries(f'[[entry]]\nname = "e"\ncron = "{cron}"\nzone = "{zone}"\nsubmit = {{ portal = "emlak" }}\n{more}')


@pytest.fixture(params=["store_url", "mongodb_url"])
def store(request: pytest.FixtureRequest) -> Iterator[FullStore]:
    with closing(open_store(request.getfixturevalue(request.param))) as opened:
        yield opened


@pytest.fixture
def desk(store: FullStore, server: Redis, redis_url: str) -> Iterator[JobDesk]:
    with connect_blocking(redis_url) as client:
        yield JobDesk(store, client)


def runner(desk: JobDesk) -> Runner:
    return Runner(desk, lambda entry: None)


def decisions(desk: JobDesk) -> list[tuple[str, str | None]]:
    """What was decided about the occurrences, the oldest first."""
    found = reversed(desk.store.occurrences(limit=1000))
    return [(each.decision, each.reason) for each in found if each.decision != "begins"]


# ----- the file


def test_the_shipped_example_has_the_day_parts() -> None:
    baku = ZoneInfo("Asia/Baku")
    midnight = datetime(2026, 11, 18, tzinfo=baku)
    found = [
        due.astimezone(baku)
        for due, entry in coming(read_timetable(EXAMPLE, None), midnight - timedelta(seconds=1), 2000)
        if entry.order is not None and entry.order.mode == "incremental"
    ]
    per_hour = Counter(due.hour for due in found if due.date() == midnight.date())
    assert [per_hour[hour] for hour in (0, 1, 7, 8, 18, 19, 23)] == [12, 2, 2, 30, 30, 12, 12]
    assert {entry.task for entry in read_timetable(EXAMPLE, None)} == {None, "retain", "upkeep", "backup", "report"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[entry", ["timetable.toml"]),
        ('[[entry]]\nname="a"\ncron="* * * * *"\n', ["entry 'a'", "submit or run"]),
        ('[[entry]]\nname="a"\ncron="61 * * * *"\nrun="retain"', ["entry 'a'", "61"]),
        ('[[entry]]\nname="a"\ncron="0 0 30 2 *"\nrun="retain"', ["entry 'a'", "0 0 30 2 *"]),
        ('[[entry]]\nname="a"\ncron="* * * * *"\nzone="Mars/Base"\nrun="retain"', ["Mars/Base", "Asia/Baku"]),
        ('[[entry]]\nname="a"\ncron="* * * * *"\nrun="explode"', ["explode"]),
        ('[[entry]]\nname="a"\ncron="* * * * *"\nrun="backup"', ["folder"]),
        ('[[entry]]\nname="a"\ncron="* * * * *"\njitter="soon"\nrun="retain"', ["soon", "20s"]),
        ('[[entry]]\nname="a"\ncron="* * * * *"\noverlap="maybe"\nrun="retain"', ["maybe"]),
        ('[[entry]]\nname="a"\ncron="* * * * *"\nsubmit={portal="nowhere"}', ["nowhere", "emlak"]),
        ('[[entry]]\nname="a"\ncron="* * * * *"\nsubmit={portal="emlak", key="k"}', ["no key"]),
        ('[[entry]]\nname="a b"\ncron="* * * * *"\nrun="retain"', ["a b"]),
        ('[[entry]]\nname="a"\ncron="* * * * *"\nrun="retain"\n' * 2, ["two entries are named a"]),
        ('[[entry]]\nname="a"\ncron="* * * * *"\nrun="retain"\ncolour="red"', ["colour"]),
    ],
)
def test_an_error_is_one_line_that_names_the_place(text: str, words: list[str]) -> None:
    with pytest.raises(BadTimetable) as raised:
        entries(text)
    assert all(word in str(raised.value) for word in words), raised.value
    assert "\n" not in str(raised.value)


def test_a_file_that_breaks_keeps_the_last_good_one(tmp_path: Path) -> None:
    path = tmp_path / "timetable.toml"
    path.write_text('[[entry]]\nname="a"\ncron="* * * * *"\nrun="retain"\n')
    errors: list[str] = []
    file = TimetableFile(path, None, errors.append)
    good = '[[entry]]\nname="b"\ncron="* * * * *"\nrun="retain"\n'
    for number, (text, name) in enumerate([("[[entry", "a"), ("[[entry]", "a"), (None, "a"), (good, "b")]):
        if text is None:
            path.unlink()
        else:
            path.write_text(text)
            os.utime(path, ns=(0, 10**18 + number))
        assert [each.name for each in file.latest()] == [name]
    assert "timetable.toml" in errors[0]
    assert errors[-1] == "", "and it says when it is good again"
    path.write_text("[[entry")
    with pytest.raises(BadTimetable):
        TimetableFile(path, None, errors.append)


def test_an_error_that_could_not_be_reported_is_reported_later(tmp_path: Path) -> None:
    """Redis is away while the file is changed; later it restarts, and has forgotten the error."""
    path = tmp_path / "timetable.toml"
    path.write_text('[[entry]]\nname="a"\ncron="* * * * *"\nrun="retain"\n')
    reported: list[str] = []
    is_away = True

    def report(error: str) -> None:
        if is_away:
            raise ConnectionError
        reported.append(error)

    file = TimetableFile(path, None, report)
    path.write_text("[[entry")
    for _ in range(2):
        with pytest.raises(ConnectionError):
            file.latest()
    is_away = False
    for _ in range(3):
        file.latest()
    assert len(reported) == 1
    file.repeat_error()
    file.latest()
    assert len(reported) == 2
    file.repeat_error()
    path.write_text('[[entry]]\nname="b"\ncron="* * * * *"\nrun="retain"\n')
    file.latest()
    file.repeat_error()
    file.latest()
    assert reported[2:] == [""]


# ----- times


@pytest.mark.parametrize("zone", ZONES)
def test_a_daily_entry_is_due_once_on_each_day_of_the_year(zone: str) -> None:
    (entry,) = one("30 2 * * *", zone)
    end = datetime(2027, 1, 1, tzinfo=entry.zone)
    days: Counter[Any] = Counter()
    for due in entry.due_after(datetime(2025, 12, 31, 12, tzinfo=UTC)):
        if due >= end:
            break
        days[due.astimezone(entry.zone).date()] += 1
    assert set(days.values()) == {1}
    assert len(days) == 365


def test_an_entry_goes_on_evenly_through_both_clock_changes() -> None:
    (entry,) = one("*/30 * * * *", "Europe/Brussels")
    for begin in (datetime(2026, 3, 28, 23, tzinfo=UTC), datetime(2026, 10, 24, 22, tzinfo=UTC)):
        times = entry.due_after(begin)
        found = [next(times) for _ in range(12)]
        assert {later - sooner for sooner, later in itertools.pairwise(found)} == {timedelta(minutes=30)}


def test_the_jitter_of_an_occurrence_is_always_the_same() -> None:
    (entry,) = one(more='jitter = "30s"')
    times = entry.due_after(START)
    delays = [entry.starts_at(due) - due for due, _ in zip(times, range(50), strict=False)]
    assert all(timedelta() <= each < timedelta(seconds=30) for each in delays)
    assert len(set(delays)) > 40
    again = entry.due_after(START)
    assert [entry.starts_at(due) - due for due, _ in zip(again, range(50), strict=False)] == delays


# ----- policies


def test_an_occurrence_starts_one_job(desk: JobDesk, server: Redis) -> None:
    first, second = runner(desk), runner(desk)
    for seconds in (0, 29, 31, 32, 33):
        for each in (first, second):
            each.tick(one(), START + timedelta(seconds=seconds))
    assert decisions(desk) == [("start", None)]
    (job,) = desk.newest()
    assert job.key == "timetable:e:2026-11-18T12:01:00Z"
    assert server.llen(keys.start_urls("emlak")) == 1


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("none", [("skipped", MISSED)] * 3),
        ("latest", [("skipped", MISSED)] * 2 + [("start", "3540 s late")]),
        ("all", [("start", "10740 s late"), ("start", "7140 s late"), ("start", "3540 s late")]),
    ],
)
def test_missed_occurrences_are_caught_up_as_the_entry_says(policy: str, expected: Any, desk: JobDesk) -> None:
    entry = one("0 * * * *", more=f'catch_up = "{policy}"\noverlap = "queue"')
    runner(desk).tick(entry, datetime(2026, 11, 18, 11, 30, tzinfo=UTC))
    runner(desk).tick(entry, datetime(2026, 11, 18, 14, 59, tzinfo=UTC))
    assert decisions(desk) == expected
    started = [reason for decision, reason in expected if decision == "start"]
    assert len(desk.newest()) == len(started)


@pytest.mark.parametrize("policy", ["skip", "queue", "replace"])
def test_an_overlap_is_treated_as_the_entry_says(policy: str, desk: JobDesk) -> None:
    entry = one(more=f'overlap = "{policy}"')
    process = runner(desk)
    for minute in range(3):
        process.tick(entry, START + timedelta(minutes=minute))
    states = [each.state for each in reversed(desk.newest())]
    if policy == "skip":
        (job,) = desk.newest()
        assert decisions(desk) == [("start", None), ("skipped", OVERLAP.format(job=job.job))]
        assert states == ["queued"]
    else:
        assert decisions(desk) == [("start", None), ("start", None)]
        assert states == (["cancelled", "queued"] if policy == "replace" else ["queued", "queued"])


def test_a_task_is_done_by_one_process(desk: JobDesk) -> None:
    entry = entries('[[entry]]\nname = "t"\ncron = "* * * * *"\nrun = "retain"')
    done: list[str] = []
    processes = [Runner(desk, lambda entry: done.append(entry.name)) for _ in range(3)]
    for seconds in (0, 60, 61, 62):
        for each in processes:
            each.tick(entry, START + timedelta(seconds=seconds))
    poll.until(lambda: bool(done), 10)
    for each in processes:
        each.tick(entry, START + timedelta(seconds=63))
    assert done == ["t"]
    assert [each.done_at is not None for each in desk.store.occurrences("t", 1)] == [True]


def test_a_task_that_fails_says_why(tmp_path: Path) -> None:
    (entry,) = entries('[[entry]]\nname = "t"\ncron = "* * * * *"\nrun = "retain"')
    env = {**os.environ, "STORE_URL": "ftp://nowhere", "REALESTATE_HOME": str(tmp_path)}
    assert "STORE_URL" in str(Tasks(env).run(entry))


def test_jobs_are_started_while_a_task_runs(desk: JobDesk) -> None:
    """A backup may take an hour. The next occurrence of the same task waits for it; a job does not."""
    both = entries(
        '[[entry]]\nname = "t"\ncron = "* * * * *"\nrun = "retain"\n'
        '[[entry]]\nname = "e"\ncron = "* * * * *"\noverlap = "queue"\nsubmit = { portal = "emlak" }'
    )
    goes_on = Event()
    begun: list[str] = []

    def task(entry: Entry) -> None:
        begun.append(entry.name)
        assert goes_on.wait(30)

    process = Runner(desk, task)
    for minute in range(3):
        process.tick(both, START + timedelta(minutes=minute))
    assert begun == ["t"]
    assert len(desk.newest()) == 2
    goes_on.set()

    def all_done() -> bool:
        process.tick(both, START + timedelta(minutes=2))
        return not desk.store.occurrences(limit=10, undone=True)

    assert poll.until(all_done, 30)
    assert begun == ["t", "t"]


def test_a_task_that_is_stopped_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (entry,) = entries('[[entry]]\nname = "t"\ncron = "* * * * *"\nrun = "retain"')
    sleeping = tmp_path / "sleep"
    sleeping.write_text("#!/bin/sh\nexec sleep 100\n")
    sleeping.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(sleeping))
    tasks = Tasks(os.environ)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(tasks.run, entry)
        poll.until(lambda: bool(tasks._running), 10)
        tasks.stop()
        assert "exit code" in str(running.result(10))


# ----- a year


class Killed(BaseException):
    """The process was killed at this point."""


class Mortal:
    """An object whose callers are killed at random: before a call, or after it."""

    def __init__(self, wrapped: Any, chance: random.Random, deaths: float) -> None:
        self._wrapped = wrapped
        self._chance = chance
        self._deaths = deaths

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._wrapped, name)
        if not callable(member):
            return member

        def call(*arguments: Any, **named: Any) -> Any:
            if self._chance.random() < self._deaths:
                raise Killed
            result = member(*arguments, **named)
            if self._chance.random() < self._deaths:
                raise Killed
            return result

        return call


@pytest.mark.parametrize(
    ("begin", "days", "crons"),
    [
        (datetime(2026, 3, 27, tzinfo=UTC), 10, ("30 2 * * *",)),
        pytest.param(datetime(2026, 1, 1, tzinfo=UTC), 365, ("30 2 * * *", "0 */6 * * *"), marks=pytest.mark.slow),
    ],
)
@pytest.mark.timeout(1800)
def test_whoever_is_killed_each_occurrence_starts_exactly_one_job(
    begin: datetime, days: int, crons: tuple[str, ...], store_url: str, server: Redis, redis_url: str
) -> None:
    """Three processes on a passed clock, in four zones, through both clock changes."""
    chance = random.Random(days)
    timetable = entries(
        "\n".join(
            f'[[entry]]\nname = "{zone.partition("/")[2]}-{number}"\ncron = "{cron}"\nzone = "{zone}"\n'
            'overlap = "queue"\ncatch_up = "all"\njitter = "10s"\nsubmit = { portal = "emlak" }\n'
            for zone in ZONES
            for number, cron in enumerate(crons)
        )
    )
    end = begin + timedelta(days=days)
    expected = {
        key_of(entry.name, due)
        for entry in timetable
        for due, _ in zip(entry.due_after(begin), range(2000), strict=False)
        if due < end
    }
    moments = sorted({due for entry in timetable for due, _ in zip(entry.due_after(begin), range(2000), strict=False)})
    kills = 0
    with closing(open_store(store_url)) as store, connect_blocking(redis_url) as client:
        runner(JobDesk(store, client)).tick(timetable, begin)

        def process() -> Runner:
            mortal: Any = Mortal(store, chance, 0.03), Mortal(client, chance, 0.03)
            return runner(JobDesk(*mortal))

        processes = [process() for _ in range(3)]
        for moment in [each for each in moments if each < end]:
            for _ in range(2):
                for number in chance.sample(range(3), 3):
                    try:
                        processes[number].tick(timetable, moment + timedelta(seconds=chance.uniform(10, 50)))
                    except Killed:
                        kills += 1
                        processes[number] = process()
        runner(JobDesk(store, client)).tick(timetable, end)
        found = Counter(each.key for each in store.orders(limit=100_000))
        assert set(found) == expected
        assert set(found.values()) == {1}
        jobs = Counter(msgspec.json.decode(seed)["job"] for seed in server.lrange(keys.start_urls("emlak"), 0, -1))
        assert set(jobs) == {job_id_of(key) for key in expected}, "each was pushed"
        assert set(jobs.values()) == {1}, "and each once: a job of emlak has one seed"
        assert {each.decision for each in store.occurrences(limit=100_000)} == {"begins", "start"}
    assert kills > len(expected) / 3
