"""Cleans a listing in the same way for every portal."""

from dataclasses import replace
from typing import Any

from realestate.items import Listing, content_hash
from realestate.parsing.urls import stored_link
from realestate.storage import Quarantined
from realestate.storage.prices import price_per_m2


class CleanPipeline:
    """Normalises a listing and computes fields from its other fields. A listing that fails goes to quarantine."""

    def process_item(self, item: Any) -> Any:
        if not isinstance(item, Listing):
            return item
        try:
            return clean(item)
        except (TypeError, ValueError, ArithmeticError) as error:
            return Quarantined.of(item, f"cannot be cleaned: {type(error).__name__}: {error}")


def clean(listing: Listing) -> Listing:
    """Return the listing with `price_per_m2` and `content_hash`. A rent without a period loses its price, and a photo
    that is no http link is left out."""
    listing = _without_price_of_unknown_period(listing)
    listing.photos = [link for photo in listing.photos if (link := _photo(photo)) is not None]
    listing.price_per_m2 = price_per_m2(listing)
    listing.content_hash = content_hash(listing)
    return listing


def _without_price_of_unknown_period(listing: Listing) -> Listing:
    """Move the price of a rent without a period to `extra`: 50 a day and 50 a month cannot be compared."""
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


def _photo(photo: Any) -> str | None:
    """The link of a photo. `javascript:`, `data:` and `file:` must not reach a reader's browser as a link.

    What is no text is kept, so that validation reports it: the parser is wrong."""
    return stored_link(photo) if isinstance(photo, str) else photo
