"""Listings as the pipelines hand them to the store."""

from itertools import cycle, islice
from typing import Any

from realestate.items import Listing, content_hash
from realestate.simulator.immoweb import Immoweb
from realestate.simulator.world import World
from realestate.storage.history import altered

SEED = 11
#: Different listings: texts, prices and places repeat after this many.
DIFFERENT = 1_000
#: The number before that of the first listing.
FIRST_REF = 30_000_000


class Adverts:
    """Listings of a simulated portal; each number is used once."""

    def __init__(self, different: int = DIFFERENT, first: int = FIRST_REF) -> None:
        world = World(SEED, different)
        site = Immoweb(world, "https://www.immoweb.be")
        self._patterns = cycle([self._cleaned(site.listing(advert)) for advert in world.listed(site.portal)])
        self._next = first

    def new(self, count: int) -> list[Listing]:
        return [self._renumbered(listing) for listing in islice(self._patterns, count)]

    def _renumbered(self, listing: Listing) -> Listing:
        self._next += 1
        ref = str(self._next)
        return altered(listing, ref=ref, url=f"{listing.url.rpartition('/')[0]}/{ref}", photos=list(listing.photos))

    @staticmethod
    def _cleaned(listing: Listing) -> Listing:
        extra: dict[str, Any] = {"views": 120, "media": {"floorPlans": []}}
        return altered(listing, extra=extra, content_hash=content_hash(listing))
