"""Homes and market figures: the records that a store takes and returns, and its interface for them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Literal, Protocol

from realestate.items import Operation, PropertyType, RentPeriod

PinKind = Literal["join", "split"]
Reason = tuple[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """One dwelling: all adverts of it as one row."""

    home: str
    """Its id. It stays when an advert joins or leaves."""

    country: str
    """ISO 3166-1 alpha-2 code."""

    operation: Operation | None = None
    """Whether it is for sale or for rent."""

    property_type: PropertyType | None = None
    """The kind of property."""

    city: str | None = None
    """City or municipality, as most adverts name it."""

    district: str | None = None
    """Part of the city, as most adverts name it."""

    rooms: int | None = None
    """All rooms, as most adverts say."""

    area_m2: float | None = None
    """Living area, the median of the adverts."""

    price: Decimal | None = None
    """The lowest price that is asked now; of a home that has left the market, the last lowest one."""

    currency: str | None = None
    """ISO 4217 code of the price."""

    rent_period: RentPeriod | None = None
    """The period of one rent payment."""

    is_active: bool = True
    """Whether any of its adverts is on the market."""

    listings: int = 1
    """Number of its adverts, also of those that have left the market."""

    portals: int = 1
    """Number of portals that have or had an advert of it."""

    first_seen_at: datetime
    """When its first advert was first seen."""

    last_seen_at: datetime
    """When an advert of it was last seen."""

    gone_at: datetime | None = None
    """When its last advert was known to be gone. Null while any is on the market."""


@dataclass(frozen=True, slots=True)
class Member:
    """An advert of a home."""

    portal: str
    """Name of the portal. Portal and ref identify a listing."""
    ref: str
    """The portal's id of the listing, as text."""
    home: str
    """The home it is an advert of."""

    @property
    def name(self) -> str:
        return f"{self.portal}/{self.ref}"


@dataclass(frozen=True, slots=True)
class HomeLink:
    """Why two adverts are one home."""

    home: str
    """The home that both are adverts of."""
    a: str
    """One advert: portal/ref."""
    b: str
    """The other advert: portal/ref."""
    score: float
    """The probability that they are one home, by the scorer. 1 if a person joined them."""
    reasons: Sequence[Reason] = ()
    """What agrees and what differs, with its weight in log odds, the heaviest first."""


@dataclass(frozen=True, slots=True)
class Pin:
    """What a person decided about two adverts. It holds in every later run."""

    kind: PinKind
    """join: they are one home. split: they are not."""
    a: str
    """One advert: portal/ref."""
    b: str
    """The other advert: portal/ref."""


@dataclass(frozen=True, slots=True)
class PhotoHash:
    """The perceptual hash of a photo. The photo itself is not kept."""

    portal: str
    """Name of the portal. Portal and ref identify a listing."""
    ref: str
    """The portal's id of the listing, as text."""
    photo: str
    """Address of the photo."""
    hash: int
    """Hashes of similar photos differ in few of their 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HomesRun:
    """What the last complete run of `realestate homes build` looked at."""

    built_at: datetime
    """When it ended."""
    last_event: int
    """The number of the newest event when it began."""
    listings: int
    """Listings it read."""
    homes: int
    """Homes it found."""
    candidates: int
    """Pairs of listings it compared."""
    skipped_keys: int
    """Keys that too many listings share: they were not used to find pairs."""
    skipped_listings: int
    """Listings that have such a key."""
    in_blocks: int
    """Listings in blocks of alike homes."""
    coverage: Mapping[str, float] = field(default_factory=dict)
    """For each portal: the share of its listings that have an agency's reference."""
    version: str = ""
    """The rules of linking that it used. Other rules make all homes again."""
    begun_at: datetime | None = None
    """When it began. The next run also looks at listings with photos that were hashed since then."""


@dataclass(frozen=True, slots=True)
class HomeState:
    """What linking keeps of a listing, so that the next run needs to look only at what is new."""

    portal: str
    """Name of the portal. Portal and ref identify a listing."""
    ref: str
    """The portal's id of the listing, as text."""
    facts: str
    """What linking knows of the listing: MessagePack in base 64."""
    keys: Sequence[int]
    """Listings that share a key are compared; those that share a group may be a block."""
    near: Sequence[tuple[str, float]]
    """Listings that may be the same home, with the probability."""
    in_block: bool
    """Whether it is in a block of alike homes."""

    @property
    def name(self) -> str:
        return f"{self.portal}/{self.ref}"


