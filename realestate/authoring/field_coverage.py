"""Compares which fields the recorded pages of a portal have with which fields a few live pages have."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from scrapy.http import Response

from realestate.authoring import AuthoringError, parser_output, project_files
from realestate.authoring.live_pages import LivePages, with_live_pages
from realestate.crawling import Found, Results
from realestate.items import FIELDS, OURS, Listing, as_record

Record = dict[str, Any]

#: Fields that every listing has.
_IDENTITY = {"portal", "ref", "url", "country"}


@dataclass(frozen=True)
class Share:
    """The percentage of listings that have a field."""

    name: str
    recorded: float | None
    live: float | None

    @property
    def is_lost(self) -> bool:
        """Most recorded pages have the field and no live page has it: the portal may have changed."""
        return (self.recorded or 0) >= 50 and self.live == 0


@dataclass
class Coverage:
    """The shares of all fields that any page has."""

    portal: str
    shares: list[Share] = field(default_factory=list)
    live: int = 0
    recorded: int = 0
    unread: list[str] = field(default_factory=list)
    """Live pages that could not be parsed, with the reason."""


def check(portal: str, pages: int) -> Coverage:
    """Fetch the portal's first search and this many of its listings, and compare them with the recorded pages."""
    records, unread = with_live_pages(portal, lambda site: _live_records(site, pages))
    recorded = _recorded(portal)
    return Coverage(portal, shares(recorded, records), len(records), len(recorded), unread)


def shares(recorded: Sequence[Record], live: Sequence[Record]) -> list[Share]:
    """The share of each field that any of the listings has."""
    found = []
    for name in FIELDS:
        share = Share(name, _share(recorded, name), _share(live, name))
        if name not in OURS | _IDENTITY and (share.recorded or share.live):
            found.append(share)
    return found


def _share(records: Sequence[Record], name: str) -> float | None:
    if not records:
        return None
    return 100 * sum(name in each for each in records) / len(records)


def _recorded(portal: str) -> list[Record]:
    records = []
    for path in project_files.pages_folder(portal).glob("listing*.json"):
        expected = json.loads(path.read_text("utf-8"))
        if isinstance(expected, dict) and expected.get("listing"):
            records.append(expected["listing"])
    return records


async def _live_records(site: LivePages, pages: int) -> tuple[list[Record], list[str]]:
    records: list[Record] = []
    unread: list[str] = []
    for each in (await _first_results(site))[:pages]:
        try:
            values = {"listing": as_record(each)} if isinstance(each, Listing) else await _read(site, each)
            if "listing" in values:
                records.append(parser_output.without_defaults(values)["listing"])
        except Exception as error:  # a parser that is half written raises anything
            unread.append(f"{each.url}: {error}")
    return records, unread


async def _read(site: LivePages, found: Found) -> dict[str, Any]:
    page = await site.fetch(found.url)
    return parser_output.read(site.spider, page, "extract", found.carried)


async def _first_results(site: LivePages) -> Sequence[Found | Listing]:
    """The listings of the portal's first search that shows any."""
    waiting = [site.spider.site + path for path in type(site.spider).searches]
    for _ in range(len(waiting) + 2):
        if not waiting:
            break
        results = _results(site, await site.fetch(waiting.pop(0)))
        found = [each for each in results.found if isinstance(each, Found | Listing)]
        if found:
            return found
        waiting[:0] = results.searches[:1]  # the first file of a sitemap
    raise AuthoringError(f"no search of {site.spider.name} shows a listing")


def _results(site: LivePages, page: Response) -> Results:
    try:
        (results,) = site.spider.parsed(page, "discover")
    except Exception as error:  # a parser that is half written raises anything
        raise AuthoringError(f"{page.url}: {type(error).__name__}: {error}") from error
    assert isinstance(results, Results)
    return results
