"""Dates as portals write them; always with their time zone. The fetch time is given: nobody asks the clock."""

import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from realestate.parsing.text import plain

_TIME = r"(?:[,\s]{1,3}(?:saat\s|at\s|um\s)?(?P<hour>\d{1,2}):(?P<minute>\d{2}))?(?!\d)"
_DAY = re.compile(r"(?<!\d)(?P<day>\d{1,2})(?P<mark>[./-])(?P<month>\d{1,2})(?P=mark)(?P<year>\d{4})(?!\d)" + _TIME)
_DOTTED = re.compile(r"\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b")
_ISO = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?\s?(?:Z|[+-]\d\d:?\d\d)?)?(?![\d-])")
#: Azerbaijani and English, in lower case, every i one; a month in another language is dateparser's.
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
_WORDED = re.compile(
    rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[ .](?P<month>{'|'.join(_MONTHS)})(?![^\W\d_])\.?,?"
    r"(?: (?P<year>\d{4}))?" + _TIME
)
_DAYS_AGO = {"bugün": 0, "bu gün": 0, "today": 0, "heute": 0, "vandaag": 0, "aujourd'hui": 0, "dzisiaj": 0} | {
    "dünən": 1,
    "yesterday": 1,
    "gestern": 1,
    "gisteren": 1,
    "hier": 1,
    "wczoraj": 1,
}
_NEAR_DAY = re.compile(rf"(?<![^\W\d_])(?P<word>{'|'.join(_DAYS_AGO)})(?![^\W\d_])" + _TIME)
_HOURS = {"minute": 1 / 60, "dəqiqə": 1 / 60, "hour": 1, "saat": 1, "day": 24, "gün": 24, "week": 168, "həftə": 168}
_AGO = re.compile(rf"(?<!\d)(?P<count>\d{{1,3}}) (?P<unit>{'|'.join(_HOURS)})s? (?:ago|əvvəl)(?![^\W\d_])")
#: Outside these years it is no advert's date, and arithmetic with it may fail.
_FIRST_YEAR, _LAST_YEAR = 1990, 2100
_FIRST, _LAST = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (_FIRST_YEAR, _LAST_YEAR))
_CLOCKS_DIFFER = timedelta(minutes=10)
#: Nobody says when in more words; dateparser takes long over long texts.
_LONGEST = 60


def iso(text: str | None, zone: ZoneInfo | None = None) -> datetime | None:
    """ISO 8601 in its spellings: "…Z", "…+0000", "…+04:00"; without a zone it is in the one given, or None."""
    try:
        moment = datetime.fromisoformat(text) if text else None
    except (TypeError, ValueError):
        return None
    if moment is None or not _FIRST_YEAR <= moment.year < _LAST_YEAR:
        return None
    return moment if moment.tzinfo else _in_zone(moment, zone)


def stamp(value: object) -> datetime | None:
    """Seconds or milliseconds since 1970, as a number or its digits."""
    if isinstance(value, str):
        value = int(value) if len(value) < 15 and value.isdecimal() else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    for seconds in (value, value / 1000 if abs(value) < 1e15 else 0):
        if _FIRST <= seconds < _LAST:
            return datetime.fromtimestamp(seconds, UTC)
    return None


def day(text: str | None, zone: ZoneInfo) -> datetime | None:
    """ "28.08.2026": the beginning of that day where the portal is."""
    found = _DOTTED.search(text or "")
    return _moment(int(found[3]), int(found[2]), int(found[1]), zone) if found else None


def parse(
    text: str | None,
    zone: ZoneInfo,
    fetched_at: datetime,
    *,
    languages: tuple[str, ...] = (),
    month_first: bool = False,
) -> datetime | None:
    """A date in a text: ISO, "28 Avqust 2026", "04/02/2026", "Bugün 10:37", "3 gün əvvəl", with its time if told.

    With `languages`, dateparser is asked last ("vor einem Monat"); it is slow, and it guesses.
    """
    if fetched_at.tzinfo is None:
        raise ValueError("the fetch time needs its time zone")
    if not text:
        return None
    words = plain(text)
    if found := _ISO.search(text):
        return iso(found[0].replace(" ", "T", 1).replace(" ", ""), zone)
    if found := _DAY.search(words):
        first, second = int(found["day"]), int(found["month"])
        number, month = (second, first) if month_first else (first, second)
        return _moment(int(found["year"]), month, number, zone, found)
    if found := _WORDED.search(words):
        return _worded(found, zone, fetched_at)
    if found := _NEAR_DAY.search(words):
        return _near(found, zone, fetched_at)
    if found := _AGO.search(words):
        return fetched_at.astimezone(zone) - timedelta(hours=int(found["count"]) * _HOURS[found["unit"]])
    return _guessed(text, zone, fetched_at, languages) if languages and len(text) <= _LONGEST else None


def _worded(found: re.Match[str], zone: ZoneInfo, fetched_at: datetime) -> datetime | None:
    """Without a year it is the last such day."""
    month, number = _MONTHS[found["month"]], int(found["day"])
    if found["year"]:
        return _moment(int(found["year"]), month, number, zone, found)
    this_year = fetched_at.astimezone(zone).year
    years = (_moment(year, month, number, zone, found) for year in (this_year, this_year - 1))
    return next((moment for moment in years if moment and moment <= fetched_at + _CLOCKS_DIFFER), None)


def _near(found: re.Match[str], zone: ZoneInfo, fetched_at: datetime) -> datetime | None:
    """A page made just before midnight and fetched just after it means the day before."""
    here = fetched_at.astimezone(zone)
    moment = _on(here.date() - timedelta(days=_DAYS_AGO[found["word"]]), zone, found)
    if moment is None or here.hour > 0 or moment <= fetched_at + _CLOCKS_DIFFER:
        return moment
    return _on(moment.date() - timedelta(days=1), zone, found)


def _on(day: date, zone: ZoneInfo, time: re.Match[str]) -> datetime | None:
    return _moment(day.year, day.month, day.day, zone, time)


def _moment(year: int, month: int, number: int, zone: ZoneInfo, time: re.Match[str] | None = None) -> datetime | None:
    hour, minute = (int(time["hour"]), int(time["minute"])) if time and time["hour"] else (0, 0)
    try:
        return datetime(year, month, number, hour, minute, tzinfo=zone) if _FIRST_YEAR <= year < _LAST_YEAR else None
    except ValueError:
        return None


def _in_zone(moment: datetime, zone: ZoneInfo | None) -> datetime | None:
    return moment.replace(tzinfo=zone) if zone else None


def _guessed(text: str, zone: ZoneInfo, fetched_at: datetime, languages: tuple[str, ...]) -> datetime | None:
    import dateparser  # a seventh of a second to import, for the few portals that need it

    here = fetched_at.astimezone(zone).replace(tzinfo=None)
    moment = dateparser.parse(
        text,
        languages=list(languages),
        settings={"RELATIVE_BASE": here, "PREFER_DATES_FROM": "past", "STRICT_PARSING": True},
    )
    if moment is None or not _FIRST_YEAR <= moment.year < _LAST_YEAR:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)
