"""A proxy provider whose user names contain the options, in the form of Bright Data. Other providers use it too."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from realestate.middlewares.proxies import Proxy, Tier
from realestate.middlewares.proxy_sources.fetch import FetchFailed, fetch
from realestate.middlewares.proxy_sources.refresh import SourceRefused

#: As country: the provider chooses.
ANY_COUNTRY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderAccount:
    """The account at the provider, and which proxies it asks for."""

    customer: str = field(repr=False)
    zone: str = field(repr=False)
    password: str = field(repr=False)
    address: str
    """scheme://host:port."""
    country: str
    """Two letters, or `any`."""
    sessions: int
    """The number of proxies: the provider keeps one address for each session as long as it can."""
    tier: Tier = "residential"
    ca: Path | None = None

    def proxy(self, session: int) -> Proxy:
        country = "" if self.country == ANY_COUNTRY else f"-country-{self.country.lower()}"
        user = f"brd-customer-{self.customer}-zone-{self.zone}{country}-session-{session}"
        return Proxy(self.address, user, self.password, self.tier, self.ca, has_sessions=True)


class Provider:
    """Gives the provider's proxies after it has checked that one works and is in the right country."""

    name = "provider"
    #: A provider that failed the check is checked again after this time.
    seconds = 300.0

    def __init__(self, account: ProviderAccount, geo_url: str) -> None:
        self.account = account
        self.geo_url = geo_url
        self._is_verified = False

    async def proxies(self) -> Sequence[Proxy]:
        proxies = [self.account.proxy(session) for session in range(1, self.account.sessions + 1)]
        if not self._is_verified:
            await self._verify(proxies[0])
            self._is_verified = True
        return proxies

    async def close(self) -> None:
        """There is nothing to clean up."""

    async def _verify(self, proxy: Proxy) -> None:
        wanted = self.account.country
        try:
            country = country_of(await fetch(self.geo_url, through=proxy, max_bytes=100_000))
        except FetchFailed as error:
            raise SourceRefused(f"{proxy.address} does not work: {error}") from None
        if wanted != ANY_COUNTRY and country != wanted.upper():
            raise SourceRefused(f"{proxy.address} is in {country}, not in {wanted.upper()}")


class _GeoResponse(msgspec.Struct):
    """What the geo service returns about an address."""

    country: str


def country_of(body: bytes) -> str:
    """The country in the response of a geo service; raises FetchFailed."""
    try:
        country = msgspec.json.decode(body, type=_GeoResponse).country.upper()
    except msgspec.MsgspecError:
        raise FetchFailed("the response is not JSON with a country") from None
    if not (len(country) == 2 and country.isascii() and country.isalpha()):
        raise FetchFailed("the response contains no country")
    return country
