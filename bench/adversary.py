"""Crawls against an adversary: ours beside Scrapy and scrapy-redis, with the same proxies and the same world.

Each profile of `realestate simulate --adversary` has a contest of its own, all at the same time: what takes the time is
the rate the adversary allows, not the machine. Each crawler has an adversary of its own, of the same seed, and a
simulated emlak whose listings are all there all the time. Ours is two workers as `realestate crawl` starts them, with
the shipped settings; its overrides are printed. Peers take a random proxy and a random agent for each request and have
twice our time (`peers/rotating.py`). The simulator's truth says what is right: of ours every field that is
stored, of a peer the fields that stand there as text (`rig/verdict.py`).
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from typing import NamedTuple
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table

from bench import Context, Goal, Measure
from bench.rig.contest import OURS, SCRAPY, Contest, Result
from bench.rig.database import database

#: Listings by profile: enough for 2 % to be several requests, few enough for all to end in ten minutes.
SIZES: Mapping[str, int] = {"gentle": 1000, "normal": 600, "strict": 300, "hostile": 150}
LEAST = 30
#: The share of all listings, except where pages get a new layout and some are never complete.
RIGHT = 100.0
RIGHT_IF_HOSTILE = 99.0
#: Requests per page, if nothing happens to a request.
REQUESTS = 1.05
REFUSED_PERCENT = 2.0


class Quantity(NamedTuple):
    """One measure of each crawler, and the goal for ours."""

    name: str
    unit: str
    of: Callable[[Result], float]
    goal: Callable[[Result], Goal] = lambda _: Goal()
    is_ours_alone: bool = False
    """Whether only ours has this measure."""


QUANTITIES = (
    Quantity("listings right", "%", lambda each: 100 * each.verdict.right_share, lambda each: _right(each.profile)),
    Quantity("listings wrong", "", lambda each: each.verdict.wrong, lambda _: Goal(maximum=0)),
    Quantity("neither right nor a dead letter", "", lambda each: each.verdict.lost, lambda _: Goal(maximum=0), True),
    Quantity("live listings marked gone", "", lambda each: each.verdict.gone, lambda _: Goal(maximum=0), True),
    Quantity("requests a page", "", lambda each: each.requests_a_page, lambda each: _requests(each)),
    Quantity("refused", "%", lambda each: 100 * each.toll.refused_share, lambda _: Goal(maximum=REFUSED_PERCENT)),
    Quantity("proxies burnt", "bans", lambda each: each.toll.bans),
    Quantity("time", "s", lambda each: each.seconds),
)


def measures(context: Context) -> Iterator[Measure]:
    found: list[Result] = []
    for results in contests(context, {profile: context.sized(size, LEAST) for profile, size in SIZES.items()}):
        found += results
        yield from measures_of(results)
    order = list(SIZES)
    Console(stderr=True).print(table(sorted(found, key=lambda each: order.index(each.profile))))


def contests(context: Context, sizes: Mapping[str, int]) -> Iterator[list[Result]]:
    """Yield the results of each profile as soon as it is over."""
    with ExitStack() as stack:
        waiting = []
        for number, (profile, size) in enumerate(sizes.items()):
            stored = stack.enter_context(database(context, f"bench_{profile}"))
            redis = (_redis(context, 2 * number + 1), _redis(context, 2 * number + 2))
            waiting.append(Contest(profile, size, context.folder, stored, redis))
        threads = stack.enter_context(ThreadPoolExecutor(len(waiting)))
        for done in as_completed([threads.submit(each.run, _tell) for each in waiting]):
            yield done.result()


def measures_of(results: Sequence[Result]) -> Iterator[Measure]:
    """The measures of one profile, each beside Scrapy's."""
    scrapy = next(each for each in results if each.crawler == SCRAPY)
    for each in results:
        for quantity in QUANTITIES:
            is_ours = each.crawler == OURS
            if each is scrapy or (quantity.is_ours_alone and not is_ours):
                continue
            yield Measure(
                name=f"{each.profile}: {each.crawler}: {quantity.name}",
                value=quantity.of(each),
                unit=quantity.unit,
                goal=quantity.goal(each) if is_ours else Goal(),
                peer=None if quantity.is_ours_alone else SCRAPY,
                peer_value=None if quantity.is_ours_alone else quantity.of(scrapy),
            )


def table(results: Sequence[Result]) -> Table:
    """A row for each crawler."""
    found = Table("profile", "crawler")
    for name in ("right", "wrong", "requests", "refused", "seconds", "bans", "given up", "gone"):
        found.add_column(name, justify="right")
    for each in results:
        judged = each.verdict
        toll = each.toll
        found.add_row(
            each.profile,
            each.crawler,
            f"{judged.right} of {judged.expected}",
            str(judged.wrong),
            str(toll.requests),
            f"{toll.refused} ({toll.refused_share:.1%})",
            f"{each.seconds:.0f}" + ("" if each.finished else ", stopped"),
            str(toll.bans),
            *((str(judged.accounted), str(judged.gone)) if each.crawler == OURS else ("", "")),
            end_section=each.crawler == OURS,
        )
    return found


def _right(profile: str) -> Goal:
    return Goal(minimum=RIGHT_IF_HOSTILE if profile == "hostile" else RIGHT)


def _requests(each: Result) -> Goal:
    return Goal(maximum=round(REQUESTS / (1 - each.toll.fault_share), 3))


def _redis(context: Context, number: int) -> str:
    return urlsplit(context.services.redis_url)._replace(path=f"/{number}").geturl()


def _tell(overrides: str) -> None:
    print(re.sub(r"(?<=://)[^@/ ]*@", "", overrides), file=sys.stderr, flush=True)
