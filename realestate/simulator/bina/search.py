"""bina's GraphQL: `SearchItems` by the hash of its query, with a cursor from page to page."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from realestate.simulator.adverts import Advert
from realestate.simulator.bina.categories import CATEGORIES, CITIES, LOCATIONS
from realestate.simulator.bina.facts import facts_of
from realestate.simulator.bina.truth import updated_in_baku
from realestate.simulator.site import Found

#: The hash of the query that the site's pages send, and the name of the cursor in that query.
HASH = "b781511a943a4d710eefdf811a24dd4ae353e55d836952603ce0b37fde97d073"
#: A longer page exceeds the complexity limit.
MOST_AT_ONCE = 16
#: Paid adverts are first on the first page, and appear again in their usual place.
PROMOTED = 2
_START = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Search:
    """A filter, as the portal reads it. An unknown name is an error."""

    city: str | None = None
    category: str | None = None
    leased: bool | None = None
    daily: bool | None = None
    price_from: float | None = None
    price_to: float | None = None
    area_from: float | None = None
    area_to: float | None = None

    def find(self, listed: list[Advert]) -> list[Advert]:
        """Return the adverts that match, the last renewed first."""
        return [advert for advert in listed if self._matches(advert)]

    def _matches(self, advert: Advert) -> bool:
        home = advert.home
        wanted = (
            (self.city, CITIES[home.place.city]),
            (self.category, CATEGORIES[home.kind].id),
            (self.leased, home.operation == "rent"),
            (self.daily, advert.rent_period == "day"),
        )
        return all(wish is None or wish == value for wish, value in wanted) and all(
            _within(number, least, most)
            for number, least, most in (
                (advert.asking, self.price_from, self.price_to),
                (home.area_m2, self.area_from, self.area_to),
            )
        )


_FILTERS = {
    "cityId": "city",
    "categoryId": "category",
    "leased": "leased",
    "paidDaily": "daily",
    "priceFrom": "price_from",
    "priceTo": "price_to",
    "areaFrom": "area_from",
    "areaTo": "area_to",
}


class Refused(Exception):
    """A GraphQL request that the portal cannot process."""


def response(query: Mapping[str, str], found: Callable[[Search], Found]) -> bytes:
    try:
        data: dict[str, Any] = {"data": {"itemsConnection": _connection(query, found)}}
    except Refused as error:
        data = {"errors": [error.args[0]]}
    return msgspec.json.encode(data)


def _connection(query: Mapping[str, str], found: Callable[[Search], Found]) -> dict[str, Any]:
    persisted = _object(query, "extensions").get("persistedQuery")
    hash = persisted.get("sha256Hash") if isinstance(persisted, dict) else None
    if query.get("operationName") != "SearchItems" or not isinstance(hash, str):
        raise Refused({"message": "No query string was present"})
    if hash != HASH:
        raise Refused({"message": "PersistedQueryNotFound", "extensions": {"code": "PERSISTED_QUERY_NOT_FOUND"}})
    variables = _object(query, "variables")
    first = variables.get("first")
    if not isinstance(first, int) or first > MOST_AT_ONCE:
        raise Refused({"message": "Query has complexity of 1340, which exceeds max complexity of 1000"})
    adverts, total = found(_search(variables.get("filter") or {}))
    return _page(adverts, total, first, variables.get("cursor"))


def _page(adverts: list[Advert], total: int, first: int, cursor: Any) -> dict[str, Any]:
    start = _place(adverts, cursor)
    shown = adverts[start : start + first]
    more = start + first < total
    promoted = [each for each in adverts if facts_of(each).is_vip][:PROMOTED] if start == 0 else []
    return {
        "totalCount": total,
        "pageInfo": {"hasNextPage": more, "endCursor": _cursor(shown[-1]) if shown else None},
        "edges": [{"node": node(advert)} for advert in (*promoted, *shown)],
    }


def node(advert: Advert) -> dict[str, Any]:
    """Return an advert as a search shows it."""
    home = advert.home
    facts = facts_of(advert)
    return {
        "id": str(advert.ref),
        "leased": home.operation == "rent",
        "paidDaily": advert.rent_period == "day",
        "rooms": facts.rooms,
        "floor": facts.floor,
        "floors": facts.floors,
        "area": area(advert),
        "city": {"id": CITIES[home.place.city], "name": home.place.city},
        "location": location(advert),
        "price": price(advert),
        "hasRepair": facts.has_repair,
        "hasBillOfSale": facts.has_deed,
        "hasMortgage": facts.has_mortgage,
        "company": company(advert),
        "isBusiness": facts.firm is not None,
        "vipped": facts.is_vip,
        "featured": False,
        "photos": [_photo(advert, number) for number in range(1, facts.photos + 1)],
        "photosCount": facts.photos,
        "path": f"/items/{advert.ref}",
        "updatedAt": updated_in_baku(advert).isoformat(),
    }


def _photo(advert: Advert, number: int) -> dict[str, str]:
    return {size: f"/uploads/{size}/{advert.ref}/{number}.jpg" for size in ("thumbnail", "f460x345", "large")}


def area(advert: Advert) -> dict[str, Any]:
    home = advert.home
    if home.area_m2 is not None:
        return {"value": home.area_m2, "units": "m²"}
    return {"value": (home.plot_m2 or 0) / 100, "units": "sot"}


def price(advert: Advert) -> dict[str, Any]:
    return {"total": advert.price, "currency": "AZN"}


def location(advert: Advert) -> dict[str, Any] | None:
    named = facts_of(advert).places(advert.home)
    if not named:
        return None
    name = named[0].rpartition(" ")[0]
    return {"id": LOCATIONS[name], "name": name, "fullName": named[0]}


def company(advert: Advert) -> dict[str, Any] | None:
    firm = facts_of(advert).firm
    return {"id": str(advert.ref % 97), "name": firm, "targetType": "AGENCY"} if firm else None


def _search(data: Any) -> Search:
    if not isinstance(data, dict) or (unknown := data.keys() - _FILTERS.keys()):
        raise Refused({"message": f"Variable $filter was provided invalid value: {sorted(unknown)}"})
    return Search(**{_FILTERS[name]: value for name, value in data.items()})


def _place(adverts: list[Advert], cursor: Any) -> int:
    """Return the number of adverts up to the cursor. A cursor has a time and an advert, which may be gone by now."""
    if cursor is None:
        return 0
    try:
        milliseconds, ref = (int(part) for part in b64decode(str(cursor), validate=True).split(b"_"))
    except ValueError:
        raise Refused({"message": "Invalid cursor"}) from None
    return sum(1 for each in adverts if (_milliseconds(each), each.ref) >= (milliseconds, ref))


def _cursor(advert: Advert) -> str:
    return b64encode(f"{_milliseconds(advert)}_{advert.ref}".encode()).decode()


def _milliseconds(advert: Advert) -> int:
    return (advert.updated_at - _START) // timedelta(milliseconds=1)


def _within(number: float | None, least: float | None, most: float | None) -> bool:
    if least is None and most is None:
        return True
    return number is not None and (least is None or number >= least) and (most is None or number <= most)


def _object(query: Mapping[str, str], name: str) -> dict[str, Any]:
    try:
        data = msgspec.json.decode(query.get(name) or "{}")
    except msgspec.MsgspecError:
        raise Refused({"message": f"{name} is no JSON"}) from None
    return data if isinstance(data, dict) else {}
