"""docs/runbook.md: each situation is made, each of its commands is run, and prints what the page says.

A line of output on the page is a pattern: `…` stands for anything. A command may print more than these lines.
"""

import asyncio
import json
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from realestate import settings
from realestate.cli import app, errors
from realestate.items import Gone, Part
from realestate.jobs.manage import JobDesk
from realestate.jobs.order import JobOrder
from realestate.jobs.submit import submit
from realestate.jobs.timetable.runner import OVERLAP
from realestate.monitoring.alerts import Alerts
from realestate.monitoring.channels import Channels
from realestate.monitoring.drift import DRIFT, observed
from realestate.monitoring.rules import Match, rules
from realestate.queue import keys
from realestate.queue.connection import connect_to
from realestate.queue.dead_letters import dead_letter
from realestate.queue.request_queue import QueueSettings, RequestQueue
from realestate.storage import Batch, FullStore, Quarantined
from realestate.storage.occurrences import Occurrence
from tests.examples import a_listing
from tests.monitoring.receiver import receiving

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "runbook.md").read_text("utf-8")
NOBODY = "127.0.0.1:1"
JOB = "5f0c1d2e3a4b"
LETTER = "5f0c1d2e3a4b5c6d"


@dataclass
class Fleet:
    """What a situation is made of."""

    redis: Redis
    redis_url: str
    store: FullStore
    folder: Path
    monkeypatch: pytest.MonkeyPatch

    def on_queue(self, act: Any) -> Any:
        async def run() -> Any:
            connection = connect_to(self.redis_url)
            try:
                return await act(RequestQueue(connection, "bina", QueueSettings()))
            finally:
                await connection.aclose()

        return asyncio.run(run())

    def worker(self, **beat: Any) -> None:
        now = int(self.redis.time()[0])
        values = {"pages": 1200, "stored": 900, "pages_per_second": 2.5, "cpu_share": 0.5, "active_at": now, **beat}
        self.redis.hset(keys.heartbeats("bina"), "host:4711:bina", json.dumps(values))

    def seeds(self) -> None:
        submit(self.redis, "bina", ["https://bina.az/alqi-satqi"])

    def dead(self) -> None:
        text = dead_letter("http", "status 500", url="https://bina.az/items/1", job=JOB)
        self.on_queue(lambda queue: queue.add_dead_letter(bytes.fromhex(LETTER), text))

    def job(self, *, complete: bool | None, reason: str | None = None, name: str = JOB) -> None:
        self.store.begin_job(name, "bina", "full", "all")
        if complete is not None:
            self.store.end_sweep(name, "bina", complete=complete, reason=reason)

    def alert(self, rule: str, **labels: str) -> None:
        found = next(each for each in rules() if each.name == rule)
        Alerts(self.store, Channels([])).update([Match(found, labels, 7.0)], datetime.now(UTC))

    def setting(self, name: str, value: Any) -> None:
        self.monkeypatch.setattr(settings, name, value)


def redis_unreachable(fleet: Fleet) -> None:
    fleet.setting("REDIS_URL", f"redis://{NOBODY}/0")


def database_unreachable(fleet: Fleet) -> None:
    fleet.setting("STORE_URL", f"postgresql://{NOBODY}/x")


def workers_missing(fleet: Fleet) -> None:
    fleet.seeds()


def queue_too_old(fleet: Fleet) -> None:
    fleet.worker()
    fleet.redis.zadd(keys.ready("bina"), {"r": 3})
    fleet.redis.set(keys.arrivals("bina"), 5)


def no_new_listings(fleet: Fleet) -> None:
    fleet.worker()
    fleet.store.write(Batch([(a_listing(portal="bina", ref="1"), JOB)]))


def search_empty(fleet: Fleet) -> None:
    fleet.job(complete=None)
    for search, total in (("https://bina.az/kiraye", 0), ("https://bina.az/alqi-satqi", 1200)):
        fleet.store.keep_part(JOB, Part(portal="bina", search=search, parent=None, total=total))


