"""Numbers, money and times as a reader writes them. The texts of the pages are English; numbers follow the browser."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal

#: Language -> the mark between thousands and the decimal mark. A thin space keeps a number on one line.
_NARROW = "\u202f"
_MARKS = {
    "en": (",", "."),
    "az": (".", ","),
    "bg": (_NARROW, ","),
    "cs": (_NARROW, ","),
    "da": (".", ","),
    "de": (".", ","),
    "el": (".", ","),
    "es": (".", ","),
    "fi": (_NARROW, ","),
    "fr": (_NARROW, ","),
    "hu": (_NARROW, ","),
    "id": (".", ","),
    "it": (".", ","),
    "nb": (_NARROW, ","),
    "nl": (".", ","),
    "pl": (_NARROW, ","),
    "pt": (".", ","),
    "ro": (".", ","),
    "ru": (_NARROW, ","),
    "sk": (_NARROW, ","),
    "sv": (_NARROW, ","),
    "tr": (".", ","),
    "uk": (_NARROW, ","),
}
#: Regions that write numbers another way than their language does elsewhere.
_REGIONS = {
    "de-at": (_NARROW, ","),
    "de-ch": ("’", "."),
    "fr-ch": (_NARROW, ","),
    "it-ch": ("’", "."),
    "es-mx": (",", "."),
}
MISSING = "–"
Number = int | float | Decimal


@dataclass(frozen=True, slots=True)
class Formats:
    """How one reader writes numbers. A missing value is a dash."""

    locale: str = "en"
    group: str = ","
    point: str = "."

    @classmethod
    def of(cls, accept_language: str) -> "Formats":
        """From the header of a browser: its first language that is known here."""
        for each in accept_language.lower().split(",")[:10]:
            tag = each.partition(";")[0].strip().replace("_", "-")
            marks = _REGIONS.get(tag) or _MARKS.get(tag.partition("-")[0])
            if marks is not None:
                is_plain = len(tag) <= 12 and all(part.isalnum() and part.isascii() for part in tag.split("-"))
                return cls(tag if is_plain else tag.partition("-")[0], *marks)
        return cls()

    def number(self, value: Number | None, digits: int = 0) -> str:
        """The number, rounded to at most this many decimals."""
        if value is None:
            return MISSING
        step = Decimal(1).scaleb(-digits)
        rounded = Decimal(str(value)).quantize(step, ROUND_HALF_UP)
        text = f"{rounded:,.{digits}f}"
        if digits:
            text = text.rstrip("0").rstrip(".")
        return text.translate({ord(","): self.group, ord("."): self.point}).replace("-", "−")

    def money(self, value: Number | None, currency: str | None = None, digits: int = 0) -> str:
        if value is None:
            return MISSING
        return f"{self.number(value, digits)}\u00a0{currency}" if currency else self.number(value, digits)

    def per_m2(self, value: Number | None, currency: str | None = None) -> str:
        """A price of a square metre. That of a rent is so small that its cents count."""
        return self.money(value, currency, 2 if value is not None and -100 < value < 100 else 0)

    def percent(self, share: float | None, digits: int = 0, *, signed: bool = False) -> str:
        """A share of 1 as percent, such as 12.5 %."""
        if share is None:
            return MISSING
        sign = "+" if signed and share > 0 else ""
        return f"{sign}{self.number(share * 100, digits)}\u00a0%"

    def signed(self, value: Number | None, digits: int = 0) -> str:
        if value is None:
            return MISSING
        return f"+{self.number(value, digits)}" if value > 0 else self.number(value, digits)


def when(at: datetime | None) -> str:
    """Such as 18 Nov 2026, 20:13."""
    return f"{at.astimezone(UTC):%-d %b %Y, %H:%M}" if at is not None else MISSING


def day(at: date | None) -> str:
    """Such as 18 Nov 2026."""
    if isinstance(at, datetime):
        at = at.astimezone(UTC)
    return f"{at:%-d %b %Y}" if at is not None else MISSING


def duration(seconds: float | None) -> str:
    """In one unit or two, such as `45 s`, `3 min` or `2 h 5 min`."""
    if seconds is None:
        return MISSING
    if seconds < 60:
        return f"{max(0.0, seconds):.0f}\u00a0s"
    if seconds < 3600:
        return f"{seconds // 60:.0f}\u00a0min"
    if seconds < 86400:
        minutes = int(seconds % 3600 // 60)
        return f"{seconds // 3600:.0f}\u00a0h" + (f" {minutes}\u00a0min" if minutes else "")
    return f"{seconds // 86400:.0f}\u00a0d"


def ago(at: datetime | None, now: datetime) -> str:
    """In one unit, such as `3 min ago`: it stands in narrow columns."""
    if at is None:
        return "never"
    seconds = (now - at).total_seconds()
    return f"{seconds // 3600:.0f}\u00a0h ago" if 3600 <= seconds < 86400 else f"{duration(seconds)} ago"


def words(name: str | None) -> str:
    """A value such as `price_changed` as words."""
    return name.replace("_", " ") if name else MISSING


def sentence(text: str | None) -> str:
    """The same, with a capital letter."""
    return words(text)[:1].upper() + words(text)[1:]
