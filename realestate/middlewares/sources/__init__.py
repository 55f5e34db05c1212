"""WHERE proxies come from: a list, a file, a provider, a page of free ones, gateways made on demand."""

from scrapy.settings import BaseSettings
from scrapy.statscollectors import StatsCollector

from realestate.middlewares.proxies import listed, parse, parse_all
from realestate.middlewares.sources.following import Source, SourceAway, SourceRefused, Sources
from realestate.middlewares.sources.gateways import Gateways
from realestate.middlewares.sources.lists import Watched, Written
from realestate.middlewares.sources.pages import Page
from realestate.middlewares.sources.provider import Account, Provider

__all__ = ["Source", "SourceAway", "SourceRefused", "Sources", "from_settings"]


def from_settings(
    settings: BaseSettings, *, portal: str, site: str, country: str, worker: str, stats: StatsCollector
) -> list[Source]:
    """Those that are configured. `worker` is the worker's name in the fleet."""
    found: list[Source] = []
    written = settings["PROXIES"] or ()
    if written:
        found.append(Written(parse_all(listed(written) if isinstance(written, str) else written)))
    if path := settings["PROXIES_FILE"]:
        found.append(Watched(path, stats))
    if settings["PROXY_PROVIDER_CUSTOMER"]:
        found.append(Provider(_account(settings, country), settings["PROXY_GEO_URL"]))
    if url := settings["PROXY_LIST_URL"]:
        found.append(_page(settings, url, stats))
    if regions := settings.getlist("PROXY_AWS_REGIONS"):
        found.append(Gateways([region.strip() for region in regions], portal, site, worker))
    return found


def _account(settings: BaseSettings, country: str) -> Account:
    address = parse(settings["PROXY_PROVIDER_ADDRESS"]).address
    assert address is not None
    return Account(
        customer=settings["PROXY_PROVIDER_CUSTOMER"],
        zone=settings["PROXY_PROVIDER_ZONE"],
        password=settings["PROXY_PROVIDER_PASSWORD"],
        address=address,
        country=settings["PROXY_PROVIDER_COUNTRY"] or country,
        sessions=settings.getint("PROXY_PROVIDER_SESSIONS"),
        tier=settings["PROXY_PROVIDER_TIER"],
        ca=settings["PROXY_PROVIDER_CA"],
    )


def _page(settings: BaseSettings, url: str, stats: StatsCollector) -> Page:
    return Page(
        url,
        settings["PROXY_GEO_URL"],
        stats,
        most=settings.getint("PROXY_LIST_MAX"),
        seconds=settings.getfloat("PROXY_LIST_SECONDS"),
        allow_private=bool(settings["SIMULATOR_URL"]),
    )
