"""The present page of a bina advert: JSON-LD for search engines, and `__NEXT_DATA__` in one of two forms."""

from datetime import timedelta
from html import escape
from typing import Any

import msgspec

from realestate.simulator.adverts import Advert, dice
from realestate.simulator.bina.categories import CATEGORIES, CITIES, LOCATIONS
from realestate.simulator.bina.facts import Facts, facts_of
from realestate.simulator.bina.footer import FOOT
from realestate.simulator.bina.search import area, company, location, price
from realestate.simulator.bina.truth import centre, updated_in_baku

BUILD = "k3Jx0simulated"
#: The location of every firm's office, which is not that of the home.
OFFICE = {"latitude": 40.3777, "longitude": 49.8920}


def photo_paths(advert: Advert) -> list[str]:
    return [f"/uploads/full/{advert.ref}/{number}.jpg" for number in range(1, facts_of(advert).photos + 1)]


def advert_page(advert: Advert, base: str) -> bytes:
    facts = facts_of(advert)
    photos = [base + path for path in photo_paths(advert)]
    return f"""<!DOCTYPE html><html lang="az"><head><meta charset="utf-8"/>
<title>{escape(facts.title)} – sınaq portalı</title>
<meta property="og:title" content="{escape(facts.title)}"/>
<script type="application/ld+json">{_json(_linked(advert, facts, photos))}</script>
</head><body><div id="__next"><div class="sc-1a2b3c4d-0 kQzXyW" data-cy="item-page"><h1>{escape(facts.title)}</h1>
</div>{FOOT}</div>
<script id="__NEXT_DATA__" type="application/json">{_json(_next(advert, facts, photos))}</script>
</body></html>
""".encode()


def _json(value: Any) -> str:
    """Return JSON as Next.js writes it: nothing in it can end the script element."""
    return msgspec.json.encode(value).decode().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _linked(advert: Advert, facts: Facts, photos: list[str]) -> Any:
    """Return the JSON-LD: one object, or a list with other objects."""
    home = advert.home
    offered: dict[str, Any] = {
        "@type": "Accommodation",
        "numberOfRooms": facts.rooms,
        "floorSize": {"@type": "QuantitativeValue", "value": home.area_m2, "unitCode": "MTK"},
        "address": {"@type": "PostalAddress", "streetAddress": facts.street, "addressLocality": home.place.city},
    }
    if plot := home.plot_m2 if facts.land_sot is None else facts.land_sot * 100:
        offered["landArea"] = {"@type": "QuantitativeValue", "value": plot, "unitCode": "MTK"}
    product = {
        "@context": "https://schema.org",
        "@type": "Product",
        "name": facts.title,
        "description": "\n".join(facts.paragraphs),
        "image": photos,
        "offers": {
            "@type": "Offer",
            "price": advert.price,
            "priceCurrency": "AZN",
            "itemOffered": offered,
        },
    }
    crumbs = {"@context": "https://schema.org", "@type": "BreadcrumbList", "itemListElement": []}
    return [crumbs, product] if dice(advert.key, "linked").random() < 0.5 else product


def _next(advert: Advert, facts: Facts, photos: list[str]) -> dict[str, Any]:
    item = _item(advert, facts, photos)
    shown = {"currentItemData": item} if facts.form == "current" else {"initialApolloState": _cache(item, advert)}
    return {"props": {"pageProps": {**shown, "locale": "az"}}, "page": "/items/[id]", "buildId": BUILD}


def _item(advert: Advert, facts: Facts, photos: list[str]) -> dict[str, Any]:
    home = advert.home
    category = CATEGORIES[advert.home.kind]
    latitude, longitude = centre(advert)
    place = location(advert)
    firm = company(advert)
    updated = updated_in_baku(advert)
    return {
        "id": str(advert.ref),
        "rooms": facts.rooms,
        "floor": facts.floor,
        "floors": facts.floors,
        "area": area(advert),
        "landArea": {"value": facts.land_sot, "units": "sot"} if facts.land_sot else None,
        "price": price(advert),
        "category": {"name": category.name, "slug": category.slug},
        "buildingTypeName": category.name if category.id == "1" else None,
        "breadcrumbs": [{"name": "Alqı-satqı" if home.operation == "sale" else "Kirayə"}, {"name": category.name}],
        "hasRepair": facts.has_repair,
        "hasBillOfSale": facts.has_deed,
        "hasMortgage": facts.has_mortgage,
        "hasInternalLoan": None,
        "city": {"id": CITIES[home.place.city], "name": home.place.city},
        "location": place and {**place, "latitude": latitude, "longitude": longitude},
        "nearestLocations": [
            {"id": LOCATIONS[name.rpartition(" ")[0]], "fullName": name} for name in facts.places(home)
        ],
        "address": {"street": facts.street, "city": home.place.city} if facts.is_address_split else facts.street,
        "latitude": home.latitude if facts.is_mapped else None,
        "longitude": home.longitude if facts.is_mapped else None,
        "contactName": facts.contact_name,
        "contactTypeName": facts.contact_type,
        "company": firm and {**firm, **OFFICE},
        "business": firm and {"id": firm["id"], "name": firm["name"]},
        "views": facts.views,
        "isVipped": facts.is_vip,
        "isFeatured": False,
        "isLeased": home.operation == "rent",
        "updatedAt": updated.isoformat(),
        "expiresAt": (updated + timedelta(days=30)).isoformat(),
        "photos": [{"full": url, "large": url.replace("/full/", "/large/"), "url": None} for url in photos],
        "metaTags": {"title": f"{facts.title} – sınaq portalı"},
        "description": "\n".join(facts.paragraphs),
    }


def _cache(item: dict[str, Any], advert: Advert) -> dict[str, Any]:
    """Return Apollo's cache: key -> object. Similar adverts are in it too, before the advert."""
    similar = {"__typename": "Item", "id": str(advert.ref + 1), "price": {"total": 1, "currency": "AZN"}}
    cache: dict[str, Any] = {"ROOT_QUERY": {"__typename": "Query"}, f"Item:{advert.ref + 1}": similar}
    for name, typename in (("city", "City"), ("location", "Location"), ("company", "Company")):
        if item[name]:
            key = f"{typename}:{item[name]['id']}"
            cache[key] = {"__typename": typename, **item[name]}
            item = {**item, name: {"__ref": key}}
    photos = item.pop("photos")
    own = {"__typename": "Item", **item, 'photos({"limit":30})': photos}
    return {**cache, f"Item:{advert.ref}": own}