@dataclass(frozen=True, slots=True)
class Clustered:
    """A complete clustering, to be stored as one."""

    run: HomesRun
    homes: Sequence[Home]
    members: Sequence[Member]
    links: Sequence[HomeLink]
    states: Sequence[HomeState] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeChanges:
    """What a run changed in the homes of the run before, to be stored as one."""

    before: HomesRun
    """The run whose homes were changed."""
    run: HomesRun
    homes: Sequence[Home]
    """Homes that are new or changed."""
    members: Sequence[Member]
    """Listings that are new or in another home."""
    links: Sequence[HomeLink]
    """All links of the homes in `relinked`."""
    states: Sequence[HomeState]
    """New and changed states."""
    gone_homes: Collection[str]
    """Homes that have no listing any more."""
    relinked: Collection[str]
    """Homes whose earlier links are replaced by `links`."""
    gone: Collection[str]
    """Listings (portal/ref) that are not stored any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeFilter:
    """Which homes. None is all."""

    country: str | None = None
    city: str | None = None
    district: str | None = None
    operation: str | None = None
    property_type: str | None = None
    is_active: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketWeek:
    """The market of one week, place, type and operation, counted by home. A figure of fewer than five homes is null."""

    week: date
    """The Monday on which the week begins."""

    country: str
    """ISO 3166-1 alpha-2 code."""

    city: str = ""
    """City; empty: the whole country."""

    district: str = ""
    """Part of the city; empty: the whole city."""

    property_type: str
    """The kind of property."""

    operation: str
    """sale or rent."""

    currency: str
    """ISO 4217 code of the prices."""

    rent_period: str = ""
    """The period of a rent; empty for a sale."""

    stock: int
    """Homes on the market at the end of the week."""

    new: int
    """Homes that came on the market in the week."""

    gone: int
    """Homes that left the market in the week."""

    median_price: float | None = None
    """Median of the last prices asked in the week, by homes that were on the market in it."""

    price_low: float | None = None
    """First quartile of the same prices."""

    price_high: float | None = None
    """Third quartile of the same prices."""

    median_price_per_m2: float | None = None
    """Median price of a square metre of living area."""

    price_per_m2_low: float | None = None
    """First quartile of the price of a square metre."""

    price_per_m2_high: float | None = None
    """Third quartile of the price of a square metre."""

    months_of_supply: float | None = None
    """Stock divided by the homes that left in the last four weeks, in months of 30.4 days."""

    median_days_on_market: float | None = None
    """Median time on the market by Kaplan and Meier, of homes on the market in the last twelve weeks."""

    cut_share: float | None = None
    """Share of the homes whose price fell in the week, of all on the market in it."""

    median_cut: float | None = None
    """Median of these price cuts, as a share of the price before."""

    off_in_two_weeks: float | None = None
    """Share of the homes that came two to three weeks before the week's end and left within 14 days."""

    gross_yield: float | None = None
    """A year's rent for a square metre as a share of its sale price, by the medians of the same place and type."""

    price_index: float | None = None
    """Hedonic index of the prices of new homes: 100 in the first week of the series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketFilter:
    """Which figures. None is all; an empty city or district is the row of the whole country or city."""

    country: str | None = None
    city: str | None = None
    district: str | None = None
    operation: str | None = None
    property_type: str | None = None
    since: date | None = None


class HomesStore(Protocol):
    """Homes, the decisions of people about them, and market figures."""

    def save_homes(self, clustered: Clustered) -> None:
        """Replace all homes by these, all or nothing: a reader sees the old ones until the new ones are complete."""

    def change_homes(self, changes: HomeChanges) -> bool:
        """Change the homes of the last run, all or nothing. False if they are not those of `before` any more."""

    def home_states(self, names: Collection[str]) -> Mapping[str, HomeState]:
        """The states of listings (portal/ref) that have one."""

    def keys_of_sharers(self, keys: Collection[int]) -> Mapping[str, Sequence[int]]:
        """The listings (portal/ref) that have one of these keys, each with all its keys."""

    def homes_of_listings(self, names: Collection[str]) -> Mapping[str, str]:
        """The homes of listings (portal/ref) that are in one."""

    def existing_homes(self, homes: Collection[str]) -> Collection[str]:
        """Those of these ids that are homes."""

    def hashed_since(self, at: datetime) -> Collection[str]:
        """The listings (portal/ref) with photos that were hashed since then."""

    def homes_run(self) -> HomesRun | None:
        """The last complete run; None if there was none."""

    def home_ids(self) -> Mapping[str, str]:
        """The home of every listing: portal/ref -> id."""

    def homes(self, wanted: HomeFilter = HomeFilter(), *, after: str = "", limit: int = 100) -> Sequence[Home]:  # noqa: B008
        """Homes by id, from the one after `after` on."""

    def home(self, home: str) -> Home | None: ...

    def home_of(self, portal: str, ref: str) -> str | None:
        """The home of a listing."""

    def home_members(self, home: str) -> Sequence[Member]:
        """The adverts of a home, by portal and ref."""

    def home_links(self, home: str) -> Sequence[HomeLink]:
        """Why its adverts are one home, the best link first."""

    def pins(self) -> Sequence[Pin]: ...

    def pin(self, pin: Pin) -> None:
        """Store a decision. It replaces an earlier one about the same two adverts."""

    def save_market(self, rows: Sequence[MarketWeek], since: date) -> None:
        """Replace the figures of all weeks from this one on, all or nothing."""

    def market_weeks(self, wanted: MarketFilter = MarketFilter()) -> Sequence[MarketWeek]:  # noqa: B008
        """Market figures, by place, type, operation and week."""

    def newest_market_weeks(self) -> Sequence[MarketWeek]:
        """The newest week of each place, type, operation, currency and rent period, in this order."""
