"""Pages that replace a page, and changes of a page."""

import gzip
import json
import zlib
from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, TextResponse

from realestate.crawling.portal_spider import PortalSpider
from realestate.items import Listing, as_record
from realestate.middlewares.bans import read_ban_rules
from realestate.simulator.adversary.ban_pages import KINDS, LOGIN, LOGIN_PATH, ban_page
from realestate.simulator.adversary.damage import BOMB_BYTES, bomb, emptied, garbled, relaid
from realestate.simulator.site import JSON, Response, Site
from realestate.spiders.emlak import EmlakSpider
from realestate.spiders.immoweb import ImmowebSpider

PAGE = Response("listing", b"<html><body>" + bytes(range(32, 127)) * 200 + b"</body></html>")


@pytest.mark.parametrize("kind", KINDS)
def test_every_ban_page_is_of_a_kind_that_is_recognised(kind: str) -> None:
    met = ban_page(kind, "listing", "http://portal.test")
    if kind == "login":
        assert met.location == f"http://portal.test{LOGIN_PATH}"
        met = Response("other", LOGIN)
    address = f"http://portal.test{LOGIN_PATH if kind == 'login' else '/homes/1'}"
    assert met.status == 200
    assert read_ban_rules().kind_of(200, address, met.body, was_redirected=kind == "login") == kind


def pages(site: Site) -> Iterator[tuple[str, Response]]:
    for advert in site.world.listed(site.portal):
        path = site.path(advert)
        yield site.base + path, site.response(path)


def read(spider: PortalSpider, url: str, body: bytes) -> list[dict[str, Any]]:
    response = HtmlResponse(url, body=body, encoding="utf-8", request=Request(url))
    return [as_record(each) for each in spider.parse_listing(response) if isinstance(each, Listing)]


@pytest.mark.parametrize("portal", ["immoweb", "emlak"])
def test_a_new_layout_says_the_same_in_another_form(portal: str, immoweb: Site, emlak: Site) -> None:
    site, spider = {"immoweb": (immoweb, ImmowebSpider()), "emlak": (emlak, EmlakSpider())}[portal]
    for url, response in islice(pages(site), 100):
        changed = relaid(response)
        assert changed.body != response.body
        before, after = read(spider, url, response.body), read(spider, url, changed.body)
        assert before
        assert after == before


def test_a_search_is_found_in_the_new_layout_too(emlak: Site) -> None:
    response = emlak.response("/elanlar/?ann_type=3")
    before, after = (
        EmlakSpider().parse_search(HtmlResponse(emlak.base, body=body, encoding="utf-8"))
        for body in (response.body, relaid(response).body)
    )
    assert before.found
    assert after == before


def test_json_has_no_layout(immoweb: Site) -> None:
    response = immoweb.response("/en/search-results/house/for-sale")
    assert relaid(response) is response


def test_an_empty_page_has_the_form_of_the_requested_page() -> None:
    assert emptied(PAGE).body.strip().endswith(b"<main></main></body></html>")
    assert json.loads(emptied(Response("search", b'{"results": [1]}', content_type=JSON)).body) == {}


def test_a_garbled_page_has_a_wrong_encoding_or_charset() -> None:
    seen = set()
    for seed in range(40):
        response = garbled(PAGE, Random(seed))
        if response.extra is None:
            assert TextResponse(
                "http://x.test", body=response.body, headers={"Content-Type": response.content_type}
            ).text
            assert response.content_type == "text/html; charset=utf-16"
            seen.add("charset")
            continue
        assert response.extra == {"Content-Encoding": "gzip"}
        with pytest.raises((OSError, EOFError, zlib.error)) as error:
            gzip.decompress(response.body)
        seen.add(error.type.__name__)
    assert len(seen) >= 4


def test_a_decompression_bomb_is_small_until_it_is_decompressed() -> None:
    packed = bomb(PAGE)
    assert packed.extra == {"Content-Encoding": "gzip"}
    assert len(packed.body) < BOMB_BYTES / 500
    unpacker, size, rest = zlib.decompressobj(wbits=31), 0, packed.body
    while rest:
        size += len(unpacker.decompress(rest, 1024 * 1024))
        rest = unpacker.unconsumed_tail
    assert size > BOMB_BYTES
