"""Prices as immoweb writes them: the same block on a page and in the search."""

from typing import Any

from realestate.simulator.adverts import Advert
from realestate.simulator.immoweb.facts import charges_of

_TYPES = {None: "residential_sale", "month": "residential_monthly_rent", "year": "residential_yearly_rent"}


def price_block(advert: Advert) -> dict[str, Any]:
    """Return a price, the range of a project, or only text if the price is on request."""
    is_sale = advert.home.operation == "sale"
    price = advert.price
    charges = charges_of(advert)
    old = advert.old_price if price is not None else None
    shown = _shown(advert)
    return {
        "type": _TYPES[advert.rent_period],
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
        "accessibilityPrice": spoken_price(advert),
        "label": "Price" if is_sale else "Rent",
        "date": None,
        "language": "en",
    }


def spoken_price(advert: Advert) -> str:
    """Return the price as text for screen readers."""
    if advert.price is None:
        return _shown(advert)
    if advert.rent_period is None:
        return f"{advert.price}€"
    charges = charges_of(advert)
    return f"{advert.price}€" + (f" + {charges}€" if charges else "") + f" per {advert.rent_period}"


def _shown(advert: Advert) -> str:
    charges = charges_of(advert)
    if advert.home.is_project:
        return f"€{advert.asking:,} - €{advert.dearest:,}"
    if advert.price is None:
        return "Price on request"
    return f"€{advert.price:,}" + (f" (+ €{charges:,})" if charges else "")


def _short(price: int) -> str:
    return f"€{price / 1000:g}K" if price >= 1000 else f"€{price}"
