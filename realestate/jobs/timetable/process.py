"""A timetable process: ticks until it is stopped."""

import logging
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from realestate.jobs.finish import finish_jobs
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
#: After an outage, and after so many ticks, it looks for what others have left behind.
LOOK_AGAIN_TICKS = 30


def run(path: Path, redis_url: str, store_url: str, simulator: str | None, env: Mapping[str, str]) -> None:
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
        runner = Runner(desk, lambda entry: run_task(entry, env))
        logger.info("timetable/running %s: %d entries", path, len(file.entries))
        _tick_on(file, runner, desk)


def _tick_on(file: TimetableFile, runner: Runner, desk: JobDesk) -> None:
    ticks = 0
    while True:
        try:
            if ticks % LOOK_AGAIN_TICKS == 0:
                runner.look_again()
                finish_jobs(desk)
            runner.tick(file.latest(), datetime.now(UTC))
            ticks += 1
        except (*REDIS_ERRORS, StoreError) as error:
            logger.warning("timetable/waiting: %s: %s", type(error).__name__, error)
            ticks = 0
        time.sleep(TICK_SECONDS)


def run_task(entry: Entry, env: Mapping[str, str]) -> str | None:
    """Run the command of a task in a process of its own. Returns its last line if it failed."""
    arguments = ["notifications", "report"] if entry.task == "report" else [str(entry.task)]
    if entry.folder is not None:
        Path(entry.folder).mkdir(parents=True, exist_ok=True)
        arguments.append(str(Path(entry.folder) / f"realestate-{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}.zip"))
    command = [sys.executable, "-m", "realestate", *arguments]
    run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run
    try:
        done = run(command, env=dict(env), capture_output=True, text=True, timeout=TASK_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"it took longer than {TASK_SECONDS:.0f} s"
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return lines[-1] if lines else f"exit code {done.returncode}"
