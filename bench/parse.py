"""Parse the page of a listing, beside the same page parsed with parsel.

Ours is a portal's `parse_listing` as the worker calls it: every field, and the rest for `extra`. The peer reads 17
or 18 fields and leaves them as they stand in the page. Both begin with a response just come in, on the same thread, and
only the CPU's time counts.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scrapy import Request
from scrapy.http import HtmlResponse

from bench import Context, Goal, Measure, interleaved
from bench.peers.reading import reading_of
from realestate.jobs.work import project_settings, without_crawl
from realestate.simulator.sites import SITES
from realestate.simulator.world import World

SEED = 7
#: A page of immoweb is one object in a script: parsel has little to do, most of the work is ours.
GOALS = {"immoweb": Goal(of="ratio", maximum=1), "emlak": Goal(of="ratio", maximum=0.5)}

Page = tuple[str, bytes]


def measures(context: Context) -> Iterator[Measure]:
    world = World(SEED, context.sized(500, least=10))
    for portal in GOALS:
        yield reading_pages(context, portal, pages(world, portal))


def pages(world: World, portal: str) -> list[Page]:
    """Addresses and bodies of all listings."""
    spider: Any = without_crawl(portal, project_settings()).spider
    site = SITES[portal](world, spider.site)
    return [(spider.site + site.path(advert), site.render(advert)) for advert in world.listed(portal)]


def reading_pages(context: Context, portal: str, found: Sequence[Page]) -> Measure:
    spider: Any = without_crawl(portal, project_settings()).spider
    ours = _timed(found, lambda response: list(spider.parse_listing(response)))
    peer = _timed(found, reading_of(portal).listing)
    values, peers = interleaved(ours, peer, context.rounds)
    name = f"reading a page of {portal}"
    peer_name = "parsel, a third of the fields"
    return Measure.of(name, "µs", GOALS[portal], values, peer_name, peers)


def _timed(found: Sequence[Page], read: Callable[[HtmlResponse], Any]) -> Callable[[], float]:
    """Microseconds of CPU time per page."""

    def seconds() -> float:
        began = time.thread_time()
        for url, body in found:
            assert read(HtmlResponse(url, body=body, encoding="utf-8", request=Request(url)))
        return (time.thread_time() - began) / len(found) * 1e6

    return seconds
