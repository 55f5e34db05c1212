"""What a listing's page says of its own version, for the next time it is asked for."""

from scrapy.http import Response

from realestate.accelerate.headers import last
from realestate.items import Listing
from realestate.storage.validators import PageRead, page_read

#: On a response whose page told one listing and led to no other: if it is unchanged, so is all that came of it.
ALONE = "alone"


def page_of(listing: Listing, response: Response) -> PageRead | None:
    """None where the page cannot be asked for by its version."""
    if ALONE not in response.flags:
        return None
    last_modified = _header(response, "Last-Modified")
    date = _header(response, "Date") if last_modified else ""  # to judge that by
    return page_read(listing, response.url, etag=_header(response, "ETag"), last_modified=last_modified, date=date)


def _header(response: Response, name: str) -> str:
    return (last(response.headers, name) or b"").decode("latin-1")
