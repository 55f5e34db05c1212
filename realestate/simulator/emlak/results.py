"""The emlak search: which adverts a query finds, and the page that lists them as cards."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from realestate.items import RentPeriod
from realestate.simulator.adverts import Advert
from realestate.simulator.emlak.facts import facts_of, grouped
from realestate.simulator.emlak.frame import FOOT, head
from realestate.simulator.emlak.page import ON_REQUEST, raised
from realestate.simulator.site import Found, page_number, whole_number

PAGE_SIZE = 20
PINNED = 3
FLASH = '<div class="flash alert alert-warning">Elan tapılmadı və ya silinib.</div>\n'

_DEALS = {"1": ("sale",), "2": ("rent",), "3": ("sale", "rent")}
_PERIODS: dict[RentPeriod | None, str] = {"month": " / ay", "day": " / gün", None: ""}

#: sort_type: 0 by time of renewal, 1 by time of posting, 2 by area, 3 cheapest first, 4 most expensive first
_ORDERS: dict[str, Callable[[Advert], Any]] = {
    "0": lambda advert: 0,
    "1": lambda advert: -advert.ref,
    "2": lambda advert: (-(advert.home.area_m2 or advert.home.plot_m2 or 0), advert.ref),
    "3": lambda advert: (advert.asking, advert.ref),
    "4": lambda advert: (-advert.asking, advert.ref),
}


@dataclass(frozen=True, slots=True)
class Search:
    """A search without the page number. An unknown value counts as the portal's first choice."""

    ann_type: str
    sort_type: str
    price_min: int | None
    price_max: int | None

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Search":
        ann_type = query.get("ann_type", "3")
        sort_type = query.get("sort_type", "0")
        return cls(
            ann_type=ann_type if ann_type in _DEALS else "3",
            sort_type=sort_type if sort_type in _ORDERS else "0",
            price_min=whole_number(query.get("price_min")),
            price_max=whole_number(query.get("price_max")),
        )

    def find(self, listed: list[Advert]) -> list[Advert]:
        """Return the adverts that match, in order. In `listed` the newest is first."""
        return sorted(filter(self._matches, listed), key=_ORDERS[self.sort_type])

    def _matches(self, advert: Advert) -> bool:
        return (
            advert.home.operation in _DEALS[self.ann_type]
            and (self.price_min is None or advert.asking >= self.price_min)
            and (self.price_max is None or advert.asking <= self.price_max)
        )

    def address(self, page: int) -> str:
        limits = {"price_min": self.price_min, "price_max": self.price_max}
        kept = "".join(f"&{name}={limit}" for name, limit in limits.items() if limit is not None)
        return escape(f"/elanlar/?ann_type={self.ann_type}&sort_type={self.sort_type}{kept}&page={page}")


def results_page(
    search: Search, asked_page: str | None, found: Found, path: Callable[[Advert], str], flash: str = ""
) -> bytes:
    """Return one page of cards. A page past the end is the last page. Every second page begins with paid cards."""
    adverts, total = found
    last = max(1, -(-total // PAGE_SIZE))
    page = min(page_number(asked_page), last)
    shown = adverts[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    pinned = adverts[:: max(1, len(adverts) // PINNED)][:PINNED] if page % 2 and shown else []
    cards = [_card(advert, path(advert), "ticket clearfix pinned") for advert in pinned]
    cards += [_card(advert, path(advert), "ticket clearfix") for advert in shown]
    body = f"""{flash}<h1 class="title">Elanlar <span>/ {total} elan tapıldı</span></h1>
<div class="ticket-list">
{"".join(cards)}</div>
<div class="pagination"><ul>
{_pager(search, page, last)}</ul></div>
"""
    return head("Elanlar") + body.encode() + FOOT


def _card(advert: Advert, href: str, style: str) -> str:
    facts = facts_of(advert)
    urgently = '<span class="urgently">Təcili</span>' if facts.is_urgent else ""
    text = escape(" ".join(" ".join(facts.paragraphs).split())[:220])
    info = f"Mərtəbə: {facts.floor}/{facts.floors}  " if facts.floor and facts.floors else ""
    info += f"Sənədin tipi: {facts.document}" if facts.document else ""
    return f"""<div class="{style}">
<div class="img"><a href="{href}"><img src="/images/announces/{advert.ref}/1_s.jpg" alt=""></a>{urgently}</div>
<h6 class="title"><a href="{href}">{raised(facts.title)}</a></h6>
<p class="price">{_price(advert, facts.space)}</p>
<div class="info">{info}</div>
<div class="description"><p>{text}</p></div>
</div>
"""


def _price(advert: Advert, space: str) -> str:
    """Only the search page shows whether a rent is for a month or a day."""
    if advert.price is None:
        return ON_REQUEST
    return f"{grouped(advert.price, space)} AZN{_PERIODS[advert.rent_period]}"


def _pager(search: Search, page: int, last: int) -> str:
    pages = [number for number in (1, page - 2, page - 1, page, page + 1, page + 2, last) if 1 <= number <= last]
    links = [(str(number), number) for number in sorted(set(pages))]
    if page < last:
        links.append(("Növbəti →", page + 1))
    return "".join(f'<li><a href="{search.address(number)}">{text}</a></li>\n' for text, number in links)
