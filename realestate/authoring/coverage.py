"""Which fields a portal tells: on the recorded pages, and on a few live ones."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from scrapy.http import Response

from realestate.authoring import Unfit, project, reading
from realestate.authoring.visiting import Visit, visit
from realestate.crawling.results import Found, Results
from realestate.items import FIELDS, OURS, Listing, as_record

Record = dict[str, Any]

#: Every listing has them.
_IDENTITY = {"portal", "ref", "url", "country"}


@dataclass(frozen=True)
class Share:
    """How many listings of a hundred tell a field."""

    name: str
    recorded: float | None
    live: float | None

    @property
    def is_lost(self) -> bool:
        """Most recorded pages tell it and no live one does: the portal may have changed."""
        return (self.recorded or 0) >= 50 and self.live == 0


@dataclass
class Coverage:
    portal: str
    shares: list[Share] = field(default_factory=list)
    live: int = 0
    recorded: int = 0
    unread: list[str] = field(default_factory=list)
    """Live pages that could not be read, and why."""


def check(portal: str, pages: int) -> Coverage:
    """Look at the first search, and at so many listings of it."""
    records, unread = visit(portal, lambda at: _looked_at(at, pages))
    recorded = _recorded(portal)
    return Coverage(portal, shares(recorded, records), len(records), len(recorded), unread)


def shares(recorded: Sequence[Record], live: Sequence[Record]) -> list[Share]:
    """Of each field that any of them tells."""
    names = (name for name in FIELDS if name not in OURS | _IDENTITY)
    told = [Share(name, _share(recorded, name), _share(live, name)) for name in names]
    return [each for each in told if each.recorded or each.live]


def _share(records: Sequence[Record], name: str) -> float | None:
    return 100 * sum(name in each for each in records) / len(records) if records else None


def _recorded(portal: str) -> list[Record]:
    expected = (json.loads(path.read_text("utf-8")) for path in project.pages_folder(portal).glob("listing*.json"))
    return [each["listing"] for each in expected if isinstance(each, dict) and each.get("listing")]


async def _looked_at(at: Visit, pages: int) -> tuple[list[Record], list[str]]:
    records: list[Record] = []
    unread: list[str] = []
    for each in (await _found(at))[:pages]:
        try:
            told = {"listing": as_record(each)} if isinstance(each, Listing) else await _read(at, each)
            records += [reading.short(told)["listing"]] if "listing" in told else []
        except Exception as error:  # of a live page as of a parser half written
            unread.append(f"{each.url if isinstance(each, Listing) else each.sighting.url}: {error}")
    return records, unread


async def _read(at: Visit, found: Found) -> dict[str, Any]:
    period = found.sighting.rent_period
    hints = found.hints | ({"rent_period": period} if period else {})
    return reading.read(at.spider, await at.page(found.sighting.url), "extract", hints)


async def _found(at: Visit) -> Sequence[Found | Listing]:
    """The listings of the portal's first search that shows any."""
    waiting = [at.spider.site + path for path in type(at.spider).searches]
    for _ in range(len(waiting) + 2):
        if not waiting:
            break
        results = _results(at, await at.page(waiting.pop(0)))
        if found := [each for each in results.found if isinstance(each, Found | Listing)]:
            return found
        waiting[:0] = results.searches[:1]  # a sitemap shows its files
    raise Unfit(f"no search of {at.spider.name} shows a listing")


def _results(at: Visit, page: Response) -> Results:
    try:
        (results,) = at.spider.parsed(page, "discover")
    except Exception as error:  # of a live page as of a parser half written
        raise Unfit(f"{page.url}: {type(error).__name__}: {error}") from error
    assert isinstance(results, Results)
    return results
