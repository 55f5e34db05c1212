"""Hostile sitemaps, robots.txt files and links: what a site can make a worker fetch, and how much of it."""

import asyncio
import gzip
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response, TextResponse

from realestate.crawling import Links, Results, sitemaps
from realestate.crawling.page_outcomes import BrokenPage
from realestate.crawling.page_requests import PRIORITY
from realestate.items import Listing, Sightings
from realestate.spiders.generic import GenericSpider
from realestate.spiders.immoweb import ImmowebSpider
from realestate.storage.handle import provide_store
from tests.crawling.fake_fleet import FakeFleet
from tests.crawling.test_stages import Kept
from tests.handles import DirectHandle

SITE = "https://www.homes.be"
#: Each of these is skipped, and nothing else of the sitemap is lost.
BAD_URLS = [
    "file:///etc/passwd",
    "FILE:///etc/passwd",
    "file://localhost/dev/zero",
    "ftp://www.homes.be/1",
    "data:text/html,x",
    "s3://bucket/key",
    "javascript:alert(1)",
    "/homes/10001",
    "homes/10001",
    "//www.homes.be/homes/10001",
    "",
    "https://",
    "https://www.homes.be:99999/10001",
    "http://[",
    "http://[::1",
    "https://www.ho mes.be/10001",
    "https://www.homes.be/a b",
    "https://www.homes.be\\@evil.example/10001",
    "https://user:secret@www.homes.be/10001",
    "https://xn--\u2028.be/10001",
    "https://" + "\u00fc" * 70 + ".be/10001",
    "https://www..be/10001",
    "https://www.homes.be/" + "a" * 9_000,
]


def sitemap(*urls: str) -> bytes:
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'.encode()


def index(*urls: str) -> bytes:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</sitemapindex>'.encode()


def made(crawler: Crawler, kind: type[Any]) -> Any:
    spider = crawler.spider = kind.from_crawler(crawler)
    provide_store(crawler, DirectHandle(Kept()))
    fleet = FakeFleet()
    fleet.register(crawler)
    spider.fake = fleet
    return spider


@pytest.fixture
def generic(make_crawler: Callable[..., Crawler]) -> Any:
    return made(make_crawler(GenericSpider), GenericSpider)


@pytest.fixture
def immoweb(make_crawler: Callable[..., Crawler]) -> Any:
    return made(make_crawler(ImmowebSpider), ImmowebSpider)


async def _everything(values: AsyncIterator[Any]) -> list[Any]:
    return [each async for each in values]


def read(spider: Any, body: bytes, url: str = f"{SITE}/sitemap.xml", **meta: Any) -> list[Any]:
    request = Request(url, meta={"stage": "plan", "job": "j", **meta})
    return asyncio.run(_everything(spider.read_search(Response(url, body=body, request=request))))


def urls(yielded: list[Any]) -> list[str]:
    return [each.url for each in yielded if isinstance(each, Request)]


def count(spider: Any, name: str) -> int:
    return int(spider.crawler.stats.get_value(name, 0))


# ----- one bad entry


@pytest.mark.parametrize("bad", BAD_URLS)
@pytest.mark.parametrize("form", [sitemap, index])
def test_a_bad_url_of_a_sitemap_loses_only_itself(generic: Any, form: Callable[..., bytes], bad: str) -> None:
    good = [f"{SITE}/homes-10001.xml", f"{SITE}/homes-10002.xml"] if form is index else [f"{SITE}/1", f"{SITE}/2"]
    assert urls(read(generic, form(good[0], bad, good[1]))) == good
    assert count(generic, "search/result/unreadable") == 1
    assert generic.fake.dead_letters == []


def test_urls_with_spaces_around_in_cdata_and_with_foreign_letters_are_read(generic: Any) -> None:
    body = sitemap(
        f"\n  {SITE}/1\n", f"<![CDATA[{SITE}/2?a=1&b=2]]>", "https://b\u00fcro.homes.be/3", "HTTPS://www.homes.be/4"
    )
    assert urls(read(generic, body)) == [
        f"{SITE}/1",
        f"{SITE}/2?a=1&b=2",
        "https://xn--bro-hoa.homes.be/3",
        f"{SITE}/4",
    ]


def test_the_urls_of_images_are_not_listings(generic: Any) -> None:
    image = '<image:image xmlns:image="i"><image:loc>https://www.homes.be/1.jpg</image:loc></image:image>'
    body = sitemap(f"{SITE}/1").replace(b"</url>", image.encode() + b"</url>")
    assert urls(read(generic, body)) == [f"{SITE}/1"]


# ----- other sites


