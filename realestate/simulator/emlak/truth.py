"""What a perfect crawl would store of an emlak advert."""

from datetime import datetime, timedelta, timezone
from decimal import Decimal

from realestate.items import Listing
from realestate.simulator.adverts import Advert
from realestate.simulator.emlak.facts import AGENT, DEED, REPAIRS, facts_of
from realestate.simulator.kinds import KINDS
from realestate.simulator.site import one_space

BAKU = timezone(timedelta(hours=4))

_CONDITIONS = dict(zip(REPAIRS, ("unrenovated", "average", "good", "excellent"), strict=True))


def listing(advert: Advert, url: str, photos: list[str]) -> Listing:
    home = advert.home
    facts = facts_of(advert)
    kind = KINDS[advert.home.kind]
    address = facts.address
    price = advert.price
    return Listing(
        portal=advert.portal,
        ref=str(advert.ref),
        url=url,
        country="AZ",
        operation=home.operation,
        rent_period=None if price is None else advert.rent_period,
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
        condition=None if facts.repair is None else _CONDITIONS[facts.repair],
        has_deed=None if facts.document is None else facts.document == DEED,
        city=address.city,
        district=address.district or address.settlement,
        metro_station=facts.metro,
        street=address.street,
        latitude=home.latitude if facts.is_mapped else None,
        longitude=home.longitude if facts.is_mapped else None,
        geo_precision="exact" if facts.is_mapped else None,
        title=facts.title,
        description="\n".join(map(one_space, facts.paragraphs)) or None,
        photos=photos,
        seller_type="agency" if facts.seller == AGENT else "owner",
        posted_at=None if is_renewed(advert) else _day(advert.posted_at),
        updated_at=_day(advert.updated_at) if is_renewed(advert) else None,
        status="active" if advert.gone is None else "delisted",
    )


def is_renewed(advert: Advert) -> bool:
    """Return the times. The page shows one date: of the posting, or of the last change if there was one."""
    return advert.updated_at != advert.posted_at


def _day(when: datetime) -> datetime:
    """Return the shown time: only the day, which begins at midnight in Baku."""
    return when.astimezone(BAKU).replace(hour=0, minute=0, second=0, microsecond=0)
