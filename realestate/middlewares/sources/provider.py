"""A provider of proxies, whose user names say what is wanted: Bright Data's form, which others understand too."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from realestate.middlewares.proxies import Proxy, Tier
from realestate.middlewares.sources.asking import Unanswered, ask
from realestate.middlewares.sources.following import SourceRefused

#: As country: wherever the provider likes.
ANYWHERE = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What is wanted, and by whom."""

    customer: str = field(repr=False)
    zone: str = field(repr=False)
    password: str = field(repr=False)
    address: str
    """scheme://host:port."""
    country: str
    """Two letters, or `any`."""
    sessions: int
    """Each is an exit of its own: the provider keeps one address for it as long as it can."""
    tier: Tier = "residential"
    ca: Path | None = None

    def proxy(self, session: int) -> Proxy:
        country = "" if self.country == ANYWHERE else f"-country-{self.country.lower()}"
        user = f"brd-customer-{self.customer}-zone-{self.zone}{country}-session-{session}"
        return Proxy(self.address, user, self.password, self.tier, self.ca, has_sessions=True)


class _Place(msgspec.Struct):
    """Where an address says we are."""

    country: str


class Provider:
    """Not used before it has shown that it works and leaves from where it was told to."""

    name = "provider"
    #: A provider that was refused is looked at again.
    seconds = 300.0

    def __init__(self, account: Account, geo_url: str) -> None:
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
        """Nothing was made."""

    async def _verify(self, proxy: Proxy) -> None:
        wanted = self.account.country
        try:
            place = country_of(await ask(self.geo_url, through=proxy, most=100_000))
        except Unanswered as error:
            raise SourceRefused(f"{proxy.address} does not work: {error}") from None
        if wanted != ANYWHERE and place != wanted.upper():
            raise SourceRefused(f"{proxy.address} leaves from {place}, not from {wanted.upper()}")


def country_of(body: bytes) -> str:
    """The country a geo address names."""
    try:
        country = msgspec.json.decode(body, type=_Place).country.upper()
    except msgspec.MsgspecError:
        raise Unanswered("no JSON with a country") from None
    if not (len(country) == 2 and country.isascii() and country.isalpha()):
        raise Unanswered("no country in the answer")
    return country
