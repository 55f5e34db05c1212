"""What a perfect crawl would store of a lalafo advert."""

from decimal import Decimal

from realestate.items import Listing, SellerType
from realestate.simulator.adverts import Advert
from realestate.simulator.kinds import KINDS, Kind
from realestate.simulator.lalafo.document import pictures
from realestate.simulator.lalafo.facts import (
    AMENITIES,
    DEED,
    OWNER,
    REPAIRS,
    Facts,
    category_of,
    changed_at,
    created_at,
    facts_of,
)
from realestate.simulator.site import one_space

_CONDITIONS = dict(zip(REPAIRS, ("unrenovated", "average", "good", "excellent"), strict=True))
_FEATURES = dict(
    zip(AMENITIES, ("lift", "balcony", "air_conditioning", "swimming_pool", "parking", "furnished"), strict=True)
)


_KINDS = KINDS | dict.fromkeys(("yard_house", "garden_house", "villa"), Kind("house"))
_KINDS["shop"] = Kind("commercial", "shop")
#: The only category that says more about a house.
_GARDEN_HOUSES = 5952


def listing(advert: Advert, url: str) -> Listing:
    home = advert.home
    facts = facts_of(advert)
    kind = _KINDS[advert.home.kind]
    price = advert.price
    return Listing(
        portal=advert.portal,
        ref=str(advert.ref),
        url=url,
        country="AZ",
        operation=home.operation,
        rent_period=advert.rent_period,
        property_type=kind.property_type,
        subtype="garden_house" if category_of(advert) == _GARDEN_HOUSES else kind.subtype,
        is_new_building=kind.is_new_building,
        price=None if price is None else Decimal(price),
        currency=None if price is None else facts.currency,
        price_basis="on_request" if price is None else "total",
        area_m2=home.area_m2,
        plot_m2=home.plot_m2,
        rooms=facts.rooms,
        floor=facts.floor,
        floors_total=facts.floors,
        condition=facts.repair and _CONDITIONS[facts.repair],
        has_deed=None if facts.document is None else facts.document == DEED,
        features=frozenset(_FEATURES[word] for word in facts.amenities),
        city=home.place.city,
        district=facts.district or facts.settlement,
        metro_station=facts.metro,
        latitude=home.latitude if facts.is_mapped else None,
        longitude=home.longitude if facts.is_mapped else None,
        geo_precision="approximate" if facts.is_mapped else None,
        title=one_space(facts.title.replace("\n", " ")),
        description=one_space(facts.text),
        photos=[picture["original_url"] for picture in pictures(advert, facts.photos)],
        seller_type=_seller(facts),
        agency_name=facts.firm,
        posted_at=created_at(advert),
        updated_at=changed_at(advert),
        status="active" if advert.gone is None else "delisted",
    )


def _seller(facts: Facts) -> SellerType | None:
    """Return the kind of seller. What the advert says is preferred to the kind of account."""
    if facts.offerer is None:
        return "agency" if facts.firm else None
    return "owner" if facts.offerer == OWNER else "agency"
