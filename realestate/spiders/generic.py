"""Any site: reads a listing's page by the data, the rows and the words on it.

    realestate crawl generic https://www.example.org/homes/12345

A seed is a listing's page on any public host (with ALLOW_PRIVATE_ADDRESSES on any host), a sitemap (`….xml`) of such
pages, or a site's first page or robots.txt, which leads to the sitemaps it names. `parsing/unknown_pages/` reads the
page; docs/generic.md says how. The ref is the site's own id in the URL, or a hash of the URL. `extra["sources"]` says
which field came from where. Uncertain values are left out: a price without a currency, a size without a unit. If
nothing says whether it is for sale or for rent, the listing goes to quarantine. A seed's job stays on its site:
redirects, sitemaps and links to another registered domain are refused. All hosts of `generic` share one rate limit.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any
from urllib.parse import urljoin, urlsplit
from zoneinfo import ZoneInfo

from scrapy import Request
from scrapy.http import TextResponse

from realestate.crawling import BrokenPage, Links, ListingGone, PortalSpider, Results, read_sitemap
from realestate.items import Listing
from realestate.parsing import currencies, unknown_pages
from realestate.parsing.hosts import is_public_address, site_of
from realestate.parsing.unknown_pages import reference

_FIRST_PAGE = ("", "/")
_ROBOTS = "/robots.txt"
_SITEMAP = re.compile(r"\.xml(?:\.gz)?$")


class GenericSpider(PortalSpider):
    name = "generic"
    allowed_domains = ()
    any_host = True
    site = "https://www.example.org"
    searches = ("/robots.txt",)
    item_form = "/{ref}"
    country = "ZZ"
    currency = currencies.NONE
    timezone = ZoneInfo("UTC")
    terms = "https://www.example.org/"
    checked_on = date(2026, 11, 15)
    paging = Links()
    parser_version = 3

    @classmethod
    def is_of(cls, site: str, url: str) -> bool:
        """Any public host belongs to it; and the simulator's, if there is one. Where a host name resolves to is checked
        by the download handler."""
        return urlsplit(url).netloc == urlsplit(site).netloc or is_public_address(url)

    def may_follow(self, url: str, page: str) -> bool:
        """A page leads only to its own site: to hosts with the same registered domain."""
        return super().may_follow(url, page) and site_of(url) == site_of(page)

    def ref_of(self, url: str) -> str | None:
        parts = urlsplit(url)
        if parts.path in (*_FIRST_PAGE, _ROBOTS) or _SITEMAP.search(parts.path):
            return None
        return reference.of(url)

    def url_of(self, ref: str) -> str:
        """A URL with the same host and number. The URL cannot be restored from a hash."""
        host, _, own = ref.rpartition(":")
        return f"https://{host}/{own}" if host else super().url_of(ref)

    def search_request(self, search: str) -> Request:
        """For the first page of a site, its robots.txt is requested: it names the sitemaps."""
        if urlsplit(search).path in _FIRST_PAGE:
            return Request(urljoin(search, _ROBOTS))
        return Request(search)

    def parse_search(self, response: TextResponse) -> Results:
        """A sitemap. Other search pages cannot be read."""
        return read_sitemap(response, self.link_from_sitemap)

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing]:
        page = unknown_pages.read(response.text, response.url)
        if page.kind == "results":
            raise BrokenPage("the page shows several homes: it is not a listing's page")
        if page.kind == "other":
            raise BrokenPage("the page has no data about a home that we can read")
        if page.is_gone:
            raise ListingGone("its offer is discontinued or sold out")
        if "latitude" in page.fields:
            page.fields["geo_precision"] = "approximate"  # it may be the point of the agency or the town
        yield self.listing(
            response,
            page.price,
            operation=page.operation,
            rent_period=page.price.period if page.operation == "rent" else None,
            country=page.country or self.country,
            **page.fields,
            quality_flags=page.flags,
            extra={"sources": page.sources},
        )