def field_vanished(fleet: Fleet) -> None:
    listings = [a_listing(portal="bina")] * 300 + [a_listing(portal="bina", area_m2=None)] * 20
    fleet.store.change_state(DRIFT + "bina", lambda _: observed(None, listings, "2026-11-18T12:00:00+00:00", 0))
    fleet.alert("field_vanished", portal="bina", field="area_m2")


def pages_refused(fleet: Fleet) -> None:
    fleet.dead()


def ban_pages(fleet: Fleet) -> None:
    fleet.worker()


def portal_stopped(fleet: Fleet) -> None:
    fleet.on_queue(lambda queue: queue.pause("a ban page: cloudflare", "host:4711", 1800))


def dead_letters_up(fleet: Fleet) -> None:
    fleet.dead()


def job_incomplete(fleet: Fleet) -> None:
    JobDesk(fleet.store, fleet.redis).submit(JobOrder(portal="bina"), job=JOB)
    fleet.job(complete=False, reason="2 search pages failed")
    fleet.store.order_ended(JOB, "finished", None, {})


def delisting_withheld(fleet: Fleet) -> None:
    listings = [(a_listing(portal="bina", ref=str(number)), "before") for number in range(20)]
    fleet.store.write(Batch(listings))
    gone = [Gone(portal="bina", ref=str(ref), url="https://bina.az/", evidence="404", detail="404") for ref in range(9)]
    fleet.store.begin_job(JOB, "bina", "full", "all")
    fleet.store.write(Batch([(each, JOB) for each in gone]))
    fleet.store.end_sweep(JOB, "bina", complete=True)
    fleet.store.conclude(JOB, "bina")


def proxies_failing(fleet: Fleet) -> None:
    fleet.worker()
    for name, condition in (("p1", "healthy"), ("p2", "banned"), ("p3", "banned")):
        fleet.redis.hset(keys.proxies("bina"), name, json.dumps({"condition": condition}))


TIMETABLE = '[[entry]]\nname = "bina-full"\ncron = "30 1 * * *"\nzone = "Asia/Baku"\nsubmit = { portal = "bina" }\n'


def occurrence_skipped(fleet: Fleet) -> None:
    due = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
    reason = OVERLAP.format(job=JOB)
    fleet.store.add_occurrences([Occurrence(entry="bina-full", due_at=due, decision="skipped", reason=reason)])


def occurrence_failed(fleet: Fleet) -> None:
    due = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
    fleet.store.add_occurrences([Occurrence(entry="bina-full", due_at=due, decision="start")])
    fleet.store.occurrence_done("bina-full", due, error="realestate: the disk is full")


def timetable_broken(fleet: Fleet) -> None:
    fleet.redis.set(keys.TIMETABLE_ERROR, "timetable.toml, entry 'bina-full': cron '61 * * * *': Bad minute")


def messages_not_delivered(fleet: Fleet) -> None:
    for topic in ("alert:disk_full", "report:day"):
        fleet.store.enqueue(topic=topic, dedupe_key=topic, target="https://example.org/h", title="critical", body="b")
    for leased in fleet.store.lease_notifications(2):
        fleet.store.notification_failed(leased, "HTTP 404")


def disk_full(fleet: Fleet) -> None:
    fleet.store.write(Batch([(a_listing(portal="bina"), JOB)]))


def memory_low(fleet: Fleet) -> None:
    fleet.worker()
    fleet.seeds()


def load_high(fleet: Fleet) -> None:
    fleet.worker()


def unwanted_job(fleet: Fleet) -> None:
    JobDesk(fleet.store, fleet.redis).submit(JobOrder(portal="bina"), job=JOB)


def no_daily_report(fleet: Fleet) -> None:
    """The receiver is the fixture's."""


def known_alert(fleet: Fleet) -> None:
    fleet.alert("queue_too_old", portal="bina")


