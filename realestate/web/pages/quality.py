"""Data quality of a portal: which fields its listings have, day by day, and that in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from realestate.storage.coverage import COVERED, FieldCoverage
from realestate.web.pages.charts import Chart, Series
from realestate.web.pages.formats import Formats, day
from realestate.web.pages.portals import Health

#: Days that are counted, and shown.
DAYS = 60
#: A day with fewer listings says nothing.
FEWEST = 20
#: A field that falls by so much from one day to the next is reported; so is a portal with so much in quarantine.
FALL = 0.2
QUARANTINED = 0.05
#: A field that changed less has no small picture: a straight line says nothing.
LEAST_CHANGE = 0.03
#: The fields that the words for a portal name.
_NAMED = ("price", "area_m2", "latitude")
WORDS = {
    "area_m2": "area",
    "latitude": "place",
    "year_built": "year built",
    "seller_type": "seller",
    "posted_at": "date posted",
}
#: The size of the small picture of a field in the table.
_WIDTH = 56
_HEIGHT = 16


@dataclass(frozen=True, slots=True)
class Cell:
    """A field of one portal: its newest share, whether it fell, and a line through its days."""

    share: float
    has_fallen: bool
    line: str
    """The corners of an SVG polyline; empty if there is only one day, or if the days hardly differ."""


def word_of(field: str) -> str:
    return WORDS.get(field, field)


def by_portal(days: Sequence[FieldCoverage]) -> Mapping[str, Sequence[FieldCoverage]]:
    """The days of each portal that have enough listings; if none has, all its days."""
    found: dict[str, list[FieldCoverage]] = {}
    for each in days:
        found.setdefault(each.portal, []).append(each)
    return {portal: [each for each in own if each.listings >= FEWEST] or own for portal, own in found.items()}


def _before(days: Sequence[FieldCoverage], field: str) -> float | None:
    """The share of the field on all days but the newest."""
    total = sum(each.listings for each in days[:-1])
    return sum(each.known[field] for each in days[:-1]) / total if total else None


def fallen(days: Sequence[FieldCoverage]) -> Sequence[str]:
    """The fields that many listings had before the newest day, and far fewer have on it."""
    found = []
    for field in COVERED:
        before = _before(days, field)
        if before is not None and before - days[-1].share(field) >= FALL:
            found.append(field)
    return found


def quality_of(days: Sequence[FieldCoverage], listings: int, quarantined: int, fmt: Formats) -> Health | None:
    """The data of a portal in words, the worst first; None if nothing is known of it."""
    if days and (lost := fallen(days)):
        field = lost[0]
        newest = days[-1]
        before = _before(days, field) or 0.0
        more = f", and {len(lost) - 1} more" if len(lost) > 1 else ""
        return Health(
            "bad",
            "fields are missing",
            f"{word_of(field)}: {fmt.percent(newest.share(field))} on {day(newest.day)}, "
            f"{fmt.percent(before)} before{more}",
        )
    if quarantined > QUARANTINED * (listings + quarantined):
        share = fmt.percent(quarantined / (listings + quarantined))
        return Health("warn", "many errors", f"{share} failed validation and are in quarantine")
    if not days:
        return None
    shares = ", ".join(f"{word_of(name)} {fmt.percent(days[-1].share(name))}" for name in _NAMED)
    kept = f"; {fmt.number(quarantined)} in quarantine" if quarantined else ""
    if len(days) > 1:
        return Health("good", "as before", f"{shares} known{kept}")
    return Health("idle", "one day so far", f"{shares} known{kept}")


def cells(days: Sequence[FieldCoverage]) -> Sequence[Cell]:
    """The fields of one portal, in the order of COVERED."""
    lost = fallen(days)
    return [Cell(days[-1].share(field), field in lost, _line(days, field)) for field in COVERED]


def _line(days: Sequence[FieldCoverage], field: str) -> str:
    span = (days[-1].day - days[0].day).days
    shares = [each.share(field) for each in days]
    if not span or max(shares) - min(shares) < LEAST_CHANGE:
        return ""
    return " ".join(
        f"{(each.day - days[0].day).days / span * _WIDTH:.1f},{(1 - each.share(field)) * (_HEIGHT - 2) + 1:.1f}"
        for each in days
    )


def charts(days: Sequence[FieldCoverage]) -> Sequence[Chart]:
    """A chart for each field of one portal."""
    times = [_seconds(each.day) for each in days]
    return [
        Chart(
            f"coverage-{field}",
            word_of(field).capitalize(),
            times,
            [
                Series("known", [each.share(field) * 100 for each in days], "line", "%", 1),
            ],
            limits=(0, 105),
        )
        for field in COVERED
    ]


def _seconds(at: date) -> float:
    return datetime.combine(at, time(), UTC).timestamp()


def as_csv(days: Sequence[FieldCoverage]) -> str:
    """The days of one portal: how many listings, and how many of them have each field."""
    lines = [",".join(("day", "listings", *COVERED))]
    lines += [",".join(map(str, (each.day, each.listings, *(each.known[name] for name in COVERED)))) for each in days]
    return "\n".join(lines) + "\n"
