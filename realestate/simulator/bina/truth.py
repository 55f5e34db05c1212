"""What a perfect crawl would store of a bina advert."""

from datetime import datetime, timedelta, timezone
from decimal import Decimal

from realestate.items import Listing
from realestate.simulator.adverts import DAY, START, Advert
from realestate.simulator.bina.facts import AGENT, Facts, facts_of
from realestate.simulator.kinds import KINDS, Kind
from realestate.simulator.site import one_space

BAKU = timezone(timedelta(hours=4))
#: A page of the old form shows only the day of a renewal that is longer ago than this.
LONG_AGO = START - 30 * DAY


_HOUSE = Kind("house", "yard_or_garden_house")
_KINDS = KINDS | dict.fromkeys(("yard_house", "garden_house", "villa"), _HOUSE)


def listing(advert: Advert, url: str, photos: list[str]) -> Listing:
    home = advert.home
    facts = facts_of(advert)
    kind = _KINDS[advert.home.kind]
    price = advert.price
    latitude, longitude, precision = _point(advert, facts)
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
        plot_m2=home.plot_m2 if facts.land_sot is None else facts.land_sot * 100.0,
        rooms=facts.rooms,
        floor=facts.floor,
        floors_total=facts.floors,
        condition=None if facts.has_repair is None else "renovated" if facts.has_repair else "unrenovated",
        has_deed=facts.has_deed,
        has_mortgage=facts.has_mortgage,
        city=home.place.city if facts.form != "old" or facts.street else None,
        district=home.place.district if facts.shows_district and home.place.district else facts.settlement,
        metro_station=facts.metro,
        street=facts.street,
        latitude=latitude,
        longitude=longitude,
        geo_precision=precision,  # type: ignore[arg-type]
        title=facts.title,
        description="\n".join(map(one_space, facts.paragraphs)) or None,
        photos=photos,
        seller_type="agency" if facts.contact_type == AGENT else "owner",
        agency_name=facts.firm,
        updated_at=shown_at(advert),
        status="active" if advert.gone is None else "delisted",
    )


def updated_in_baku(advert: Advert) -> datetime:
    """Return the time to the second, in the time zone of Baku."""
    return advert.updated_at.astimezone(BAKU).replace(microsecond=0)


def shown_at(advert: Advert) -> datetime:
    """Return the time of the last change as the page shows it. An old page shows the minute, or only the day if it is
    long ago."""
    updated = updated_in_baku(advert)
    if facts_of(advert).form != "old":
        return updated
    return updated.replace(hour=0, minute=0, second=0) if advert.updated_at < LONG_AGO else updated.replace(second=0)


def centre(advert: Advert) -> tuple[float, float]:
    """Return the coordinates of the place that the advert names, not of the home."""
    return advert.home.place.latitude, advert.home.place.longitude


def _point(advert: Advert, facts: Facts) -> tuple[float | None, float | None, str | None]:
    if facts.is_mapped:
        return advert.home.latitude, advert.home.longitude, "exact"
    if facts.form == "old" or not facts.places(advert.home):
        return None, None, None
    return *centre(advert), "approximate"