def stop_a_site(fleet: Fleet) -> None:
    fleet.worker()


def quarantine_grows(fleet: Fleet) -> None:
    fleet.store.write(Batch(quarantined=[Quarantined.of(a_listing(portal="bina", ref="7"), "price: -1 is too small")]))


def server_lost(fleet: Fleet) -> None:
    fleet.store.write(Batch([(a_listing(portal="bina"), JOB)]))


SITUATIONS: dict[str, Callable[[Fleet], None]] = {
    made.__name__: made
    for made in (
        redis_unreachable,
        database_unreachable,
        workers_missing,
        queue_too_old,
        no_new_listings,
        search_empty,
        field_vanished,
        pages_refused,
        ban_pages,
        portal_stopped,
        dead_letters_up,
        job_incomplete,
        delisting_withheld,
        proxies_failing,
        occurrence_skipped,
        occurrence_failed,
        timetable_broken,
        messages_not_delivered,
        disk_full,
        memory_low,
        load_high,
        unwanted_job,
        no_daily_report,
        known_alert,
        stop_a_site,
        quarantine_grows,
        server_lost,
    )
}


@dataclass(frozen=True)
class Step:
    """A command of the page, and the lines that it is said to print."""

    command: str
    lines: tuple[str, ...]


def sections() -> dict[str, str]:
    _, *parts = re.split(r"^### (.+)\n", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def steps(text: str) -> list[Step]:
    found: list[Step] = []
    for line in re.findall(r"^    (.+)$", text, re.MULTILINE):
        if line.startswith("$ "):
            found.append(Step(line.removeprefix("$ "), ()))
        else:
            found[-1] = Step(found[-1].command, (*found[-1].lines, line))
    return found


def pattern(line: str) -> re.Pattern[str]:
    """The line with anything for `…`, and any number of blanks for some."""
    parts = [r"\s+".join(map(re.escape, part.split())) for part in line.split("…")]
    return re.compile(r"\s*" + r".*".join(parts))


@pytest.fixture
def fleet(
    redis_url: str, server: Redis, store: FullStore, store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Fleet]:
    made = Fleet(server, redis_url, store, tmp_path, monkeypatch)
    (tmp_path / "timetable.toml").write_text(TIMETABLE)
    monkeypatch.chdir(tmp_path)
    with receiving() as receiver:
        for name, value in {
            "REDIS_URL": redis_url,
            "STORE_URL": store_url,
            "REALESTATE_HOME": tmp_path / "home",
            "SNAPSHOTS_URL": str(tmp_path / "raw"),
            "TIMETABLE": tmp_path / "timetable.toml",
            "NOTIFY_URLS": [receiver.url],
        }.items():
            made.setting(name, value)
        handler = signal.getsignal(signal.SIGTERM)
        yield made
        signal.signal(signal.SIGTERM, handler)


def test_every_rule_and_every_situation_has_a_section_with_a_symptom_and_a_command() -> None:
    written = sections()
    assert set(written) == set(SITUATIONS)
    assert {rule.name for rule in rules()} <= set(written)
    assert len(written) >= 20
    for name, text in written.items():
        assert text.lstrip().startswith("**Symptom**"), name
        assert steps(text), name
        assert all(step.lines for step in steps(text)), f"{name}: every command says what you should see"


@pytest.mark.parametrize("name", SITUATIONS)
def test_its_commands_print_what_the_page_says(name: str, fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    SITUATIONS[name](fleet)
    for step in steps(sections()[name]):
        program, *arguments = shlex.split(step.command)
        assert program == "realestate"
        fleet.monkeypatch.setattr(sys, "argv", ["realestate", *arguments])
        capsys.readouterr()
        errors.run(app)
        out, err = capsys.readouterr()
        printed = (out + err).splitlines()
        for line in step.lines:
            assert any(pattern(line).match(each) for each in printed), f"$ {step.command}\n{out}{err}\nno line: {line}"
