"""`realestate up`, `timetable run` and `watch` as processes: killed with -9, stopped with SIGTERM."""

import os
import re
import signal
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
from redis import Redis

from realestate.jobs.fleet import look
from realestate.queue import keys
from realestate.storage import FullStore
from realestate.storage.occurrences import Occurrence
from tests.end_to_end.conftest import PYTHON, running, until
from tests.monitoring.receiver import receiving

REALESTATE = [PYTHON, "-m", "realestate"]


def processes(server: Any, portal: str) -> set[int]:
    """The worker processes with a heartbeat."""
    return {int(worker.split(":")[1]) for worker in look(server, portal).workers}


def test_up_starts_a_worker_again_that_was_killed_and_drains_all_at_the_end(
    env: dict[str, str], server: Redis, tmp_path: Path
) -> None:
    env = {**env, "REALESTATE_HOME": str(tmp_path / "home"), "SIMULATOR_URL": ""}
    with running([*REALESTATE, "up", "emlak", "--workers", "2"], env, tmp_path / "up.log") as up:
        until(lambda: len(processes(server, "emlak")) == 2, "two workers")
        first = processes(server, "emlak")
        os.kill(min(first), signal.SIGKILL)
        until(lambda: processes(server, "emlak") - first, "another worker")
        until(lambda: len(processes(server, "emlak")) == 2, "the end of the dead one's heartbeats")
        last = processes(server, "emlak")
        assert up.stop() == 0
        assert not [each for each in last if psutil.pid_exists(each)]
        assert processes(server, "emlak") == set(), "they said goodbye"
    assert re.search(r"up/worker_died worker=\d code=-9", up.log.read_text())


def test_of_several_timetable_processes_one_starts_the_job_and_a_broken_file_stops_nothing(
    env: dict[str, str], server: Redis, store: FullStore, tmp_path: Path
) -> None:
    env = {**env, "REALESTATE_HOME": str(tmp_path / "home"), "SIMULATOR_URL": "", "LOG_FORMAT": "json"}
    path = tmp_path / "timetable.toml"
    entry = '[[entry]]\nname = "{}"\ncron = "0 * * * *"\nsubmit = {{ portal = "emlak" }}\n'
    path.write_text(entry.format("first"))
    before = datetime.now(UTC) - timedelta(hours=2)
    for name in ("first", "second"):
        store.add_occurrences([Occurrence(entry=name, due_at=before, decision="begins")])
    with ExitStack() as stack:
        command = [*REALESTATE, "timetable", "run", "--file", str(path)]
        timetables = [stack.enter_context(running(command, env, tmp_path / f"{number}.log")) for number in range(3)]
        until(lambda: all("timetable/running" in each.log.read_text() for each in timetables), "all processes")
        until(lambda: store.orders(), "the job that was due while nothing ran")
        timetables[0].process.kill()
        timetables[0].process.wait()
        path.write_text("[[entry")
        until(lambda: server.get(keys.TIMETABLE_ERROR), "the error")
        path.write_text(entry.format("first") + entry.format("second"))
        until(lambda: len(store.orders()) == 2, "the job of the new entry")
        until(lambda: not server.get(keys.TIMETABLE_ERROR), "the end of the error")
        assert [each.stop() for each in timetables[1:]] == [0, 0]
    assert server.llen(keys.start_urls("emlak")) == sum(len(order.seeds) for order in store.orders())
    log = timetables[1].log.read_text() + timetables[2].log.read_text()
    assert '"message":"timetable/broken' in log


def test_a_watch_that_is_killed_and_started_again_tells_each_alert_once(
    env: dict[str, str], server: Redis, store: FullStore, tmp_path: Path
) -> None:
    error = "timetable.toml: it has an error"
    with receiving() as receiver:
        env = {**env, "REALESTATE_HOME": str(tmp_path / "home"), "NOTIFY_URLS": receiver.url}
        command = [*REALESTATE, "watch", "--every", "0.5"]

        def titles() -> list[str]:
            return [each["title"] for each in receiver.accepted if each["topic"] == "alert:timetable_broken"]

        server.set(keys.TIMETABLE_ERROR, error)
        with running(command, env, tmp_path / "first.log") as first:
            until(lambda: len(titles()) == 1, "the alert")
            first.process.kill()
            first.process.wait()
        with running(command, env, tmp_path / "second.log") as second, running(command, env, tmp_path / "third.log"):
            until(lambda: receiver.accepted, "what it sends first")
            server.delete(keys.TIMETABLE_ERROR)
            until(lambda: len(titles()) >= 2, "its end")
            assert second.stop() == 0
        assert titles() == [titles()[0], f"over: {titles()[0]}"]
