"""Child processes end with us, however we end."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from realestate.embedded import locks, poll
from realestate.embedded.children import spawn, stop

PROJECT = Path(__file__).parents[2]

PATIENT = """
import signal, sys
def end(number, frame):
    print("asked to end", flush=True)
    sys.exit(7)
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
signal.pause()
"""
STUBBORN = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while True:
    signal.pause()
"""
PARENT = """
import pathlib, signal, sys
from realestate.embedded.children import spawn
child = spawn([sys.executable, "-c", sys.argv[1]], env={}, log=pathlib.Path(sys.argv[2]))
print(child.pid, flush=True)
signal.pause()
"""


def child(script: str, log: Path, env: dict[str, str] | None = None) -> "subprocess.Popen[bytes]":
    return spawn([sys.executable, "-c", script], env=env or {}, log=log)


def says(log: Path, word: str) -> bool:
    return poll.until(lambda: log.exists() and word in log.read_text(), 30)


def test_a_child_is_the_command_itself_with_the_environment_given(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = "import os; print(os.getpid(), os.getsid(0), os.environ['GIVEN'], 'HOME' in os.environ)"
    process = child(script, log, {"GIVEN": "value"})
    assert process.wait(30) == 0
    assert log.read_text().split() == [str(process.pid), str(process.pid), "value", "False"]


def test_without_a_log_the_output_goes_where_ours_goes(capfd: pytest.CaptureFixture[str]) -> None:
    assert spawn([sys.executable, "-c", "print('here')"], env={}, log=None).wait(30) == 0
    assert capfd.readouterr().out == "here\n"


def test_a_missing_command_is_an_exit_code_and_a_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert spawn(["/no/such/command"], env={}, log=log).wait(30) == 1
    assert log.read_text() == "/no/such/command: [Errno 2] No such file or directory\n"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals a child when its parent dies")
def test_a_child_gets_sigterm_when_its_parent_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, PATIENT, log], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    )
    assert says(log, "ready")
    parent.send_signal(signal.SIGKILL)
    assert int(parent.communicate(timeout=30)[0]) > 0
    assert says(log, "asked to end")


def test_stop_sends_sigterm_and_kills_only_those_that_ignore_it(tmp_path: Path) -> None:
    logs = [tmp_path / name for name in ("patient", "stubborn", "done")]
    children = [child(script, log) for script, log in zip((PATIENT, STUBBORN, ""), logs, strict=True)]
    assert says(logs[0], "ready")
    assert says(logs[1], "ready")
    assert children[2].wait(30) == 0
    began = time.monotonic()
    assert stop(children, timeout=1) == [7, -signal.SIGKILL, 0]
    assert 1 <= time.monotonic() - began < 10


def test_stop_does_not_wait_when_all_end(tmp_path: Path) -> None:
    logs = [tmp_path / name for name in ("one", "two")]
    children = [child(PATIENT, log) for log in logs]
    assert all(says(log, "ready") for log in logs)
    assert stop(children, timeout=60) == [7, 7]


def test_stop_also_ends_what_a_killed_child_started(tmp_path: Path) -> None:
    log, lock = tmp_path / "log", tmp_path / "lock"
    holder = f"import fcntl; lock = open({str(lock)!r}, 'a'); fcntl.flock(lock, fcntl.LOCK_EX)" + STUBBORN
    nest = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {holder!r}])"
    process = child(f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {nest}", log)
    assert says(log, "ready")
    assert locks.is_taken(lock)
    assert stop([process], timeout=0.1) == [-signal.SIGKILL]
    assert poll.until(lambda: not locks.is_taken(lock), 30)
