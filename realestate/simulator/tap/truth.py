"""What a perfect crawl would store of a tap advert."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

from realestate.items import Listing
from realestate.simulator.adverts import Advert
from realestate.simulator.kinds import KINDS
from realestate.simulator.site import one_space
from realestate.simulator.tap.facts import facts_of

BAKU = timezone(timedelta(hours=4))


def listing(advert: Advert, url: str, photos: list[str], now: datetime) -> Listing:
    home = advert.home
    facts = facts_of(advert)
    kind = KINDS[advert.home.kind]
    price = advert.price
    where, _, ending = (facts.whereabouts or "").rpartition(" ")
    return Listing(
        portal=advert.portal,
        ref=str(advert.ref),
        url=url,
        country="AZ",
        operation=home.operation,
        rent_period=advert.rent_period,
        property_type=kind.property_type,
        subtype=kind.subtype,
        is_new_building=kind.is_new_building,
        price=None if price is None else Decimal(price),
        currency=None if price is None else "AZN",
        price_basis="on_request" if price is None else "total",
        area_m2=home.area_m2,
        plot_m2=home.plot_m2,
        rooms=facts.rooms,
        floor=facts.floor,
        floors_total=facts.floors,
        city=home.place.city,
        district=where if ending in ("r.", "q.") else None,
        metro_station=where if ending == "m." else None,
        title=facts.title,
        description="\n".join(map(one_space, facts.paragraphs)) or None,
        photos=photos,
        seller_type="agency" if facts.shop else None,
        agency_name=facts.shop,
        updated_at=_shown_date(advert.updated_at, now) if facts.has_old_form else to_the_second(advert.updated_at),
        status="active" if advert.gone is None else "delisted",
    )


def to_the_second(when: datetime) -> datetime:
    return when.astimezone(BAKU).replace(microsecond=0)


def days_ago(when: datetime, now: datetime) -> int:
    return (now.astimezone(BAKU).date() - when.astimezone(BAKU).date()).days


def _shown_date(when: datetime, now: datetime) -> datetime:
    """Return the time as the old page shows it: to the minute for today and yesterday, else only the day."""
    local = when.astimezone(BAKU).replace(second=0, microsecond=0)
    shown = local if days_ago(when, now) < 2 else local.replace(hour=0, minute=0)
    return shown.astimezone(UTC)
