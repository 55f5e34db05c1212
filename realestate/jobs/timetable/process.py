"""A timetable process: ticks until it is stopped."""

import logging
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from realestate.embedded import children
from realestate.jobs.finish import Report, finish_jobs, reporter
from realestate.jobs.manage import JobDesk
from realestate.jobs.timetable.entries import Entry
from realestate.jobs.timetable.file import TimetableFile
from realestate.jobs.timetable.runner import TASK_SECONDS, Runner
from realestate.queue import keys
from realestate.queue.connection import connect_blocking
from realestate.queue.redis_client import REDIS_ERRORS
from realestate.storage import StoreError, open_store

logger = logging.getLogger(__name__)

#: How often a process looks.
TICK_SECONDS = 1.0
#: After an outage, and after this many ticks, it looks for what others have left behind.
LOOK_AGAIN_TICKS = 30
#: How long the commands of tasks have to end when the process is stopped.
STOP_SECONDS = 10.0


def run(
    path: Path,
    redis_url: str,
    store_url: str,
    simulator: str | None,
    env: Mapping[str, str],
    notify_urls: Sequence[str] = (),
) -> None:
    """Run the timetable until SIGTERM. Raises BadTimetable if the file is broken from the beginning."""
    with closing(open_store(store_url)) as store, connect_blocking(redis_url) as server:
        desk = JobDesk(store, server, simulator)

        def broken(error: str) -> None:
            if error:
                server.set(keys.TIMETABLE_ERROR, error)
            else:
                server.delete(keys.TIMETABLE_ERROR)

        file = TimetableFile(path, simulator, broken)
        broken("")
        tasks = Tasks(env)
        logger.info("timetable/running %s: %d entries", path, len(file.entries))
        try:
            _tick_on(file, Runner(desk, tasks.run), desk, reporter(store, notify_urls))
        except KeyboardInterrupt:
            logger.info("timetable/stopped")
        finally:
            tasks.stop()


def _tick_on(file: TimetableFile, runner: Runner, desk: JobDesk, report: Report) -> None:
    ticks = 0
    while True:
        try:
            if ticks % LOOK_AGAIN_TICKS == 0:
                runner.look_again()
                file.repeat_error()
                finish_jobs(desk, report)
            runner.tick(file.latest(), datetime.now(UTC))
            ticks += 1
        except (*REDIS_ERRORS, StoreError) as error:
            logger.warning("timetable/waiting: %s: %s", type(error).__name__, error)
            ticks = 0
        time.sleep(TICK_SECONDS)


class Tasks:
    """Runs the commands of tasks, each in a process of its own and in the thread that calls."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = dict(env)
        self._running: list[subprocess.Popen[bytes]] = []

    def run(self, entry: Entry) -> str | None:
        """Run the command of a task. Returns its last line if it failed."""
        arguments = ["notifications", "report"] if entry.task == "report" else [str(entry.task)]
        if entry.folder is not None:
            Path(entry.folder).mkdir(parents=True, exist_ok=True)
            arguments.append(str(Path(entry.folder) / f"realestate-{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}.zip"))
        command = children.launched([sys.executable, "-m", "realestate", *arguments])
        process = subprocess.Popen(command, env=self._env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self._running.append(process)
        try:
            errors = process.communicate(timeout=TASK_SECONDS)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return f"it took longer than {TASK_SECONDS:.0f} s"
        finally:
            self._running.remove(process)
        if process.returncode == 0:
            return None
        lines = [line for line in errors.decode(errors="replace").splitlines() if line.strip()]
        return lines[-1] if lines else f"exit code {process.returncode}"

    def stop(self) -> None:
        """End the commands that run. Another process does their tasks when the claim of this one is over."""
        children.stop(list(self._running), STOP_SECONDS)
