"""The JSON that lists what an immoweb search found."""

from collections.abc import Mapping
from typing import Any

from realestate.simulator.adverts import Advert
from realestate.simulator.immoweb.classified import PICTURES, date_text, display_flags, pictures
from realestate.simulator.immoweb.facts import charges_of, facts_of
from realestate.simulator.immoweb.prices import price_block
from realestate.simulator.immoweb.projects import summary
from realestate.simulator.immoweb.property import location
from realestate.simulator.immoweb.query import TYPES, Search
from realestate.simulator.site import Found, page_number

PAGE_SIZE = 30
LAST_PAGE = 333
PROMOTED_EVERY = 3

_ECHOED = ("countries", "minPrice", "maxPrice", "minSurface", "maxSurface")


def results_page(search: Search, query: Mapping[str, str], found: Found, listed: list[Advert]) -> dict[str, Any]:
    """Return one page of the search. Past the limit of pages, or past the end, the list is empty."""
    page = page_number(query.get("page"))
    first = (page - 1) * PAGE_SIZE
    adverts, total = found
    shown = adverts[first : first + PAGE_SIZE] if page <= LAST_PAGE else []
    promoted = _promoted(page, listed) if shown else []
    items = [item(advert) for advert in (*promoted, *shown)]
    return {
        "criteria": _criteria(search, query, page),
        "sort": search.order,
        "results": items,
        "resultsStorage": [each["id"] for each in items],
        "range": f"{first}-{first + PAGE_SIZE - 1}",
        "marketingCount": total,
        "count": total,
        "geoPointCount": sum(not facts_of(advert).is_address_hidden for advert in shown),
        "labellizedSearch": f"{search.type.capitalize()} {search.deal.replace('-', ' ')} - {total} properties",
        "totalItems": total,
        "currentPage": page,
        "hasPremiumPosition": bool(promoted),
    }


def item(advert: Advert) -> dict[str, Any]:
    """Return one result. It has fewer fields than the page, and the area of the land under another key."""
    home = advert.home
    facts = facts_of(advert)
    return {
        "id": advert.ref,
        "cluster": summary(advert),
        "customerLogoUrl": f"{PICTURES}/logos/{facts.seller_id}.png",
        "customerName": facts.seller_name,
        "flags": display_flags(advert, facts),
        "media": {
            "pictures": [
                picture | {"extralargeUrl": picture["largeUrl"].replace("736x736", "2560x2560")}
                for picture in pictures(advert, min(4, facts.pictures))
            ],
            "externalVideoUrl": None,
            "externalVideoThumbnailUrl": None,
        },
        "property": {
            "type": home.kind.upper(),
            "subtype": home.subtype.upper(),
            "title": facts.own_title,
            "bedroomCount": facts.bedrooms,
            "location": location(advert, facts) | {"pointsOfInterest": None},
            "netHabitableSurface": facts.area_m2,
            "landSurface": facts.plot_m2 or 0,
            "roomCount": facts.rooms,
        },
        "publication": {
            "publisherId": None,
            "visualisationOption": "XL",
            "detailedPageVisibility": "CLASSIC",
            "size": "xl",
            "creationDate": None,
            "lastModificationDate": date_text(advert.updated_at, facts),
        },
        "transaction": _transaction(advert),
        "priceType": None,
        "price": price_block(advert) | {"hidePrice": advert.on_request},
        "isBookmarked": False,
        "has360Tour": None,
        "hasVirtualTour": None,
        "hasVideo": None,
        "advertisementId": f"ad-{advert.ref}",
    }


def _promoted(page: int, listed: list[Advert]) -> list[Advert]:
    """Every third page begins with a paid advert that does not match the search."""
    return [listed[page * 7919 % len(listed)]] if page % PROMOTED_EVERY == 1 else []


def _criteria(search: Search, query: Mapping[str, str], page: int) -> dict[str, Any]:
    """Return the query as the portal has read it."""
    echoed: dict[str, Any] = {name: query[name] for name in _ECHOED if name in query}
    if search.postal_codes:
        echoed["postalCodes"] = [_postal_code(code) for code in sorted(search.postal_codes)]
    kinds = ",".join(kind.upper() for kind in TYPES[search.type] if not kind.endswith("_group"))
    deal = "FOR_SALE" if search.deal == "for-sale" else "FOR_RENT"
    return {**echoed, "propertyTypes": kinds, "transactionTypes": deal, "page": str(page)}


def _postal_code(code: str) -> dict[str, Any]:
    return {
        "queryValue": code,
        "queryParam": "postalCodes",
        "slug": code,
        "shortLabel": code,
        "label": code,
        "translations": {"fr": code, "en": code, "nl": code},
    }


def _transaction(advert: Advert) -> dict[str, Any]:
    is_sale = advert.home.operation == "sale"
    monthly = advert.price if advert.rent_period == "month" else None
    sale = {
        "lifeAnnuity": None,
        "hasStartingPrice": False,
        "oldPrice": advert.old_price,
        "price": advert.price,
        "pricePerSqm": None,
        "publicSale": None,
        "toBuild": None,
        "isSubjectToVat": None,
    }
    return {
        "certificateLogoUrl": None,
        "certificate": None,
        "hidePrice": None,
        "type": "FOR_SALE" if is_sale else "FOR_RENT",
        "rental": None if is_sale else {"monthlyRentalPrice": monthly, "monthlyRentalCosts": charges_of(advert)},
        "sale": sale if is_sale else None,
    }
