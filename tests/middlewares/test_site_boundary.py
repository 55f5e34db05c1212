"""A redirect stays on the portal's site, also that of a seed."""

from collections.abc import Callable
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler

from realestate.middlewares.public_suffixes import BundledPublicSuffixes
from realestate.middlewares.site_boundary import AnotherSite, SiteBoundaryMiddleware
from realestate.spiders.generic import GenericSpider
from realestate.spiders.immoweb import ImmowebSpider


def boundary(make_crawler: Callable[..., Crawler], kind: type[Any]) -> SiteBoundaryMiddleware:
    crawler = make_crawler(kind)
    crawler.spider = kind.from_crawler(crawler)
    return SiteBoundaryMiddleware.from_crawler(crawler)


@pytest.mark.parametrize(
    ("kind", "first", "target", "is_allowed"),
    [
        (ImmowebSpider, "https://www.immoweb.be/a", "https://www.immoweb.be/b", True),
        (ImmowebSpider, "https://www.immoweb.be/a", "https://evil.example/b", False),
        (ImmowebSpider, "https://www.immoweb.be/a", "file:///etc/passwd", False),
        (GenericSpider, "https://homes.be/", "https://www.homes.be/", True),
        (GenericSpider, "http://homes.be/", "https://homes.be/", True),
        (GenericSpider, "https://homes.be/", "https://evil.example/", False),
        (GenericSpider, "https://homes.be/", "http://10.0.0.1/", False),
        (GenericSpider, "https://homes.be/", "file:///etc/passwd", False),
    ],
)
def test_a_redirect_stays_on_the_site(
    make_crawler: Callable[..., Crawler], kind: type[Any], first: str, target: str, is_allowed: bool
) -> None:
    middleware = boundary(make_crawler, kind)
    middleware.process_request(Request(target, dont_filter=True))
    redirected = Request(target, dont_filter=True, meta={"redirect_urls": [first]})
    if is_allowed:
        middleware.process_request(redirected)
        return
    with pytest.raises(AnotherSite) as raised:
        middleware.process_request(redirected)
    assert raised.value.reason == "address"
    assert middleware.stats.get_value("redirect/refused") == 1


def test_a_chain_of_redirects_counts_from_its_start(make_crawler: Callable[..., Crawler]) -> None:
    urls = ["https://homes.be/", "https://www.homes.be/"]
    with pytest.raises(AnotherSite):
        boundary(make_crawler, GenericSpider).process_request(
            Request("https://evil.example/", meta={"redirect_urls": urls})
        )


def test_the_list_of_domains_is_not_fetched(
    make_crawler: Callable[..., Crawler], monkeypatch: pytest.MonkeyPatch
) -> None:
    from scrapy.downloadermiddlewares import cookies

    def fetched(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("tldextract asks the internet")

    monkeypatch.setattr(cookies, "_split_domain", cookies._split_domain)
    monkeypatch.setattr("requests.sessions.Session.send", fetched)
    crawler = make_crawler(ImmowebSpider)
    BundledPublicSuffixes().update_settings(crawler.settings)
    assert cookies._split_domain.suffix_list_urls == ()
    assert cookies._is_public_domain("co.uk")
    assert not cookies._is_public_domain("homes.co.uk")


def test_the_project_uses_the_bundled_list() -> None:
    from realestate import settings

    assert "realestate.middlewares.public_suffixes.BundledPublicSuffixes" in settings.ADDONS
