"""When a page was served: the moment its "today" and "yesterday" speak of."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from scrapy.http import Response


def served_at(response: Response) -> datetime:
    """By the site's own clock; a page that is read again months later still says when that was. Now, if it says
    nothing."""
    told = response.headers.get("Date")
    try:
        moment = parsedate_to_datetime(told.decode("latin-1")) if told else None
    except ValueError:
        moment = None
    return moment.replace(tzinfo=moment.tzinfo or UTC) if moment else datetime.now(UTC)
