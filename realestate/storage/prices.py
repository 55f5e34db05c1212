"""Rules for prices, used by `changes`: pure functions."""

from collections.abc import Callable
from decimal import Decimal
from operator import attrgetter
from typing import Any

from realestate.items import Listing, Sighting, content_hash
from realestate.storage.history import altered

#: The fields that say what a price means. The same number in another currency is another price.
MEANING = ("currency", "price_basis", "rent_period")
MONEY = ("price", *MEANING)
_CENT = Decimal("0.01")
#: The highest price of a listing. Prices of search pages are checked here, because sightings are not validated.
DEAREST = Decimal("999999999999.99")


#: The values of MONEY.
money_of: Callable[[Listing], tuple[Any, ...]] = attrgetter(*MONEY)


def money(listing: Listing) -> dict[str, Any]:
    return dict(zip(MONEY, money_of(listing), strict=True))


def plain_money(listing: Listing) -> dict[str, Any]:
    """Return the values of MONEY by name, as JSON values."""
    price, currency, basis, period = money_of(listing)
    return {"price": plain(price), "currency": currency, "price_basis": basis, "rent_period": period}


def cents(price: Decimal) -> Decimal:
    """Return the price rounded to cents, as it is stored."""
    return Decimal(price).quantize(_CENT)


def believable(price: Decimal | None) -> bool:
    return price is not None and price.is_finite() and _CENT <= price <= DEAREST


def plain(price: Decimal | None) -> float | None:
    if price is None:
        return None
    whole = int(price)
    return whole if whole == price else float(price)


def priced(listing: Listing, wanted: dict[str, Any]) -> Listing:
    """Return the listing with other MONEY values, and the price per square metre that belongs to them."""
    if money(listing) == wanted:
        return listing
    new = altered(listing, **wanted)
    new.price_per_m2 = storable_price_per_m2(new)
    return new


def rehashed(listing: Listing) -> Listing:
    """Return the listing with a new content hash, for content that was put together from two pages."""
    return altered(listing, content_hash=content_hash(listing))


def shown_money(known: Listing, sighting: Sighting) -> Listing | None:
    """Return the known listing with the MONEY values that a search page shows; None if the page shows no price, or one
    that does not count.

    That a price is on request, and a price that is no longer on request, count. If the search page shows another
    currency, price basis or rent period of a known price, that does not count: the detail page is more reliable."""
    if sighting.price is None:
        if sighting.price_basis != "on_request" or known.price is None:
            return None
        period = sighting.rent_period or known.rent_period
        return altered(known, price=None, currency=None, price_basis="on_request", rent_period=period)
    if not believable(sighting.price):
        return None
    if known.price is None:
        return _priced_again(known, sighting)
    shown = {name: getattr(sighting, name) for name in MEANING if getattr(sighting, name) is not None}
    if any(getattr(known, name) != value for name, value in shown.items()):
        return None
    return altered(known, price=sighting.price)


def _priced_again(known: Listing, sighting: Sighting) -> Listing | None:
    """Return the listing with a price that was on request before. None if the meaning of the price is not clear."""
    is_rent = known.operation == "rent"
    period = sighting.rent_period or known.rent_period if is_rent else None
    if known.price_basis != "on_request" or sighting.currency is None or (is_rent and period is None):
        return None
    values = {"price": sighting.price, "currency": sighting.currency, "price_basis": sighting.price_basis or "total"}
    return altered(known, **values, rent_period=period)


def completed(listing: Listing, known: Listing) -> Listing:
    """Return the listing with the known rent period, if its page shows a rent without one.

    Some portals show the rent period on search pages only. The parser then puts the price into `extra`."""
    extra_price = listing.extra.get("price")
    if "rent_period_unknown" not in listing.quality_flags or known.rent_period is None or extra_price is None:
        return listing
    price = Decimal(str(extra_price))
    if not believable(price):
        return listing
    whole = altered(
        listing,
        price=price,
        currency=listing.extra.get("currency"),
        price_basis=known.price_basis or "total",
        rent_period=known.rent_period,
        quality_flags=listing.quality_flags - {"rent_period_unknown"},
        extra={name: value for name, value in listing.extra.items() if name not in ("price", "currency")},
    )
    whole.price_per_m2 = storable_price_per_m2(whole)
    return rehashed(whole)


def price_per_m2(listing: Listing) -> Decimal | None:
    """Return the price of a square metre, of the land if it is land. None if price or area is not known."""
    area = listing.plot_m2 if listing.property_type == "land" else listing.area_m2
    if listing.price is None or not area or listing.price_basis != "total":
        return None
    return (listing.price / Decimal(str(area))).quantize(_CENT) or None


def storable_price_per_m2(listing: Listing) -> Decimal | None:
    """As `price_per_m2`; None if no store can hold the number, which is not validated again."""
    price = price_per_m2(listing)
    return price if believable(price) else None
