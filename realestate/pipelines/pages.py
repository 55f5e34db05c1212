"""What a listing's page says of its own version, for the next time it is asked for."""

from scrapy.http import Response

from realestate.items import Listing
from realestate.storage.validators import PageRead, page_read

#: On a response whose page told one listing and led to no other: if it is unchanged, so is all that came of it.
ALONE = "alone"


def page_of(listing: Listing, response: Response) -> PageRead | None:
    """None where the page cannot be asked for by its version."""
    if ALONE not in response.flags:
        return None
    told = {name: _header(response, name) for name in ("ETag", "Last-Modified", "Date")}
    named = {"etag": told["ETag"], "last_modified": told["Last-Modified"], "date": told["Date"]}
    return page_read(listing, response.url, **named)


def _header(response: Response, name: str) -> str:
    return (response.headers.get(name) or b"").decode("latin-1")
