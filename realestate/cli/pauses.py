"""Says why nothing is sent to a portal, since when, by whom and until when."""

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from realestate.queue.rate_limit import RateLimit


def why_stopped(limit: "RateLimit") -> str:
    """Why a crawl ended although requests are left."""
    if limit.paused:
        return why_paused(limit)
    again = utc(limit.robots_again_at)
    return f"waiting for its robots.txt, which cannot be fetched: {limit.robots_reason}; workers try again at {again}"


def why_paused(limit: "RateLimit") -> str:
    """Since when, by whom, why and until when a portal is paused."""
    who = limit.paused_by or "somebody"
    text = f"paused since {utc(limit.paused_at)} by {who}: {limit.paused_reason or 'no reason given'}"
    if limit.is_paused_by_worker:
        text += f"; workers try again at {utc(limit.paused_until)}"
    return text


def utc(seconds: float) -> str:
    """A time with its day: a pause may last. UTC, as all times of the data and of the other commands."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
