"""The parent of a worker: stopping ends the worker, whatever it is stuck in."""

import signal
import subprocess
import sys

import pytest

#: A worker that takes no notice of anything, as one that is stuck in C code outside of a page.
DEAF = """
import signal, time
from scrapy.settings import Settings
from realestate.queue import supervisor

def work():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("at work", flush=True)
    time.sleep(600)
    return 0

supervisor.{name} = 0.3
supervisor.supervised(work, Settings({{"PAGE_CPU_SECONDS": 5, "LEASE_SECONDS": 60}}))
"""


@pytest.mark.parametrize(("name", "signals"), [("STOP_SECONDS", 1), ("SECOND_REQUEST_SECONDS", 2)])
def test_a_worker_that_takes_no_notice_is_killed(name: str, signals: int) -> None:
    command = [sys.executable, "-c", DEAF.format(name=name)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "at work\n"
        for _ in range(signals):
            parent.send_signal(signal.SIGTERM)
            with pytest.raises(subprocess.TimeoutExpired):
                parent.wait(0.2)  # two signals at once would be one
        assert parent.wait(60) == -signal.SIGKILL
