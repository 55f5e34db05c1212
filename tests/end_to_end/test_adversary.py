"""A site with limits, bans, ban pages, faults and bad proxies costs requests and time, never a listing or a value."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from redis import Redis

from bench.rig import verdict
from bench.rig.arena import PORTAL, Toll, arena
from bench.rig.verdict import Verdict
from realestate.jobs.submit import submit
from realestate.jobs.work import seed_urls
from realestate.storage import Store
from tests.end_to_end.conftest import PYTHON, dead_letters, finished, running

#: The adversary sets the rate: a hostile one allows two requests per second for four good proxies together.
PATIENCE = 240.0


@pytest.fixture
def past(env: dict[str, str], redis_url: str, server: Redis, store: Store, tmp_path: Path) -> "Past":
    # Not the short delay of other tests: a refused request waits as long as in production.
    env.pop("RETRY_DELAY_SECONDS")
    return Past(env, redis_url, server, store, tmp_path)


class Past:
    """A crawl by two workers through eight proxies, and how it ended."""

    def __init__(self, env: dict[str, str], redis_url: str, server: Redis, store: Store, folder: Path) -> None:
        self.env = env
        self.redis_url = redis_url
        self.server = server
        self.store = store
        self.folder = folder

    def __call__(self, profile: str, listings: int) -> tuple[Verdict, Toll]:
        with ExitStack() as stack:
            found = stack.enter_context(arena(self.folder, profile, listings))
            variables = {"SIMULATOR_URL": found.simulator, "PROXIES": ",".join(found.proxies), "IDENTITY": "rotate"}
            submit(self.server, PORTAL, seed_urls(PORTAL, found.simulator))
            for number in range(2):
                log = self.folder / f"worker-{number}.log"
                command = [PYTHON, "-m", "realestate", "work", PORTAL]
                stack.enter_context(running(command, {**self.env, **variables}, log))
            finished(self.server, PORTAL, patience=PATIENCE)
            dead = [str(letter.get("url")) for letter in dead_letters(self.redis_url, PORTAL)]
            return verdict.of_stored(found.truth, list(self.store.records(PORTAL)), dead), found.toll()


@pytest.mark.parametrize("listings", [16, pytest.param(60, marks=pytest.mark.slow)])
def test_a_crawl_that_keeps_the_limits_gets_everything_from_a_strict_adversary(past: Past, listings: int) -> None:
    judged, toll = past("strict", listings)
    assert judged.faults == ()
    assert (judged.right, judged.wrong, judged.gone) == (listings, 0, 0)
    assert toll.refused <= 3


@pytest.mark.slow
@pytest.mark.parametrize("listings", [20])
def test_listings_that_a_hostile_adversary_withholds_are_dead_letters_and_no_value_is_wrong(
    past: Past, listings: int
) -> None:
    judged, toll = past("hostile", listings)
    assert judged.faults == ()
    assert (judged.lost, judged.wrong, judged.gone) == (0, 0, 0)
    assert judged.right >= listings - 2
    assert toll.requests < 2 * max(listings, 20)
