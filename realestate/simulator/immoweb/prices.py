"""Prices as immoweb writes them: the same block on a page and in the search."""

from typing import Any

from realestate.simulator.world import Advert


def price_block(advert: Advert, charges: int | None) -> dict[str, Any]:
    """A price, a project's range, or nothing but words where the price is on request."""
    is_sale, price = advert.home.operation == "sale", advert.price
    old = advert.old_price if price is not None else None
    shown = _shown(advert, charges)
    return {
        "type": "residential_sale" if is_sale else "residential_monthly_rent",
        "mainValue": price,
        "alternativeValue": None,
        "additionalValue": charges,
        "oldValue": old,
        "minRangeValue": advert.asking if advert.home.is_project else None,
        "maxRangeValue": advert.dearest,
        "mainDisplayPrice": shown,
        "HTMLDisplayPrice": f'<span aria-hidden="true">{shown}</span>',
        "alternativeDisplayPrice": "",
        "oldDisplayPrice": None if old is None else f"€{old:,}",
        "shortDisplayPrice": shown if price is None else _short(price),
        "accessibilityPrice": spoken_price(advert, charges),
        "label": "Price" if is_sale else "Rent",
        "date": None,
        "language": "en",
    }


def spoken_price(advert: Advert, charges: int | None) -> str:
    """The price as a screen reader gets it."""
    if advert.price is None:
        return _shown(advert, charges)
    if advert.home.operation == "sale":
        return f"{advert.price}€"
    return f"{advert.price}€" + (f" + {charges}€" if charges else "") + " per month"


def _shown(advert: Advert, charges: int | None) -> str:
    if advert.home.is_project:
        return f"€{advert.asking:,} - €{advert.dearest:,}"
    if advert.price is None:
        return "Price on request"
    return f"€{advert.price:,}" + (f" (+ €{charges:,})" if charges else "")


def _short(price: int) -> str:
    return f"€{price / 1000:g}K" if price >= 1000 else f"€{price}"
