"""What a price is a price of, and how one follows from another: pure rules, for `changes`."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from realestate.items import Listing, as_record, content_hash

#: What a price is a price of. The same number in another currency is another price.
MEANING = ("currency", "price_basis", "rent_period")
MONEY = ("price", *MEANING)
_CENT = Decimal("0.01")
#: The bounds of a listing's own price; search pages are not validated as listings are.
_DEAREST = Decimal(10) ** 12


def money(listing: Listing) -> dict[str, Any]:
    return {name: getattr(listing, name) for name in MONEY}


def cents(price: Decimal) -> Decimal:
    """As it is stored."""
    return Decimal(price).quantize(_CENT)


def believable(price: Decimal | None) -> bool:
    return price is not None and price.is_finite() and 0 < price <= _DEAREST


def plain(value: Any) -> Any:
    """As it stands in JSON."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def priced(listing: Listing, wanted: dict[str, Any]) -> Listing:
    """With other money; the price of a square metre moves with the price."""
    if money(listing) == wanted:
        return listing
    return replace(listing, **wanted, price_per_m2=_scaled(listing, wanted["price"]))


def rehashed(listing: Listing) -> Listing:
    """For content that no page showed as it stands here."""
    return replace(listing, content_hash=content_hash(as_record(listing)))


def completed(listing: Listing, known: Listing) -> Listing:
    """A page that shows a rent without its period means the period we know: it stands on the search page only."""
    aside = listing.extra.get("price")
    if "rent_period_unknown" not in listing.quality_flags or known.rent_period is None or aside is None:
        return listing
    price = Decimal(str(aside))
    whole = replace(
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
