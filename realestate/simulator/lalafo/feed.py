"""The lalafo feed: which adverts a query finds, and the response with a page of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from zlib import crc32

from realestate.simulator.adverts import Advert
from realestate.simulator.lalafo import filler
from realestate.simulator.lalafo.document import in_short
from realestate.simulator.lalafo.facts import CITIES, ROOT, category_of, created_at
from realestate.simulator.site import Found, page_number, whole_number

#: The most results of a query. The total is never higher, even if there are more.
MOST_ROWS = 10_000
PAGE_SIZE = 20
LARGEST_PAGE = 50
#: Of the pages, one in so many begins with paid adverts, whatever was searched; the first page does.
PAID_EVERY = 3
#: Paid adverts on such a page.
PAID = 4

_ORDERS: dict[str, Callable[[Advert], Any]] = {
    "newest": lambda advert: (-created_at(advert).timestamp(), -advert.ref),
    "cheapest": lambda advert: (advert.asking, advert.ref),
    "expensive": lambda advert: (-advert.asking, advert.ref),
    "default": lambda advert: crc32(advert.key.encode()),
}


@dataclass(frozen=True, slots=True)
class Search:
    """A search without the page number. An unknown value counts as none."""

    category: int | None
    city: int | None
    price_from: int | None
    price_to: int | None
    order: str

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Search":
        order = query.get("sort_by", "default")
        return cls(
            category=whole_number(query.get("category_id")),
            city=whole_number(query.get("city_id")),
            price_from=whole_number(query.get("price[from]")),
            price_to=whole_number(query.get("price[to]")),
            order=order if order in _ORDERS else "default",
        )

    def find(self, listed: list[Advert]) -> list[Advert]:
        return sorted(filter(self._matches, listed), key=_ORDERS[self.order])

    def _matches(self, advert: Advert) -> bool:
        return (
            self.category in (None, ROOT, category_of(advert))
            and self.city in (None, CITIES[advert.home.place.city][0])
            and (self.price_from is None or advert.asking >= self.price_from)
            and (self.price_to is None or advert.asking <= self.price_to)
        )


def feed_page(query: Mapping[str, str], found: Found, shown: list[Advert]) -> dict[str, Any]:
    """Return one page. It may be longer than requested. A page past the end has other adverts."""
    requested_size = whole_number(query.get("per-page")) or PAGE_SIZE  # `per_page` is ignored
    size = min(requested_size, LARGEST_PAGE)
    page = page_number(query.get("page"))
    total = min(found.total, MOST_ROWS)
    pages = -(-total // size)
    adverts = found.adverts[:MOST_ROWS][(page - 1) * size : page * size]
    paid = _paid(page, shown) if adverts else []
    has_url = "url" in query.get("expand", "").split(",")
    items = [_as_paid(advert, has_url) for advert in paid] + [in_short(each, has_url=has_url) for each in adverts]
    return {
        "items": items if page <= max(1, pages) else filler.items(page, shown, has_url=has_url),
        "_links": _links(query, page, pages),
        "_meta": {
            "totalCount": total,
            "pageCount": pages,
            "currentPage": page,
            "perPage": size,
            "feed": "ppv-category" if paid else "category",
        },
    }


def _paid(page: int, shown: list[Advert]) -> list[Advert]:
    """Return the paid adverts of a page. They are at their usual place too."""
    if page % PAID_EVERY != 1 or len(shown) < PAID:
        return []
    return [shown[(page * 7919 + number * 31) % len(shown)] for number in range(PAID)]


def _as_paid(advert: Advert, has_url: bool) -> dict[str, Any]:
    return in_short(advert, has_url=has_url) | {"is_ppv": True}


def _links(query: Mapping[str, str], page: int, pages: int) -> dict[str, Any]:
    def link(number: int) -> dict[str, str]:
        return {"href": "/v3/ads/search?" + urlencode({**query, "page": number})}

    following = {"next": link(page + 1)} if page < pages else {}
    return {"self": link(page), "first": link(1), "last": link(max(1, pages)), **following}
