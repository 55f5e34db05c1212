import asyncio
import subprocess
import sys

import pytest

from realestate.pipelines.worker_thread import WorkerThread


def test_calls_run_in_order_and_give_their_results() -> None:
    done: list[int] = []

    async def ask() -> int:
        thread = WorkerThread("test")
        outcomes = [thread.run(lambda n=n: done.append(n)) for n in range(5)]  # type: ignore[misc]
        failing = thread.run(lambda: 1 // 0)
        last = thread.run(lambda: len(done))
        thread.end()
        await asyncio.gather(*outcomes)
        with pytest.raises(ZeroDivisionError):
            await failing
        return await last

    assert asyncio.run(ask()) == 5
    assert done == [0, 1, 2, 3, 4]


def test_a_call_that_is_cancelled_in_time_does_not_run() -> None:
    done: list[str] = []

    async def ask() -> None:
        thread = WorkerThread("test")
        go_on = asyncio.Event()
        loop = asyncio.get_running_loop()
        first = thread.run(lambda: asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result())
        second = thread.run(lambda: done.append("second"))
        second.cancel()
        go_on.set()
        await first
        await thread.run(lambda: done.append("third"))
        thread.end()

    asyncio.run(ask())
    assert done == ["third"]


ENDS = """
import asyncio, time
from realestate.pipelines.worker_thread import WorkerThread

async def ask():
    await asyncio.wait({WorkerThread("test").run(lambda: time.sleep(3600))}, timeout=0.1)

asyncio.run(ask())
"""


def test_a_call_that_never_ends_does_not_keep_the_process_alive() -> None:
    assert subprocess.run([sys.executable, "-c", ENDS], timeout=60).returncode == 0
