"""What a perfect crawl would store of an immoweb advert."""

from decimal import Decimal

from realestate.items import GeoPrecision, Listing, PropertyType, SellerType, Status
from realestate.simulator.adverts import Advert
from realestate.simulator.immoweb.classified import pictures
from realestate.simulator.immoweb.facts import Facts, charges_of, facts_of
from realestate.simulator.site import one_space

_TYPES: dict[str, PropertyType] = {
    "house": "house",
    "house_group": "house",
    "apartment": "apartment",
    "apartment_group": "apartment",
    "land": "land",
    "garage": "garage",
    "office": "office",
    "kot": "room",
    "business": "commercial",
    "industry": "commercial",
}
_SELLERS: dict[str, SellerType] = {
    "AGENCY": "agency",
    "NOTARY": "agency",
    "PRIVATE": "owner",
    "DEVELOPER": "developer",
}


def listing(advert: Advert, url: str) -> Listing:
    home = advert.home
    place = advert.home.place
    facts = facts_of(advert)
    charges = charges_of(advert)
    is_located = not facts.is_address_hidden
    return Listing(
        portal=advert.portal,
        ref=str(advert.ref),
        url=url,
        country="BE",
        operation=home.operation,
        rent_period=advert.rent_period,
        property_type=_TYPES[home.kind],
        subtype=home.subtype,
        is_new_building=facts.is_newly_built,
        price=None if advert.price is None else Decimal(advert.price),
        currency=None if advert.price is None else "EUR",
        price_basis="on_request" if advert.price is None else "total",
        charges=None if charges is None else Decimal(charges),
        area_m2=facts.area_m2,
        plot_m2=facts.plot_m2,
        rooms=facts.rooms,
        bedrooms=facts.bedrooms,
        bathrooms=facts.bathrooms,
        floor=facts.floor,
        floors_total=facts.floors,
        year_built=facts.year,
        condition=facts.condition and facts.condition.lower(),
        energy_class=facts.epc_score,
        energy_kwh_m2=facts.energy_kwh_m2,
        heating=facts.heating and facts.heating.lower(),
        facades=facts.facades,
        features=_features(facts),
        region=place.region,
        city=place.city,
        district=place.district,
        street=_street(home.street, facts.number) if is_located else None,
        postal_code=place.postal_code,
        latitude=home.latitude if is_located else None,
        longitude=home.longitude if is_located else None,
        geo_precision=_precision(facts),
        title=one_space(facts.own_title or facts.og_title),
        description=None if facts.description == "-" else one_space(facts.description),
        photos=[picture["largeUrl"] for picture in pictures(advert, facts.pictures)],
        seller_type=_SELLERS[facts.seller],
        agency_name=None if facts.seller == "PRIVATE" else facts.seller_name,
        agency_ref=facts.seller_ref,
        posted_at=advert.posted_at,
        updated_at=advert.updated_at,
        status=_status(advert),
    )


def _status(advert: Advert) -> Status:
    """A removed advert whose page can still be read says why."""
    if advert.gone is not None:
        return "sold" if advert.home.operation == "sale" else "rented"
    return "reserved" if advert.is_reserved else "active"


def _features(facts: Facts) -> frozenset[str]:
    words = {word for word, has in facts.has.items() if has}
    if facts.is_furnished:
        words.add("furnished")
    if any(facts.parking.values()):
        words.add("parking")
    return frozenset(words)


def _street(street: str, number: str | None) -> str:
    return street if number is None else f"{street} {number}"


def _precision(facts: Facts) -> GeoPrecision | None:
    if facts.is_address_hidden:
        return None
    return "approximate" if facts.is_approximate else "exact"
