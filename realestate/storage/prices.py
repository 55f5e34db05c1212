"""What a price is a price of, and how one follows from another: pure rules, for `changes`."""

from collections.abc import Callable
from decimal import Decimal
from operator import attrgetter
from typing import Any

from realestate.items import Listing, content_hash
from realestate.storage.history import altered

#: What a price is a price of. The same number in another currency is another price.
MEANING = ("currency", "price_basis", "rent_period")
MONEY = ("price", *MEANING)
_CENT = Decimal("0.01")
#: The bounds of a listing's own price; search pages are not validated as listings are.
_DEAREST = Decimal(10) ** 12


#: The values of MONEY.
money_of: Callable[[Listing], tuple[Any, ...]] = attrgetter(*MONEY)


def money(listing: Listing) -> dict[str, Any]:
    return dict(zip(MONEY, money_of(listing), strict=True))


def plain_money(listing: Listing) -> dict[str, Any]:
    """As it stands in JSON."""
    price, currency, basis, period = money_of(listing)
    return {"price": plain(price), "currency": currency, "price_basis": basis, "rent_period": period}


def cents(price: Decimal) -> Decimal:
    """As it is stored."""
    return Decimal(price).quantize(_CENT)


def believable(price: Decimal | None) -> bool:
    return price is not None and price.is_finite() and 0 < price <= _DEAREST


def plain(price: Decimal | None) -> float | None:
    if price is None:
        return None
    whole = int(price)
    return whole if whole == price else float(price)


def priced(listing: Listing, wanted: dict[str, Any]) -> Listing:
    """With other money; the price of a square metre moves with the price."""
    if money(listing) == wanted:
        return listing
    return altered(listing, **wanted, price_per_m2=_scaled(listing, wanted["price"]))


def rehashed(listing: Listing) -> Listing:
    """For content that no page showed as it stands here."""
    return altered(listing, content_hash=content_hash(listing))


def completed(listing: Listing, known: Listing) -> Listing:
    """A page that shows a rent without its period means the period we know: it stands on the search page only."""
    aside = listing.extra.get("price")
    if "rent_period_unknown" not in listing.quality_flags or known.rent_period is None or aside is None:
        return listing
    price = Decimal(str(aside))
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
    return cents(listing.price_per_m2 * price / listing.price)
