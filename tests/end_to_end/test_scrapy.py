"""Scrapy's own commands behave as a Scrapy user expects, also without Redis and without a database."""

import subprocess

import pytest
from redis import Redis

from tests.end_to_end.conftest import PATIENCE, PYTHON, ROOT, Simulate

#: Nothing listens on port 1.
NOWHERE = {"REDIS_URL": "redis://127.0.0.1:1/0", "STORE_URL": "postgresql://127.0.0.1:1/none"}


def scrapy(env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [PYTHON, "-m", "scrapy", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE, cwd=ROOT, check=False)


@pytest.mark.parametrize("configured", [NOWHERE, {"REDIS_URL": "", "STORE_URL": ""}], ids=["away", "not configured"])
@pytest.mark.parametrize("spider", [[], ["--spider", "emlak"]], ids=["any spider", "emlak"])
def test_the_shell_needs_neither_redis_nor_a_database(
    env: dict[str, str], simulate: Simulate, spider: list[str], configured: dict[str, str]
) -> None:
    simulated = simulate(40)
    env |= {**configured, "SIMULATOR_URL": simulated.url}
    url = f"{simulated.portals['emlak']}/elanlar/?ann_type=3"
    done = scrapy(env, "shell", "--nolog", *spider, "-c", "response.css('h1.title span::text').get()", url)
    assert done.returncode == 0, done.stderr
    assert "40 elan tapıldı" in done.stdout


def test_the_shell_takes_no_work_from_the_fleet(env: dict[str, str], server: Redis, simulate: Simulate) -> None:
    simulated = simulate(40)
    env["SIMULATOR_URL"] = simulated.url
    site = simulated.portals["emlak"]
    server.zadd("{emlak}:ready", {"somebody's": 0})
    server.lpush("emlak:start_urls", f"{site}/elanlar/")
    done = scrapy(env, "shell", "--nolog", "--spider", "emlak", "-c", "response.status", f"{site}/elanlar/")
    assert done.stdout.strip() == "200"
    assert scrapy(env, "fetch", "--nolog", "--spider", "emlak", f"{site}/robots.txt").returncode == 0
    assert (server.zcard("{emlak}:ready"), server.llen("emlak:start_urls")) == (1, 1)


def test_scrapy_settings_shows_the_project_settings(env: dict[str, str]) -> None:
    done = scrapy(env, "settings", "--get", "SCHEDULER")
    assert done.stdout.strip() == "realestate.queue.scheduler.Scheduler"