@pytest.mark.parametrize(
    ("url", "is_followed"),
    [
        ("https://cdn.homes.be/a.xml", True),
        ("http://homes.be:8080/a.xml", True),
        ("https://otherhomes.be/a.xml", False),
        ("https://homes.be.evil.example/a.xml", False),
        ("https://be/a.xml", False),
        ("http://127.0.0.1/a.xml", False),
        ("http://169.254.169.254/latest/a.xml", False),
        ("http://localhost/a.xml", False),
    ],
)
def test_generic_stays_on_the_registered_domain(generic: Any, url: str, is_followed: bool) -> None:
    expected = [url] if is_followed else []
    assert urls(read(generic, index(url))) == expected
    assert urls(read(generic, sitemap(url.replace("a.xml", "homes/10001")))) == [
        each.replace("a.xml", "homes/10001") for each in expected
    ]
    robots = f"Sitemap: {url}\n".encode()
    assert urls(read(generic, robots, f"{SITE}/robots.txt")) == (expected or [f"{SITE}/sitemap.xml"])
    assert (count(generic, "link/refused") == 0) is is_followed


def test_hosts_below_a_public_suffix_are_different_sites(generic: Any) -> None:
    own, other = "https://me.github.io", "https://you.github.io"
    assert urls(read(generic, sitemap(f"{own}/1", f"{other}/1"), f"{own}/sitemap.xml")) == [f"{own}/1"]
    assert not generic.may_follow("https://other.co.uk/", "https://homes.co.uk/")
    assert generic.may_follow("https://www.homes.co.uk/", "https://homes.co.uk/")


def test_a_page_of_another_site_is_not_read(generic: Any) -> None:
    request = Request("https://evil.example/sitemap.xml", meta={"stage": "plan", "job": "j"})
    request.meta["redirect_urls"] = [f"{SITE}/sitemap.xml"]
    response = Response(request.url, body=sitemap("https://evil.example/10001"), request=request)
    assert asyncio.run(_everything(generic.read_search(response))) == []
    assert [letter["error"] for letter in generic.fake.dead_letters] == ["BrokenPage: redirected to another site"]


LISTING = "https://www.immoweb.be/en/classified/21000001"


@pytest.mark.parametrize(
    "url", ["file:///en/classified/21000002", "https://evil.example/en/classified/21000002", "ftp://www.immoweb.be/en/classified/21000002"]
)  # fmt: skip
def test_links_of_a_search_page_to_elsewhere_are_neither_fetched_nor_stored(immoweb: Any, url: str) -> None:
    immoweb.parse_search = lambda response: Results([immoweb.found(LISTING), immoweb.found(url)])
    search = "https://www.immoweb.be/en/search/house"
    request = Request(search, meta={"stage": "discover", "job": "j"})
    found = asyncio.run(_everything(immoweb.read_search(HtmlResponse(search, body=b"x", request=request))))
    assert LISTING in urls(found)
    assert url not in urls(found)
    assert [each.url for item in found if isinstance(item, Sightings) for each in item.seen] == [LISTING]
    assert count(immoweb, "link/refused") == 1


def test_links_of_a_listings_page_to_elsewhere_are_not_fetched(immoweb: Any) -> None:
    immoweb.parse_listing = lambda response, **hints: iter([immoweb.found("file:///en/classified/21000002")])
    request = Request(LISTING, meta={"stage": "extract", "job": "j"})
    found = asyncio.run(_everything(immoweb.read_page(HtmlResponse(LISTING, body=b"x", request=request))))
    assert found == []


@pytest.mark.parametrize("after", ["file:///etc/passwd", "https://evil.example/2", "//evil.example/2", "http://["])
def test_the_next_page_is_on_the_same_site(immoweb: Any, after: str) -> None:
    immoweb.paging = Links()
    immoweb.parse_search = lambda response: Results([immoweb.found(LISTING)], after=after)
    search = "https://www.immoweb.be/en/search/house"
    request = Request(search, meta={"stage": "discover", "job": "j"})
    found = asyncio.run(_everything(immoweb.read_search(HtmlResponse(search, body=b"x", request=request))))
    assert urls(found) == [LISTING]


# ----- too much


def limited(body: bytes, seconds: float = 3.0) -> Results:
    """What is read of a sitemap. It takes little CPU time, whatever is in it."""
    begin = time.process_time()
    results = sitemaps.read(Response(f"{SITE}/sitemap.xml", body=body), lambda url: None)
    assert time.process_time() - begin < seconds
    return results


