import asyncio
import subprocess
import sys

import pytest

from realestate.pipelines.worker_thread import WorkerThread


def test_acts_are_done_in_their_order_and_tell_what_came_of_them() -> None:
    done: list[int] = []

    async def ask() -> int:
        aside = WorkerThread("test")
        outcomes = [aside.run(lambda n=n: done.append(n)) for n in range(5)]  # type: ignore[misc]
        failing = aside.run(lambda: 1 // 0)
        last = aside.run(lambda: len(done))
        aside.end()
        await asyncio.gather(*outcomes)
        with pytest.raises(ZeroDivisionError):
            await failing
        return await last

    assert asyncio.run(ask()) == 5
    assert done == [0, 1, 2, 3, 4]


def test_what_is_cancelled_before_its_turn_is_not_done() -> None:
    done: list[str] = []

    async def ask() -> None:
        aside, go_on = WorkerThread("test"), asyncio.Event()
        loop = asyncio.get_running_loop()
        first = aside.run(lambda: asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result())
        second = aside.run(lambda: done.append("second"))
        second.cancel()
        go_on.set()
        await first
        await aside.run(lambda: done.append("third"))
        aside.end()

    asyncio.run(ask())
    assert done == ["third"]


ENDS = """
import asyncio, time
from realestate.pipelines.worker_thread import WorkerThread

async def ask():
    await asyncio.wait({WorkerThread("test").run(lambda: time.sleep(3600))}, timeout=0.1)

asyncio.run(ask())
"""


def test_an_act_that_never_ends_does_not_keep_the_process_alive() -> None:
    assert subprocess.run([sys.executable, "-c", ENDS], timeout=60).returncode == 0
