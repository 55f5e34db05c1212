"""The suite runs, and the peers read the same values as our parser."""

from collections.abc import Callable

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse
from selectolax.lexbor import LexborHTMLParser

from bench import Context, parse
from bench.peers import stock
from bench.peers.reading import reading_of
from realestate.simulator.sites import SITES
from realestate.simulator.world import World


def test_both_portals_are_measured_beside_parsel(small: Callable[[float], Context]) -> None:
    found = list(parse.measures(small(0.02)))
    assert [each.name for each in found] == ["reading a page of immoweb", "reading a page of emlak"]
    assert all(each.value > 0 and each.ratio for each in found)


@pytest.mark.parametrize("portal", parse.GOALS)
def test_peers_read_thirteen_fields_or_more_of_every_page(portal: str) -> None:
    world, reading = World(7, 60), reading_of(portal)
    site = SITES[portal](world, "https://example.test")
    refs = {site.ref(advert) for advert in world.listed(portal)}
    found = []
    for url, body in parse.pages(world, portal):
        record = reading.listing(HtmlResponse(url, body=body, encoding="utf-8", request=Request(url)))
        fast = reading.listing_fast(LexborHTMLParser(body), url)
        assert record.keys() == fast.keys()
        # parsel says None where selectolax has an empty text
        assert {name for name in record if (record[name] or "") != (fast[name] or "")} == set()
        record.pop("units", None)
        assert list(record) == stock.FIELDS[portal].split()
        assert sum(value not in (None, "", []) for value in record.values()) >= 8
        found.append(record["ref"])
    assert sorted(found) == sorted(refs)
    assert len(stock.FIELDS[portal].split()) >= 13
