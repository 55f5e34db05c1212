"""Dates as portals write them. Results have a time zone. "Today" is relative to the given fetch time."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from realestate.parsing.text import plain

_TIME = r"(?:[,\s]{1,3}(?:saat\s|at\s|um\s)?(?P<hour>\d{1,2}):(?P<minute>\d{2}))?(?!\d)"
_DAY = re.compile(r"(?<!\d)(?P<day>\d{1,2})(?P<mark>[./-])(?P<month>\d{1,2})(?P=mark)(?P<year>\d{4})(?!\d)" + _TIME)
_DOTTED = re.compile(r"\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b")
_ISO = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?\s?(?:Z|[+-]\d\d:?\d\d)?)?(?![\d-])")
#: Azerbaijani and English, as `text.plain` writes them. dateparser reads other languages.
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "yanvar yan january jan",
            "fevral fev february feb",
            "mart march mar",
            "aprel april apr",
            "may",
            "iyun june jun",
            "iyul july jul",
            "avqust avq august aug",
            "sentyabr sen september sept sep",
            "oktyabr okt october oct",
            "noyabr noy november nov",
            "dekabr dek december dec",
        ),
        start=1,
    )
    for name in names.split()
}
_WITH_MONTH_NAME = re.compile(
    rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[ .](?P<month>{'|'.join(_MONTHS)})(?![^\W\d_])\.?,?"
    r"(?: (?P<year>\d{4}))?" + _TIME
)
_DAYS_AGO = {
    "bugün": 0,
    "bu gün": 0,
    "today": 0,
    "heute": 0,
    "vandaag": 0,
    "aujourd'hui": 0,
    "dzisiaj": 0,
    "dünən": 1,
    "yesterday": 1,
    "gestern": 1,
    "gisteren": 1,
    "hier": 1,
    "wczoraj": 1,
}
_TODAY_OR_YESTERDAY = re.compile(rf"(?<![^\W\d_])(?P<word>{'|'.join(_DAYS_AGO)})(?![^\W\d_])" + _TIME)
_HOURS = {"minute": 1 / 60, "dəqiqə": 1 / 60, "hour": 1, "saat": 1, "day": 24, "gün": 24, "week": 168, "həftə": 168}
_AGO = re.compile(rf"(?<!\d)(?P<count>\d{{1,3}}) (?P<unit>{'|'.join(_HOURS)})s? (?:ago|əvvəl)(?![^\W\d_])")
#: Years of an advert's date; the last is excluded. Arithmetic with other years may fail.
_FIRST_YEAR = 1990
_LAST_YEAR = 2100
_FIRST_STAMP = datetime(_FIRST_YEAR, 1, 1, tzinfo=UTC).timestamp()
_LAST_STAMP = datetime(_LAST_YEAR, 1, 1, tzinfo=UTC).timestamp()
#: A date so far after the fetch time may still be right: the clocks of portal and worker differ.
_CLOCKS_DIFFER = timedelta(minutes=10)
#: Texts for dateparser are at most this long: it is slow with long texts.
_LONGEST = 60


def iso(text: str | None, zone: ZoneInfo | None = None) -> datetime | None:
    """Return a date in ISO 8601: "…Z", "…+0000", "…+04:00". Without an offset it is in `zone`; without both, None."""
    try:
        parsed = datetime.fromisoformat(text) if text else None
    except (TypeError, ValueError):
        return None
    if parsed is None or not _FIRST_YEAR <= parsed.year < _LAST_YEAR:
        return None
    if parsed.tzinfo:
        return parsed
    return parsed.replace(tzinfo=zone) if zone else None


def stamp(value: object) -> datetime | None:
    """Return the date of seconds or milliseconds since 1970, given as a number or its digits."""
    if isinstance(value, str):
        value = int(value) if len(value) < 15 and value.isdecimal() else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    for seconds in (value, value / 1000 if abs(value) < 1e15 else 0):
        if _FIRST_STAMP <= seconds < _LAST_STAMP:
            return datetime.fromtimestamp(seconds, UTC)
    return None


def day(text: str | None, zone: ZoneInfo) -> datetime | None:
    """Return the beginning of a day such as "28.08.2026" in the portal's time zone."""
    found = _DOTTED.search(text or "")
    return _datetime(int(found[3]), int(found[2]), int(found[1]), zone) if found else None


