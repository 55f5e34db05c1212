"""How fast the fleet may ask one site just now, and why: what `lua/take.lua` keeps, in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Pace:
    """Rates in requests a second; 0 is no limit."""

    rate: float = 0.0
    factor: float = 1.0
    floor_seconds: float = 0.0
    blocked_seconds: float = 0.0
    paused: bool = False
    reason: str = ""

    @classmethod
    def read(cls, told: Mapping[bytes, bytes], now_ms: float) -> Self:
        def number(name: bytes, default: float) -> float:
            return float(told.get(name, default))

        return cls(
            rate=number(b"rate", 0),
            factor=number(b"factor", 1),
            floor_seconds=number(b"floor", 0) / 1000,
            blocked_seconds=max(0.0, number(b"blocked_until", 0) - now_ms) / 1000,
            paused=told.get(b"paused") == b"1",
            reason=told.get(b"reason", b"").decode("utf-8", "replace"),
        )

    def __str__(self) -> str:
        if self.paused:
            return "paused"
        if self.blocked_seconds:
            return f"blocked {self.blocked_seconds:.0f} s: {self.reason}"
        rate = self.rate * self.factor
        if self.floor_seconds and (not rate or 1 / rate < self.floor_seconds):
            return f"{1 / self.floor_seconds:g}/s: Crawl-delay"
        if self.factor < 1:
            return f"{rate:g}/s: {self.reason}"
        return f"{rate:g}/s" if rate else "free"
