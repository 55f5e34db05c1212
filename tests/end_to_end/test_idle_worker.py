"""An idle worker process: one conversation with Redis and at most two database connections, whatever its portals."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from realestate.queue import keys
from realestate.queue.intake import WAKE_UP_SECONDS
from tests.end_to_end.conftest import PYTHON, running, until

PORTAL = '''"""A portal of this test."""

from realestate.crawling.portal_spider import PortalSpider


class Spider{number}(PortalSpider):
    name = "p{number}"
    site = "https://www.p{number}.example"
    allowed_domains = ["www.p{number}.example"]
    searches = ("/search",)
    item_form = "/homes/{{ref}}"
'''
WATCHED_SECONDS = 10.0
#: Each portal looks into its queue once more after its start.
SETTLING_SECONDS = 2.0 * WAKE_UP_SECONDS
LOADING = 240.0


def commands(server: Any, seconds: float) -> Counter[str]:
    """The commands that clients send in this time. What scripts call inside Redis is not counted."""
    found: Counter[str] = Counter()
    with server.monitor() as monitor:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            line = monitor.next_command()
            if line["client_type"] != "lua":
                found[line["command"].partition(" ")[0].upper()] += 1
    return found


@pytest.mark.parametrize("portals", [2, 8, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.timeout(600)
def test_an_idle_worker_sends_few_commands_whatever_its_portals(
    portals: int,
    env: dict[str, str],
    server: Redis,
    sql: Callable[..., list[tuple[Any, ...]]],
    tmp_path: Path,
) -> None:
    folder = tmp_path / "portals"
    folder.mkdir()
    names = [f"p{number}" for number in range(portals)]
    for number in range(portals):
        (folder / f"p{number}.py").write_text(PORTAL.format(number=number))
    command = [PYTHON, "-m", "realestate", "work", *names]
    with running(command, {**env, "PORTALS_FOLDER": str(folder)}, tmp_path / "log") as worker:
        until(lambda: all(server.exists(keys.heartbeats(name)) for name in names), "all portals", LOADING)
        time.sleep(SETTLING_SECONDS)
        found = commands(server, WATCHED_SECONDS)
        assert found.total() <= 5 * WATCHED_SECONDS, found
        assert found.total() >= WATCHED_SECONDS / 2, "it still sends heartbeats"
        ((connections,),) = sql(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        assert connections <= 2
        # It is idle, not asleep: a seed is taken, and refused because it is no URL of the portal.
        server.lpush(keys.start_urls(names[-1]), "https://elsewhere.example/")
        until(lambda: server.zcard(keys.dead_letter_times(names[-1])), "the seed")
        assert worker.stop() == 0