def parse(
    text: str | None,
    zone: ZoneInfo,
    fetched_at: datetime,
    *,
    languages: tuple[str, ...] = (),
    month_first: bool = False,
) -> datetime | None:
    """Return the date, and the time if there is one, of a text.

    Reads ISO 8601, "28 Avqust 2026", "04/02/2026", "Bugün 10:37" and "3 gün əvvəl". With `languages`, dateparser reads
    what is left ("vor einem Monat"); it is slow, and it guesses. Raises ValueError if `fetched_at` has no time zone.
    """
    if fetched_at.tzinfo is None:
        raise ValueError("fetched_at has no time zone")
    if not text:
        return None
    words = plain(text)
    if found := _ISO.search(text):
        return iso(found[0].replace(" ", "T", 1).replace(" ", ""), zone)
    if found := _DAY.search(words):
        day_of_month = int(found["month" if month_first else "day"])
        month = int(found["day" if month_first else "month"])
        return _datetime(int(found["year"]), month, day_of_month, zone, found)
    if found := _WITH_MONTH_NAME.search(words):
        return _with_month_name(found, zone, fetched_at)
    if found := _TODAY_OR_YESTERDAY.search(words):
        return _today_or_yesterday(found, zone, fetched_at)
    if found := _AGO.search(words):
        return fetched_at.astimezone(zone) - timedelta(hours=int(found["count"]) * _HOURS[found["unit"]])
    return _by_dateparser(text, zone, fetched_at, languages) if languages and len(text) <= _LONGEST else None


def _with_month_name(found: re.Match[str], zone: ZoneInfo, fetched_at: datetime) -> datetime | None:
    """Without a year it is the last such day before the fetch."""
    month = _MONTHS[found["month"]]
    day_of_month = int(found["day"])
    if found["year"]:
        return _datetime(int(found["year"]), month, day_of_month, zone, found)
    this_year = fetched_at.astimezone(zone).year
    for year in (this_year, this_year - 1):
        date = _datetime(year, month, day_of_month, zone, found)
        if date and date <= fetched_at + _CLOCKS_DIFFER:
            return date
    return None


def _today_or_yesterday(found: re.Match[str], zone: ZoneInfo, fetched_at: datetime) -> datetime | None:
    """A page written just before midnight and fetched just after it means the day before."""
    local = fetched_at.astimezone(zone)
    day = local.date() - timedelta(days=_DAYS_AGO[found["word"]])
    result = _datetime(day.year, day.month, day.day, zone, found)
    if result is None or local.hour > 0 or result <= fetched_at + _CLOCKS_DIFFER:
        return result
    day -= timedelta(days=1)
    return _datetime(day.year, day.month, day.day, zone, found)


def _datetime(
    year: int, month: int, day_of_month: int, zone: ZoneInfo, time: re.Match[str] | None = None
) -> datetime | None:
    """Return the date with the time of the match; midnight without one; None if there is no such date."""
    if not _FIRST_YEAR <= year < _LAST_YEAR:
        return None
    hour = int(time["hour"]) if time and time["hour"] else 0
    minute = int(time["minute"]) if time and time["hour"] else 0
    try:
        return datetime(year, month, day_of_month, hour, minute, tzinfo=zone)
    except ValueError:
        return None


def _by_dateparser(text: str, zone: ZoneInfo, fetched_at: datetime, languages: tuple[str, ...]) -> datetime | None:
    import dateparser  # imported here: it takes 0.15 s, and few portals need it

    local = fetched_at.astimezone(zone).replace(tzinfo=None)
    parsed = dateparser.parse(
        text,
        languages=list(languages),
        settings={"RELATIVE_BASE": local, "PREFER_DATES_FROM": "past", "STRICT_PARSING": True},
    )
    if parsed is None or not _FIRST_YEAR <= parsed.year < _LAST_YEAR:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=zone)
