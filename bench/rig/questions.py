"""What readers ask of a large store: pages of results, numbers, facets, the map. In the store, and over HTTP.

Each question is asked many times, each time with other conditions. A measure is the 95th percentile of the slowest
order, size of hexagon or filter: it holds for all of them.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from statistics import quantiles
from typing import Any

import httpx

from bench import DoesNotCount, Goal, Measure
from bench.rig.database import Database
from bench.rig.million import EAST, PORTALS
from realestate.storage.query import EVERYTHING, SORTS, Box, ListingQuery, parse_filter
from realestate.storage.query.listing_query import Place
from realestate.storage.query.results import RESOLUTIONS

Act = Callable[[], object]
ORDERS = [minus + sort for sort in SORTS for minus in ("", "-")]
PAGE_ROWS = 50
#: The filters of the lists: those that have a thousand pages.
LARGE = ("", "portal=immoweb", "country=AZ operation=sale")
WARM_UP = 3
#: Of the store, and over HTTP.
LIST_MS, LIST_HTTP_MS, MAP_MS, HEXAGON_MS, COUNT_MS, FACETS_MS = 20, 50, 25, 10, 20, 50


def p95(milliseconds: Sequence[float]) -> float:
    return quantiles(milliseconds, n=20, method="inclusive")[-1]


def slowest(ways: Mapping[str, Callable[[Random], Act]], times: int) -> tuple[str, float]:
    """The name of the slowest way, and its 95th percentile in milliseconds."""
    found = {}
    for name, make in ways.items():
        random = Random(name)
        taken = []
        for _ in range(WARM_UP + times):
            act = make(random)
            began = time.perf_counter()
            act()
            taken.append((time.perf_counter() - began) * 1000)
        found[name] = p95(taken[WARM_UP:])
    name = max(found, key=lambda each: found[each])
    return name, found[name]


def measured(name: str, ways: Mapping[str, Callable[[Random], Act]], times: int, limit: float) -> Measure:
    """The slowest way, which is named on stderr."""
    worst, milliseconds = slowest(ways, times)
    print(f"{name}: the slowest of {len(ways)} is {worst}", file=sys.stderr)
    return Measure(name=f"{name}: p95", value=milliseconds, unit="ms", goal=Goal(maximum=limit))


# ----- in the store


class Asked:
    """The questions of one store."""

    def __init__(self, stored: Database, cities: Sequence[str], page: int = 1_000) -> None:
        self.store = stored.store
        self.cities = cities
        self.page = page
        self.cursors = {(order, where): self._cursor(stored, order, where) for order in ORDERS for where in LARGE}

    def _cursor(self, stored: Database, order: str, where: str) -> str | None:
        """The cursor of the thousandth page. None if the order has fewer pages: `cheaper_by` is a tenth of all."""
        name = order.removeprefix("-")
        query = ListingQuery(filter=parse_filter(where), sort=order, page_size=PAGE_ROWS)
        condition = {
            "": "true",
            "portal=immoweb": "portal = 'immoweb'",
            "country=AZ operation=sale": "country = 'AZ' AND operation = 'sale'",
        }[where]
        direction = "DESC" if query.is_descending else "ASC"
        with stored.transaction() as cursor:
            cursor.execute(
                f"SELECT {name}, portal, ref FROM summaries WHERE on_market AND {name} IS NOT NULL AND {condition}"
                f" ORDER BY {name} {direction}, portal {direction}, ref {direction} OFFSET %s LIMIT 1",
                [(self.page - 1) * PAGE_ROWS - 1],
            )
            row = cursor.fetchone()
        return query.cursor_after(Place(*row)) if row else None

    def measures(self, times: int) -> Iterator[Measure]:
        goals: Iterator[tuple[str, Mapping[str, Callable[[Random], Act]], float]] = iter(
            [
                ("page 1 of any order", self._pages(first=True), LIST_MS),
                (f"page {self.page:,} of any order", self._pages(first=False), LIST_MS),
                ("page 1 of a selective search", self._selective(), LIST_MS),
                ("map: box or polygon", self._areas(), MAP_MS),
                ("map: hexagons at any zoom", self._hexagons(), HEXAGON_MS),
                ("number of results", self._counts(), COUNT_MS),
                ("all facets", self._facets(), FACETS_MS),
            ]
        )
        for name, ways, limit in goals:
            yield measured(name, ways, times, limit)

    def _pages(self, *, first: bool) -> Mapping[str, Callable[[Random], Act]]:
        def make(order: str, where: str) -> Callable[[Random], Act]:
            cursor = None if first else self.cursors[order, where]
            query = ListingQuery(filter=parse_filter(where), sort=order, cursor=cursor, page_size=PAGE_ROWS)
            return lambda random: lambda: self.store.search(query)

        return {
            f"{order} {where}".strip(): make(order, where)
            for order, where in self.cursors
            if first or self.cursors[order, where]
        }

    def _selective(self) -> Mapping[str, Callable[[Random], Act]]:
        def make(order: str, write: Callable[[Random], str]) -> Callable[[Random], Act]:
            def asked(random: Random) -> Act:
                query = ListingQuery(filter=parse_filter(write(random)), sort=order, page_size=PAGE_ROWS)
                return lambda: self.store.search(query)

            return asked

        orders = ("-first_seen_at", "price", "-cheaper_by")
        return {f"{name}, {order}": make(order, write) for name, write in self.filters().items() for order in orders}

    def filters(self) -> Mapping[str, Callable[[Random], str]]:
        """Filters that few listings match, or some thousands."""
        return {
            "city and price": lambda random: (
                f'city="{random.choice(self.cities)}" price<{random.randrange(90, 300)}000'
            ),
            "rooms, area and price": lambda random: (
                f"country=PL rooms={random.randrange(2, 6)} area_m2>{random.randrange(60, 120)} price<250000"
            ),
            "words": lambda random: f'text~"{random.choice(self.cities).rstrip(" 0123456789")} apartment"',
            "box and rooms": lambda random: f"bbox={self.box(random, 0.2)} rooms>=2",
            "changed today": lambda random: "changed_since=1d operation=rent",
        }

    def box(self, random: Random, width: float) -> str:
        west = round(random.choice(list(EAST.values())) + 3.0 + random.random() * 2, 3)
        south = round(50.4 + random.random() / 2, 3)
        return f"{west},{south},{round(west + width, 3)},{round(south + width / 2, 3)}"

    def _areas(self) -> Mapping[str, Callable[[Random], Act]]:
        def points(width: float, more: str) -> Callable[[Random], Act]:
            def asked(random: Random) -> Act:
                box = Box(*map(float, self.box(random, width).split(",")))
                return lambda: self.store.points(parse_filter(more), box, 1_000)

            return asked

        def polygon(random: Random) -> Act:
            west, south, east, north = map(float, self.box(random, 0.2).split(","))
            corners = f"{west},{south};{east},{south};{east},{north};{(west + east) / 2},{(south + north) / 2}"
            filter = parse_filter(f"polygon={corners}")
            return lambda: self.store.search(ListingQuery(filter=filter, page_size=PAGE_ROWS))

        return {
            "streets": points(0.02, ""),
            "a city": points(0.2, ""),
            "a city, rooms": points(0.2, "rooms>=2 price<200000"),
            "a country": points(4.0, ""),
            "polygon": polygon,
        }

    def _hexagons(self) -> Mapping[str, Callable[[Random], Act]]:
        """What a map shows: the coarser the cells, the more of the world."""

        def make(resolution: int) -> Callable[[Random], Act]:
            def asked(random: Random) -> Act:
                width = WIDTHS[resolution]
                box = Box(*map(float, self.box(random, width).split(",")))
                return lambda: self.store.hexagons(EVERYTHING, resolution, box)

            return asked

        return {
            f"resolution {resolution}": make(resolution) for resolution in range(RESOLUTIONS[0], RESOLUTIONS[-1] + 1)
        }

    def _counts(self) -> Mapping[str, Callable[[Random], Act]]:
        return self._of_filters(lambda filter: lambda: self.store.count(filter))

    def _facets(self) -> Mapping[str, Callable[[Random], Act]]:
        return self._of_filters(lambda filter: lambda: self.store.facets(filter))

    def _of_filters(self, act: Callable[[Any], Act]) -> Mapping[str, Callable[[Random], Act]]:
        def make(write: Callable[[Random], str]) -> Callable[[Random], Act]:
            return lambda random: act(parse_filter(write(random)))

        large: dict[str, Callable[[Random], str]] = {
            "everything": lambda random: "",
            "a portal": lambda random: f"portal={random.choice(list(PORTALS))}",
            "a price": lambda random: f"price<{random.randrange(200, 900)}000",
            "also what is gone": lambda random: "status=any",
        }
        return {name: make(write) for name, write in (large | dict(self.filters())).items()}

    # ----- over HTTP

    def over_http(self, client: httpx.Client, times: int) -> Iterator[Measure]:
        pages = {"page 1": True, f"page {self.page:,}": False}
        for name, first in pages.items():
            ways = self._requests(client, first=first)
            yield measured(f"over HTTP, {name} of any order", ways, times, LIST_HTTP_MS)

    def _requests(self, client: httpx.Client, *, first: bool) -> Mapping[str, Callable[[Random], Act]]:
        def make(order: str, where: str) -> Callable[[Random], Act]:
            asked: dict[str, str | int] = {"where": where, "sort": order, "limit": PAGE_ROWS}
            if not first and (cursor := self.cursors[order, where]):
                asked["cursor"] = cursor
            return lambda random: lambda: answered(client, "/api/v1/listings", asked)

        return {
            f"{order} {where}".strip(): make(order, where)
            for order, where in self.cursors
            if first or self.cursors[order, where]
        }


#: Resolution of the hexagons -> degrees from the west to the east of a map that shows them.
WIDTHS = {2: 60.0, 3: 30.0, 4: 12.0, 5: 6.0, 6: 2.0, 7: 0.8, 8: 0.3, 9: 0.12}


def answered(client: httpx.Client, path: str, asked: Mapping[str, str | int]) -> None:
    found = client.get(path, params=dict(asked))
    if found.status_code != 200:
        raise DoesNotCount(f"{found.url} returned {found.status_code}: {found.text[:200]}")
