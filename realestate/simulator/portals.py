"""The facts about each portal that the world needs."""

from dataclasses import dataclass

from realestate.items import RentPeriod


@dataclass(frozen=True, slots=True, kw_only=True)
class Portal:
    country: str
    first_ref: int
    gone: tuple[str, ...]
    """Possible responses for a removed advert. One that is listed twice is twice as likely."""
    other_period: dict[RentPeriod, tuple[RentPeriod, float]]
    """rent period -> the period that a seller may change it to, and the factor for the price."""
    shows_reserved: bool
    """Whether a page can show that the home is under option."""


#: In the order of their ports: a new portal goes to the end.
PORTALS = {
    "immoweb": Portal(
        country="BE",
        first_ref=21_000_000,
        gone=("404", "404", "410", "sold", "sold"),
        other_period={"month": ("year", 12), "year": ("month", 1 / 12)},
        shows_reserved=True,
    ),
    "emlak": Portal(
        country="AZ",
        first_ref=940_000,
        gone=("redirect", "redirect", "expired"),
        # the seller had chosen the wrong period: the number was right
        other_period={"month": ("day", 1), "day": ("month", 1)},
        shows_reserved=False,
    ),
    "lalafo": Portal(
        country="AZ",
        first_ref=108_000_000,
        gone=("404", "404", "deactivated"),
        # the advert was in the wrong category: the number was right
        other_period={"month": ("day", 1), "day": ("month", 1)},
        shows_reserved=False,
    ),
    "bina": Portal(
        country="AZ",
        first_ref=6_150_000,
        gone=("404", "404", "410"),
        other_period={"month": ("day", 1), "day": ("month", 1)},
        shows_reserved=False,
    ),
    "tap": Portal(
        country="AZ",
        first_ref=48_000_000,
        gone=("404", "404", "410", "expired"),
        other_period={"month": ("day", 1), "day": ("month", 1)},
        shows_reserved=False,
    ),
    "daft": Portal(
        country="IE",
        first_ref=6_400_000,
        gone=("404", "410", "marker"),
        other_period={"month": ("week", 12 / 52), "week": ("month", 52 / 12)},
        shows_reserved=True,
    ),
    "willhaben": Portal(
        country="AT",
        first_ref=1_500_000_000,
        gone=("404", "404", "marker"),
        other_period={"month": ("year", 12), "year": ("month", 1 / 12)},
        shows_reserved=True,
    ),
    "otodom": Portal(
        country="PL",
        first_ref=67_000_000,
        gone=("404", "410", "marker"),
        other_period={"month": ("day", 1), "day": ("month", 1)},
        shows_reserved=False,
    ),
    "onthemarket": Portal(
        country="GB",
        first_ref=18_000_000,
        gone=("404", "404", "410"),
        other_period={"month": ("week", 12 / 52), "week": ("month", 52 / 12)},
        shows_reserved=False,
    ),
    "property24": Portal(
        country="ZA",
        first_ref=116_000_000,
        gone=("404", "404", "410"),
        other_period={"month": ("day", 1), "day": ("month", 1)},
        shows_reserved=False,
    ),
    "generic": Portal(
        country="GB",
        first_ref=5_000_000,
        gone=("404", "410"),
        other_period={"month": ("week", 12 / 52), "week": ("month", 52 / 12)},
        shows_reserved=False,
    ),
}
