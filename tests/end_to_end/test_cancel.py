"""A job is cancelled while workers crawl it; submitters, workers and the cancelling command are killed at any point."""

import json
import signal
import subprocess
import time
from contextlib import closing
from pathlib import Path

from redis import Redis

from realestate.jobs.manage import JobDesk
from realestate.jobs.order import JobOrder
from realestate.queue import keys
from realestate.queue.connection import connect_blocking
from realestate.storage import open_store
from tests.end_to_end.conftest import PATIENCE, PYTHON, ROOT, Simulate, crowding, running, until

#: A worker learns from its heartbeat, once a second, that a job is cancelled. Until then it may send.
LAST_SECONDS = 2.0


def realestate(env: dict[str, str], *arguments: str) -> str:
    command = [PYTHON, "-m", "realestate", *arguments]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_of_a_cancelled_job_is_sent_any_more(
    simulate: Simulate, env: dict[str, str], server: Redis, tmp_path: Path
) -> None:
    simulated = simulate(400)
    env = {**env, "SIMULATOR_URL": simulated.url, "RATE_LIMIT": "5"}
    job = json.loads(realestate(env, "submit", "emlak", "--json"))["job"]
    with running([PYTHON, "-m", "realestate", "work", "emlak"], env, tmp_path / "log") as worker:
        until(lambda: server.scard(keys.job("emlak", job)) > 40, "requests in the queue")
        realestate(env, "jobs", "cancel", job, "--reason", "wrong portal")
        time.sleep(LAST_SECONDS * crowding())
        sent = simulated.requests("emlak")
        time.sleep(LAST_SECONDS)
        assert simulated.requests("emlak") == sent
        until(lambda: not server.exists(keys.job("emlak", job)), "the end of what was on its way")
        assert sent < 400

        def state() -> str:
            return str(json.loads(realestate(env, "jobs", "show", job, "--json"))["state"])

        assert state() == "cancelled"
        # The portal goes on: another job is crawled.
        realestate(env, "submit", "emlak", "--limit", "3", "--key", "next")
        until(lambda: simulated.requests("emlak") > sent, "the next job")
        assert worker.stop() == 0


def test_a_worker_that_is_killed_while_it_removes_a_cancelled_job_leaves_the_rest_to_others(
    env: dict[str, str], server: Redis, redis_url: str, store_url: str, tmp_path: Path
) -> None:
    """The command sets the mark and is killed; so is the first worker."""
    from tests.jobs.test_manage import Worker

    env = {**env, "SIMULATOR_URL": ""}
    with closing(open_store(store_url)) as store, connect_blocking(redis_url) as client:
        desk = JobDesk(store, client)
        job = desk.submit(JobOrder(portal="emlak")).job
        filler = Worker(redis_url, desk)
        filler.open(job)
        for _ in range(20):
            filler.push(job, "extract", 1000)
        server.delete(keys.start_urls("emlak"))
        desk.cancel(job)  # without `removed`: as if the command died directly after its mark
        command = [PYTHON, "-m", "realestate", "work", "emlak"]
        with running(command, env, tmp_path / "first.log") as first:
            until(lambda: server.scard(keys.job("emlak", job)) < 20_001, "the first step")
            first.process.send_signal(signal.SIGKILL)
            first.process.wait()
        with running(command, env, tmp_path / "second.log") as second:
            until(lambda: desk.show(job).left == 0, "the rest")
            until(lambda: desk.show(job).ended_at is not None, "the end of the job")
            assert second.stop() == 0
        assert desk.show(job).state == "cancelled"
        assert server.hlen(keys.requests("emlak")) == 0
        assert not list(server.scan_iter(f"{{emlak}}:seen:{job}:*"))
