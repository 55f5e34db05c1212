"""Workers of one machine: real processes that are killed, drained and started again."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen

import pytest

from realestate.jobs.supervise import HEALTHY_SECONDS, LONGEST_BACKOFF_SECONDS, WorkerPool

#: Ends with code 0 on SIGTERM, as a worker does that is drained.
WORKER = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); time.sleep(600)"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Machine:
    """A pool on a passed clock, and every process it started."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        self.started: list[tuple[int, Popen[bytes]]] = []
        self.pool = WorkerPool(["emlak"], {}, folder, clock=self.clock, start=self.start)

    def start(self, number: int) -> "Popen[bytes]":
        process = Popen([sys.executable, "-c", WORKER], start_new_session=True)
        self.started.append((number, process))
        return process

    def kill(self, number: int) -> None:
        (process,) = [each.process for each in self.pool.places if each.number == number]
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    for _, process in made.started:
        process.kill()
        process.wait()


def test_a_dead_worker_is_started_again_later_and_later(machine: Machine) -> None:
    machine.pool.resize(2)
    assert machine.pool.living == 2
    starts = []
    for _ in range(8):
        machine.kill(1)
        machine.pool.look()
        assert machine.pool.living == 1, "not at once"
        began = machine.clock.now
        while machine.pool.living < 2:
            machine.clock.now += 0.5
            machine.pool.look()
        starts.append(machine.clock.now - began)
    assert starts == [1, 2, 4, 8, 16, 32, LONGEST_BACKOFF_SECONDS, LONGEST_BACKOFF_SECONDS]
    machine.clock.now += HEALTHY_SECONDS
    machine.kill(1)
    machine.pool.look()
    machine.clock.now += 1
    machine.pool.look()
    assert machine.pool.living == 2, "a worker that lived for long starts again soon"


def test_workers_that_are_too_many_are_drained(machine: Machine) -> None:
    machine.pool.resize(3)
    machine.pool.resize(1)
    assert machine.pool.living == 1
    leaving = [process for number, process in machine.started if number > 1]
    assert [process.wait(20) for process in leaving] != [-signal.SIGKILL] * 2, "asked, not killed"
    machine.pool.resize(2)
    assert sorted(each.number for each in machine.pool.places) == [1, 2]


def test_all_are_drained_at_the_end(machine: Machine) -> None:
    machine.pool.resize(2)
    time.sleep(1.0)  # until they handle SIGTERM
    machine.pool.stop()
    assert [process.poll() for _, process in machine.started] == [0, 0]
