"""Where proxies come from: a list, a file, a provider, a page of free proxies, AWS gateways."""

from scrapy.settings import BaseSettings
from scrapy.statscollectors import StatsCollector

from realestate.middlewares.proxies import parse_proxies, parse_proxy, split_proxies
from realestate.middlewares.proxy_sources.aws_gateways import AwsGateways
from realestate.middlewares.proxy_sources.free_proxy_page import FreeProxyPage
from realestate.middlewares.proxy_sources.lists import ProxyFile, ProxyList
from realestate.middlewares.proxy_sources.provider import Provider, ProviderAccount
from realestate.middlewares.proxy_sources.refresh import ProxySource, ProxySources, SourceRefused, SourceUnavailable

__all__ = ["ProxySource", "ProxySources", "SourceRefused", "SourceUnavailable", "sources_from_settings"]


def sources_from_settings(
    settings: BaseSettings, *, portal: str, site: str, country: str, worker: str, stats: StatsCollector
) -> list[ProxySource]:
    """The sources that are configured. `worker` is the worker's name in the fleet."""
    found: list[ProxySource] = []
    if proxies := settings["PROXIES"]:
        found.append(ProxyList(parse_proxies(split_proxies(proxies) if isinstance(proxies, str) else proxies)))
    if path := settings["PROXIES_FILE"]:
        found.append(ProxyFile(path, stats))
    if settings["PROXY_PROVIDER_CUSTOMER"]:
        found.append(Provider(_provider_account(settings, country), settings["PROXY_GEO_URL"]))
    if url := settings["PROXY_LIST_URL"]:
        found.append(_free_proxy_page(settings, url, stats))
    if regions := settings.getlist("PROXY_AWS_REGIONS"):
        found.append(AwsGateways([region.strip() for region in regions], portal, site, worker))
    return found


def _provider_account(settings: BaseSettings, country: str) -> ProviderAccount:
    address = parse_proxy(settings["PROXY_PROVIDER_ADDRESS"]).address
    assert address is not None
    return ProviderAccount(
        customer=settings["PROXY_PROVIDER_CUSTOMER"],
        zone=settings["PROXY_PROVIDER_ZONE"],
        password=settings["PROXY_PROVIDER_PASSWORD"],
        address=address,
        country=settings["PROXY_PROVIDER_COUNTRY"] or country,
        sessions=settings.getint("PROXY_PROVIDER_SESSIONS"),
        tier=settings["PROXY_PROVIDER_TIER"],
        ca=settings["PROXY_PROVIDER_CA"],
    )


def _free_proxy_page(settings: BaseSettings, url: str, stats: StatsCollector) -> FreeProxyPage:
    return FreeProxyPage(
        url,
        settings["PROXY_GEO_URL"],
        stats,
        max_proxies=settings.getint("PROXY_LIST_MAX"),
        seconds=settings.getfloat("PROXY_LIST_SECONDS"),
        allow_private=bool(settings["SIMULATOR_URL"]),
    )