@pytest.mark.parametrize(
    "declared",
    [
        '<!ENTITY a "aaaa">',
        '<!ENTITY a SYSTEM "file:///etc/passwd">',
        '<!ENTITY % p SYSTEM "http://127.0.0.1:9/x"> %p;',
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_sitemap_with_entities_is_not_read(declared: str, encoding: str) -> None:
    start = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE x [{declared}]>'
    text = f"{start}<urlset><url><loc>&a;</loc></url></urlset>"
    with pytest.raises(BrokenPage, match="DOCTYPE"):
        limited(text.encode(encoding) + b"</urlset>")


def test_billion_laughs_are_not_expanded() -> None:
    levels = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    with pytest.raises(BrokenPage, match="DOCTYPE"):
        limited(f'<!DOCTYPE x [<!ENTITY l0 "ha">{levels}]><urlset><url><loc>&l9;</loc></url></urlset>'.encode())


def test_only_so_many_urls_of_a_sitemap_are_read(generic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sitemaps, "MAX_URLS", 5)
    assert len(urls(read(generic, sitemap(*(f"{SITE}/{number}" for number in range(50)))))) == 5
    assert count(generic, "search/cut_short") == 1


def test_a_million_urls_are_not_read() -> None:
    body = b"<sitemapindex>" + b"<sitemap><loc>https://www.homes.be/1</loc></sitemap>" * 250_000 + b"</sitemapindex>"
    results = limited(body)
    assert results.is_cut
    assert list(results.searches) == ["https://www.homes.be/1"]


@pytest.mark.parametrize(
    "body",
    [
        b"<urlset>" + b"<a/>" * 4_000_000 + b"</urlset>",
        b"<urlset>" + b"<a>" * 1_000_000 + b"</urlset>",
        b"<urlset><url><loc>" + b"a" * 10_000_000 + b"</loc></url></urlset>",
        b"<urlset><url>" + b"<loc>" * 1_000_000 + b"</url></urlset>",
    ],
    ids=["elements", "depth", "a long URL", "open elements"],
)
def test_strange_xml_is_read_in_little_time(body: bytes) -> None:
    assert list(limited(body).found) == []


@pytest.mark.parametrize(
    "body",
    [gzip.compress(b"<urlset>" + b" " * 70_000_000 + b"</urlset>"), gzip.compress(b"") * 100_000],
    ids=["bomb", "many streams"],
)
def test_a_gzip_bomb_is_not_unpacked(body: bytes) -> None:
    with pytest.raises(BrokenPage, match="larger than"):
        limited(body)


def test_a_sitemap_may_have_two_gzip_streams() -> None:
    whole = index(f"{SITE}/a.xml")
    assert limited(gzip.compress(whole[:40]) + gzip.compress(whole[40:])).searches == [f"{SITE}/a.xml"]


def test_indexes_in_indexes_end_somewhere(generic: Any) -> None:
    """A site may make a new index for each request. The number of requests stays limited."""
    waiting = [Request(f"{SITE}/robots.txt", meta={"stage": "plan", "job": "j"})]
    levels = []
    while waiting:
        levels.append(len(waiting))
        request, body = waiting[0], index(f"{SITE}/{len(levels)}.xml?next")
        if len(levels) == 1:
            body = f"Sitemap: {SITE}/0.xml".encode()
        response = Response(request.url, body=body, request=request)
        waiting = asyncio.run(_everything(generic.read_search(response)))
        for child in waiting:
            child.meta["job"] = "j"  # the queue does that
    assert levels == [1] * (sitemaps.MAX_DEPTH + 1)
    assert count(generic, "sitemap/left_out") == 1


def test_the_number_of_sitemaps_below_a_seed_is_limited(generic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sitemaps.SitemapBudget, "__init__", _with_files(10))
    children = read(generic, index(*(f"{SITE}/{number}.xml" for number in range(3))))
    assert len(children) == 3
    many = index(*(f"{SITE}/more-{number}.xml" for number in range(30)))
    below = [read(generic, many, child.url, **{**child.meta, "job": "j"}) for child in children]
    assert 3 + sum(map(len, below)) <= 10
    assert count(generic, "sitemap/left_out") > 0


def _with_files(most: int) -> Callable[..., None]:
    def init(self: Any, depth: int = 0, files: int = most) -> None:
        object.__setattr__(self, "depth", depth)
        object.__setattr__(self, "files", files)

    return init


def test_a_sitemap_waits_until_the_listings_of_others_are_fetched(generic: Any) -> None:
    """Otherwise the queue would hold the listings of all sitemaps of a site at once."""
    (child,) = read(generic, index(f"{SITE}/a.xml"))
    assert child.priority < PRIORITY["extract"]


def test_a_hostile_robots_txt_names_sitemaps_in_little_time(generic: Any) -> None:
    agents = b"".join(b"User-agent: a%d\n" % number for number in range(5_000))
    rules = b"".join(b"Disallow: /%d\n" % number for number in range(5_000))
    response = TextResponse(f"{SITE}/robots.txt", body=b"Sitemap: /a.xml\n" + agents + rules)
    begin = time.process_time()
    (results,) = generic.parsed(response, "plan")
    assert time.process_time() - begin < 3.0
    assert list(results.searches) == [f"{SITE}/a.xml"]


def test_a_listing_is_unchanged_by_all_this(generic: Any) -> None:
    page = b"""<script type="application/ld+json">{"@type": "House", "name": "House for sale", "numberOfRooms": 3,
        "offers": {"price": 250000, "priceCurrency": "EUR"}}</script>"""
    url = f"{SITE}/homes/10001"
    request = Request(url, meta={"stage": "extract", "job": "j"})
    (listing,) = asyncio.run(_everything(generic.read_page(HtmlResponse(url, body=page, request=request))))
    assert isinstance(listing, Listing)
    assert listing.url == url
