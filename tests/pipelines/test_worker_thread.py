import asyncio
import gc
import subprocess
import sys
import threading
from typing import Any

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


def test_an_error_that_nobody_waits_for_any_more_is_not_logged() -> None:
    logged: list[dict[str, Any]] = []

    async def act() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: logged.append(context))
        thread = WorkerThread("test")
        failing = threading.Event()

        def fail() -> None:
            failing.wait(10)
            raise OSError("the database is away")

        async def ask() -> None:
            await asyncio.wait({thread.run(fail)})

        asked = asyncio.create_task(ask())
        await asyncio.sleep(0.05)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        failing.set()
        await asyncio.sleep(0.1)
        gc.collect()
        thread.end()

    asyncio.run(act())
    gc.collect()
    assert logged == []
