"""Adverts for furniture, which lalafo shows among homes and after the end of a feed."""

from typing import Any

from realestate.simulator.adverts import START, Advert
from realestate.simulator.lalafo.document import ACTIVE, COUNTRY, in_short

CATEGORY = 1423
FIRST = 900_000_000
COUNT = 50
_A_PAGE = 12
_HOMES = 4


def items(page: int, shown: list[Advert], *, has_url: bool) -> list[dict[str, Any]]:
    """Return a page past the end: some homes that do not match the query, and furniture."""
    homes = [shown[(page * 31 + number) % len(shown)] for number in range(min(_HOMES, len(shown)))]
    return [in_short(advert, has_url=has_url) for advert in homes] + [
        furniture(FIRST + (page * _A_PAGE + number) % COUNT) for number in range(_A_PAGE)
    ]


def furniture(ref: int) -> dict[str, Any]:
    """Return an advert that is not for a home, with a price and pictures like any other."""
    return {
        "id": ref,
        "title": "Künc divan, az işlənib",
        "description": "Künc divan, az işlənib. Çatdırılma var.",
        "images": [],
        "params": [{"id": 29, "name": "Vəziyyəti", "value": "İşlənmiş", "value_id": 2756, "links": []}],
        "price": 150 + ref % 400,
        "currency": "AZN",
        "symbol": "AZN",
        "category_id": CATEGORY,
        "country_id": COUNTRY,
        "city": "Bakı",
        "city_id": 103_261,
        "status_id": ACTIVE,
        "is_ppv": False,
        "is_vip": False,
        "created_time": int(START.timestamp()) - ref % 9_000,
        "updated_time": int(START.timestamp()) - ref % 9_000,
        "url": f"/baku/ads/kunc-divan-id-{ref}",
    }
