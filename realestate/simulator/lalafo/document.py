"""The documents of lalafo's API: a complete advert (`feed/details`), and a short one (the feed)."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from realestate.simulator.adverts import Advert
from realestate.simulator.lalafo.facts import CITIES, Facts, category_of, changed_at, created_at, facts_of
from realestate.simulator.lalafo.params import params

ACTIVE = 2
DEACTIVATED = 7
COUNTRY = 13
_MANATS = {"AZN": 1.0, "USD": 1.7}  # fixed since 2017
_SYMBOLS = {"AZN": "AZN", "USD": "$"}
_PICTURES = "https://img{host}.lalafo.test/i/posters"

_LABELS = {None: "Satış", "month": "Kirayə", "day": "Günlük kirayə"}


def path(advert: Advert) -> str:
    return f"/{CITIES[advert.home.place.city][1]}/ads/{facts_of(advert).slug}-id-{advert.ref}"


def details(advert: Advert, *, in_russian: bool = False) -> dict[str, Any]:
    """Return all fields of an advert."""
    facts = facts_of(advert)
    return {
        **_what(advert, facts),
        "params": params(advert, facts, in_russian=in_russian),
        "images": list(pictures(advert, facts.photos)),
        **_whose(advert, facts),
        **_how_it_stands(advert, facts),
        "features": [],
        "products": [1] if facts.is_paid else [],
        "rejected_reason": None,
        "tracking_info": [],
        "available_campaign_types": ["adViews"],
        "campaign": [_campaign(advert)] if facts.is_paid else [],
        "url": path(advert),
    }


def in_short(advert: Advert, *, has_url: bool) -> dict[str, Any]:
    """Return an advert as the feed shows it: without params, and with the address only if requested."""
    facts = facts_of(advert)
    fields = details(advert) | {"params": [], "images": list(pictures(advert, min(3, facts.photos)))}
    for name in ("mobile", "email", "user_ids", "origin_user_id", "rejected_reason", "tracking_info", "products"):
        del fields[name]
    if not has_url:
        del fields["url"]
    return fields | {
        "ad_label": _LABELS[advert.rent_period],
        "city_alias": CITIES[advert.home.place.city][1],
        "image": f"/{advert.ref}/0.jpeg" if facts.photos else None,
        "last_push_up": _seconds(created_at(advert)) * 1000,
    }


def pictures(advert: Advert, count: int) -> Iterator[dict[str, Any]]:
    base = _PICTURES.format(host=advert.ref % 7 + 1)
    for number in range(count):
        name = f"{advert.ref}/{number}"
        yield {
            "id": advert.ref * 100 + number,
            "is_main": number == 0,
            "thumbnail_url": f"{base}/api/{name}.jpeg",
            "thumbnail_webp_url": f"{base}/api_webp/{name}.webp",
            "original_url": f"{base}/original/{name}.jpeg",
            "original_webp_url": f"{base}/original_webp/{name}.webp",
            "width": 370,
            "height": 278,
            "is_cv_image": False,
            "p_hash": str(advert.ref * 7919 + number),
        }


def _what(advert: Advert, facts: Facts) -> dict[str, Any]:
    home = advert.home
    pin = (home.latitude, home.longitude) if facts.is_mapped else (0, 0) if facts.views % 2 else (None, None)
    old = advert.old_price if advert.price is not None else None
    return {
        "id": advert.ref,
        "old_id": None,
        "title": facts.title,
        "description": facts.text,
        "price": facts.on_request if advert.price is None else advert.price,
        "old_price": old,
        "currency": facts.currency,
        "symbol": _SYMBOLS[facts.currency],
        "price_type": 1,
        "is_negotiable": advert.price is None,
        "national_price": _national(advert.price, facts),
        "national_old_price": _national(old, facts),
        "category_id": category_of(advert),
        "country_id": COUNTRY,
        "city": home.place.city,
        "city_id": CITIES[home.place.city][0],
        "lat": pin[0],
        "lng": pin[1],
        "is_hide_house_number": False,
    }


def _whose(advert: Advert, facts: Facts) -> dict[str, Any]:
    """Return the seller, with personal data that a parser must not store."""
    number = 11_000_000 + advert.ref % 100_000
    business = {"business": True, "features": {"company_name": facts.firm}} if facts.firm else None
    return {
        "user_id": number,
        "user_ids": [number],
        "origin_user_id": number,
        "device_id": None,
        "username": facts.person,
        "mobile": facts.phone,
        "email": f"{number}@example.com",
        "hide_phone": False,
        "hide_chat": None,
        "user": {
            "id": number,
            "username": facts.person,
            "avatar": None,
            "pro": facts.firm is not None,
            "user_hash": f"{number:x}",
            "response_rate": 80,
            "response_time": 120,
            "response_info": "Mesajların 80%-nə cavab verir",
            "business": business,
        },
    }


def _how_it_stands(advert: Advert, facts: Facts) -> dict[str, Any]:
    changed = _seconds(changed_at(advert))
    return {
        "status_id": ACTIVE if advert.gone is None else DEACTIVATED,
        "type": None,
        "created_time": _seconds(created_at(advert)),
        "updated_time": round(changed_at(advert).timestamp() * 1000) if facts.has_ms else changed,
        "score_order": round(advert.updated_at.timestamp() * 1000),
        "views": facts.views,
        "impressions": facts.views * 7,
        "favorite_count": facts.views // 90,
        "callers_count": facts.views // 200,
        "writers_count": facts.views // 300,
        "is_vip": facts.is_paid,
        "is_premium": False,
        "is_select": False,
        "is_favorite": False,
        "is_freedom": False,
        "is_ppv": facts.is_paid,
        "is_private_ad": facts.firm is None,
        "is_identity": False,
        "is_paid_posting": False,
        "can_free_push": False,
        "response_type": 0,
        "campaign_show": False,
    }


def _campaign(advert: Advert) -> dict[str, Any]:
    return {
        "id": 18_000_000 + advert.ref % 100_000,
        "ad_id": advert.ref,
        "type": "adViewsDaily",
        "status": "started",
        "params": [{"key": "impressions", "value": 6538}],
    }


def _national(price: int | None, facts: Facts) -> dict[str, Any] | None:
    if price is None:
        return None
    return {"price": round(price * _MANATS[facts.currency]), "currency": {"id": 944, "code": "AZN"}}


def _seconds(time: datetime) -> int:
    return int(time.timestamp())
