"""The tap search: which adverts a query finds, in GraphQL or by a URL."""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from realestate.simulator.adverts import Advert
from realestate.simulator.places import AZERBAIJAN
from realestate.simulator.site import whole_number
from realestate.simulator.tap.facts import CATEGORIES

MOST_A_PAGE = 100
CATEGORY_IDS = {
    635: "menziller",
    601: "heyet-evleri",
    602: "torpaq-sahesi",
    605: "obyektler-ve-ofisler",
    603: "qarajlar",
}
REGION_IDS = {420 + number: city for number, city in enumerate(dict.fromkeys(place.city for place in AZERBAIJAN))}


class Unknown(ValueError):
    """The query names something that the portal does not have. The response says so."""


@dataclass(frozen=True, slots=True)
class Search:
    """A search without the cursor. None means any value."""

    category: str | None = None
    region: str | None = None
    least: int | None = None
    most: int | None = None

    @classmethod
    def filtered(cls, filters: Mapping[str, Any]) -> "Search":
        """Return the search of an AdFilterInput."""
        price = filters.get("price") or {}
        category = filters.get("categoryId")
        region = filters.get("regionId")
        return cls(
            CATEGORY_IDS.get(_number(category, "Category"), "") if category else None,
            REGION_IDS.get(_number(region, "Region"), "") if region else None,
            price.get("from"),
            price.get("to"),
        )

    @classmethod
    def linked(cls, link: str) -> "Search":
        """Return the search of a page's URL, as in `sourceLink`."""
        address, _, query = link.partition("?")
        parameters = parse_qsl(query, keep_blank_values=True)
        category = address.rstrip("/").rpartition("/")[2]
        region = next((whole_number(value) for name, value in parameters if name == "q[region_id]"), None)
        prices = [whole_number(value) for name, value in parameters if name == "q[price][]"]
        return cls(
            category if category in CATEGORY_IDS.values() else None,
            None if region is None else REGION_IDS.get(region, ""),
            prices[0] if prices else None,
            prices[1] if len(prices) > 1 else None,
        )

    def find(self, listed: list[Advert]) -> list[Advert]:
        """Return the adverts that match. In `listed` the newest is first."""
        kinds = {kind for kind, category in CATEGORIES.items() if self.category in (None, category)}
        least = self.least or 0
        most = float("inf") if self.most is None else self.most
        return [
            advert
            for advert in listed
            if least <= advert.asking <= most
            and advert.home.kind in kinds
            and self.region in (None, advert.home.place.city)
        ]


def cursor_of(offset: int) -> str:
    return b64encode(str(offset).encode()).decode().rstrip("=")


def offset_of(cursor: object) -> int:
    if cursor is None or cursor == "":
        return 0
    offset = whole_number(_decoded(cursor))
    if offset is None:
        raise Unknown(f"Invalid cursor: {cursor}")
    return offset


def _number(global_id: object, kind: str) -> int:
    head, _, number = _decoded(global_id).rpartition("/")
    if head != f"gid://tap/{kind}" or not number.isdecimal():
        raise Unknown(f"{global_id!r} is no id of a {kind}")
    return int(number[:12])


def _decoded(text: object) -> str:
    try:
        return b64decode(f"{text}===", validate=False).decode()
    except ValueError:
        return ""
