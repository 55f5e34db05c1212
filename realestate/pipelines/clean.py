"""Clean: what holds for every portal is done here once."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from realestate.items import Listing, content_hash
from realestate.storage import Quarantined

_CENT = Decimal("0.01")


class CleanPipeline:
    """Normalises a listing and derives what follows from its own values."""

    def process_item(self, item: Any) -> Any:
        if not isinstance(item, Listing):
            return item
        try:
            return clean(item)
        except (TypeError, ValueError, ArithmeticError) as error:
            return Quarantined.of(item, f"not to be cleaned: {type(error).__name__}: {error}")


def clean(listing: Listing) -> Listing:
    listing = _rent_without_period(listing)
    listing.price_per_m2 = _price_per_m2(listing)
    listing.content_hash = content_hash(listing)
    return listing


def _rent_without_period(listing: Listing) -> Listing:
    """A rent of unknown period is no price: 50 a day and 50 a month are far apart. It is kept, but aside."""
    if listing.operation != "rent" or listing.price is None or listing.rent_period is not None:
        return listing
    return replace(
        listing,
        price=None,
        currency=None,
        price_basis=None,
        quality_flags=listing.quality_flags | {"rent_period_unknown"},
        extra={**listing.extra, "price": str(listing.price), "currency": listing.currency},
    )


def _price_per_m2(listing: Listing) -> Decimal | None:
    area = listing.plot_m2 if listing.property_type == "land" else listing.area_m2
    if listing.price is None or not area or listing.price_basis != "total":
        return None
    return (listing.price / Decimal(str(area))).quantize(_CENT) or None
