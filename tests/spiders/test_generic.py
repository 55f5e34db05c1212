"""Which URLs `generic` takes for listings, and what it parses from a page."""

from decimal import Decimal

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, TextResponse

from realestate.crawling.page_outcomes import BrokenPage, ListingGone
from realestate.items import Listing
from realestate.spiders.generic import GenericSpider

URL = "https://www.homes.example.net/for-sale/a-house-123456?from=search"


def read(page: str, url: str = URL) -> Listing:
    (listing,) = GenericSpider().parse_listing(HtmlResponse(url, body=page.encode(), request=Request(url)))
    return listing


@pytest.mark.parametrize(
    "url",
    ["https://homes.be/1", "http://sub.homes.co.uk:8443/x", "https://8.8.8.8/x", "https://xn--bcher-kva.example.net/x"],
)
def test_any_public_host_is_accepted(url: str) -> None:
    assert GenericSpider().owns(url)
    assert GenericSpider.refuses(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/x",
        "http://localhost/x",
        "http://10.0.0.8/x",
        "http://192.168.1.1/x",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/x",
        "http://[fd00::1]/x",
        "http://router.local/x",
        "http://db.internal./x",
        "http://intranet/x",
        "http://127.1/x",
        "ftp://homes.be/1",
        "https:///x",
    ],
)
def test_a_private_host_is_not_accepted(url: str) -> None:
    assert GenericSpider.refuses(url) is not None


def test_the_simulator_is_accepted_but_not_another_port() -> None:
    assert GenericSpider.is_of("http://127.0.0.1:8801", "http://127.0.0.1:8801/homes/1")
    assert not GenericSpider.is_of("http://127.0.0.1:8801", "http://127.0.0.1:6379/homes/1")


def test_the_ref_is_the_host_and_the_number_in_the_url() -> None:
    ref_of = GenericSpider().ref_of
    assert ref_of(URL) == ref_of("https://homes.example.net/te-koop/other-words-123456") == "homes.example.net:123456"
    named = ref_of("https://homes.be/the-old-mill-3-rooms")
    assert named is not None
    assert named.startswith("homes.be:")
    assert named != ref_of("https://homes.be/the-new-mill-3-rooms")
    assert ref_of("https://homes.be/") is ref_of("https://homes.be/sitemap.xml.gz") is None


def test_each_field_says_where_it_came_from_and_the_first_source_counts() -> None:
    listing = read(
        """<meta property="og:title" content="Shared title"><meta property="og:image" content="https://x.test/1.jpg">
        <script type="application/ld+json">{"@type": "House", "name": "Own title", "numberOfRooms": 3,
        "offers": {"price": 250000, "priceCurrency": "EUR"}, "address": {"addressCountry": "ie"}}</script>"""
    )
    assert (listing.title, listing.rooms, listing.country, listing.operation) == ("Own title", 3, "IE", "sale")
    sources = listing.extra["sources"]
    assert (sources["title"], sources["photos"], sources["price"]) == ("json-ld", "opengraph", "json-ld")


def test_a_node_that_describes_the_site_is_not_a_home() -> None:
    site = '<script type="application/ld+json">{"@type": "Product", "name": "Homes.net"}</script>'
    with pytest.raises(BrokenPage):
        read(site)
    with pytest.raises(BrokenPage):
        read("<title>Just a moment...</title>")


def test_a_page_of_results_is_not_a_listing() -> None:
    cards = ",".join(f'{{"@type": "House", "name": "Home {number}", "url": "/{number}"}}' for number in range(9))
    with pytest.raises(BrokenPage, match="several homes"):
        read(f'<script type="application/ld+json">[{cards}]</script>', "https://homes.be/for-sale")


def test_a_rent_without_its_period_has_a_price_and_no_period() -> None:
    """`pipelines.clean` moves such a price to `extra`."""
    listing = read(
        """<script type="application/ld+json">{"@type": "Apartment", "name": "Flat to rent", "numberOfRooms": 3,
        "offers": {"price": 850, "priceCurrency": "GBP"}}</script>""",
        "https://homes.be/1234567",
    )
    assert (listing.operation, listing.price, listing.rent_period) == ("rent", Decimal(850), None)


def test_two_homes_with_one_postal_code_have_two_refs() -> None:
    ref_of = GenericSpider().ref_of
    assert ref_of("https://homes.com/1-main-st-springfield-il-62701") != ref_of(
        "https://homes.com/2-main-st-springfield-il-62701"
    )


def test_a_sold_listing_is_gone() -> None:
    with pytest.raises(ListingGone):
        read(
            """<script type="application/ld+json">{"@type": "House", "name": "x", "offers":
            {"price": 1, "availability": "https://schema.org/SoldOut"}}</script>"""
        )


def robots_txt(body: bytes, status: int = 200) -> list[str]:
    """The requests that follow from a seed of a site's first page."""
    spider = GenericSpider()
    response = TextResponse("https://homes.be/robots.txt", status, body=body)
    (results,) = spider.parsed(response, "plan")
    return list(results.searches)


def test_the_first_page_of_a_site_leads_to_the_sitemaps_of_its_robots_txt() -> None:
    spider = GenericSpider()
    for first in ("https://homes.be", "https://homes.be/"):
        assert spider.search_request(first).url == "https://homes.be/robots.txt"
    assert spider.search_request("https://homes.be/sitemap.xml").url == "https://homes.be/sitemap.xml"
    assert spider.ref_of("https://homes.be/robots.txt") is None
    named = b"User-agent: *\nDisallow:\nSitemap: https://cdn.homes.be/a.xml.gz\nsitemap: /b.xml\nSitemap: /b.xml\n"
    assert robots_txt(named) == ["https://cdn.homes.be/a.xml.gz", "https://homes.be/b.xml"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"User-agent: *\nDisallow: /x\n", 200),
        (b"Sitemap: /b.xml", 404),
        (b"<html>Welcome</html>", 200),
        (b"Sitemap: http://127.0.0.1/x.xml\nSitemap: file:///etc/passwd\nSitemap: http://[\nSitemap:\n", 200),
        (b"\xff\xfe\x00", 410),
    ],
)
def test_without_a_named_sitemap_the_usual_url_is_tried(body: bytes, status: int) -> None:
    assert robots_txt(body, status) == ["https://homes.be/sitemap.xml"]
