"""Rules for prices, used by `changes`: pure functions."""

from collections.abc import Callable
from decimal import Decimal
from operator import attrgetter
from typing import Any

from realestate.items import Listing, content_hash
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
    """Return the listing with other MONEY values. The price per square metre changes in proportion."""
    if money(listing) == wanted:
        return listing
    return altered(listing, **wanted, price_per_m2=_scaled(listing, wanted["price"]))


def rehashed(listing: Listing) -> Listing:
    """Return the listing with a new content hash, for content that was put together from two pages."""
    return altered(listing, content_hash=content_hash(listing))


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
        price_per_m2=_scaled(known, price),
        quality_flags=listing.quality_flags - {"rent_period_unknown"},
        extra={name: value for name, value in listing.extra.items() if name not in ("price", "currency")},
    )
    return rehashed(whole)


def _scaled(listing: Listing, price: Decimal | None) -> Decimal | None:
    if price is None or listing.price_per_m2 is None or not listing.price:
        return None
    scaled = listing.price_per_m2 * price / listing.price
    return cents(scaled) if believable(scaled) else None
