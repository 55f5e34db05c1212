"""The rate limit of one site as it is now, and the reason: reads what `lua/take.lua` keeps in Redis."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from realestate.queue import stored


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Rates in requests per second; 0 is no limit."""

    rate: float = 0.0
    """As configured."""
    factor: float = 1.0
    """Below 1 after a refusal."""
    crawl_delay_seconds: float = 0.0
    blocked_seconds: float = 0.0
    """Nothing is sent for this long, because the site asked for it."""
    paused: bool = False
    reason: str = ""
    paused_reason: str = ""
    paused_by: str = ""
    """A worker, or the person who paused it."""
    paused_at: float = 0.0
    """Redis' time, in seconds."""
    paused_until: float = 0.0
    """Redis' time, in seconds, when the pause ends by itself; 0: it does not."""

    robots_reason: str = ""
    """Why the site's robots.txt cannot be fetched. Nothing may be fetched without it."""
    robots_failures: int = 0
    robots_again_at: float = 0.0
    """Redis' time, in seconds, of the next try."""

    @property
    def is_paused_by_worker(self) -> bool:
        """Such a pause ends by itself."""
        return self.paused and self.paused_until > 0

    @classmethod
    def read(cls, fields: Mapping[bytes, bytes], now_ms: float) -> Self:
        """From the hash `{<portal>}:rate_limit`."""

        def number(name: bytes, default: float) -> float:
            return stored.number(fields.get(name), default)

        def text(name: bytes) -> str:
            return stored.text(fields.get(name, b""))

        paused_until = number(b"paused_until", 0)
        return cls(
            rate=number(b"rate", 0),
            factor=number(b"factor", 1),
            crawl_delay_seconds=number(b"crawl_delay", 0) / 1000,
            blocked_seconds=max(0.0, number(b"blocked_until", 0) - now_ms) / 1000,
            paused=fields.get(b"paused") == b"1" and (not paused_until or paused_until > now_ms),
            reason=text(b"reason"),
            paused_reason=text(b"paused_reason"),
            paused_by=text(b"paused_by"),
            paused_at=number(b"paused_at", 0) / 1000,
            paused_until=paused_until / 1000,
            robots_reason=text(b"robots_reason"),
            robots_failures=int(number(b"robots_failures", 0)),
            robots_again_at=number(b"robots_again_at", 0) / 1000,
        )

    def __str__(self) -> str:
        if self.paused:
            return "paused" + (f": {self.paused_reason}" if self.paused_reason else "")
        if self.blocked_seconds:
            return f"blocked {self.blocked_seconds:.0f} s: {self.reason}"
        if self.robots_failures:
            return f"robots.txt cannot be fetched: {self.robots_reason}"
        rate = self.rate * self.factor
        if self.crawl_delay_seconds and (not rate or 1 / rate < self.crawl_delay_seconds):
            return f"{1 / self.crawl_delay_seconds:g}/s: Crawl-delay"
        shown = f"{rate:g}/s" if rate else "no limit"
        return f"{shown}: {self.reason}" if self.factor < 1 else shown
