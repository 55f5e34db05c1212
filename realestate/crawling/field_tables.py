"""Fields by tables: a portal's table says where each field stands, and the field's name decides how it is read."""

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from scrapy.http import Response, TextResponse

from realestate.parsing import azerbaijani_addresses, coordinates, dates, floors, html, numbers, property_types, words
from realestate.parsing.embedded import assigned, assigned_in_bytes, at, listed
from realestate.parsing.rows import Rows
from realestate.parsing.text import line, paragraphs, word

_YEAR = re.compile(r"(?:19|20)\d\d")
_MARKUP = re.compile(r"</?[a-zA-Z]|&(?:\w+|#\w+);")
_MACHINE_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_ROOTED_PATH = re.compile(r"(?:/[\w-]+)+(?:\.\w+)?", re.ASCII)
#: Scrapy looks for a page's <base> in this many characters.
_BASE_WITHIN = 4096
_LONGEST_CHARACTER = len("\U0010ffff".encode())
_LONG_AGO = datetime(1990, 1, 1, tzinfo=UTC)


def date_time(value: Any, zone: ZoneInfo) -> datetime | None:
    """A Unix time, an ISO date, or a date in words with its year. Words such as "today" are not understood here."""
    if isinstance(value, str) and not value.isdecimal():
        from_iso = dates.iso(value, zone)
        if from_iso is None and _YEAR.search(value):
            return dates.parse(value, zone, _LONG_AGO)
        return from_iso
    return dates.stamp(value)


def served_at(response: Response) -> datetime:
    """When the page was served: the day that its "today" and "yesterday" refer to.

    It is the site's Date header, so that a stored page has the same dates months later. Without one, it is now."""
    header = response.headers.get("Date")
    try:
        date = parsedate_to_datetime(header.decode("latin-1")) if header else None
    except (ValueError, OverflowError):  # such as a day with many digits
        date = None
    return date.replace(tzinfo=date.tzinfo or UTC) if date else datetime.now(UTC)


def number(value: Any) -> Any:
    """A number that JSON has as a text: "1.803" is less than two, because machines write a decimal point."""
    return float(value) if isinstance(value, str) and _MACHINE_NUMBER.fullmatch(value) else value


def body_text(value: Any) -> str | None:
    """A text that may be HTML. Each paragraph and each line break begins a new line."""
    if not isinstance(value, str):
        return None
    if not _MARKUP.search(value):
        return paragraphs(value)
    return html.texts(html.Page(re.sub(r"(</(?:p|li|div|h\d)>)", r"\n\1", value)), "body")


def energy_class(value: Any) -> str | None:
    """The letter of "C1" or "c"; of a range such as "D_C" (Flanders) the first. None for "SI_666" (exempt)."""
    found = re.fullmatch(r"([A-G]\+{0,2})(?:\d?|_.*)", (line(value) or "").upper())
    return found[1] if found else None


def street(value: Any) -> str | None:
    """The street of an address. If the address has several parts, it is the part that begins with a house number."""
    parts = [line(part) for part in str(value or "").split(",")]
    if len(parts) == 1:
        return parts[0]
    return next((part for part in parts if part and part[0].isdecimal()), None)


def _urls(value: Any) -> list[str]:
    return [each for each in listed(value) if isinstance(each, str) and each.startswith(("https://", "http://"))]


def _area(value: Any) -> float | None:
    return numbers.positive(number(value))


#: How a field is read. A field that is not here is one line of text.
READERS: dict[str, Callable[[Any], Any]] = {
    "area_m2": _area,
    "plot_m2": _area,
    "rooms": numbers.worded,
    "bedrooms": numbers.worded,
    "bathrooms": numbers.worded,
    "floors_total": numbers.worded,
    "facades": numbers.worded,
    "floor": lambda value: floors.parse(value).floor,
    "year_built": lambda value: numbers.whole(value) or None,
    "energy_class": energy_class,
    "energy_kwh_m2": lambda value: numbers.signed(number(value)),
    "property_type": property_types.of,
    "subtype": word,
    "condition": word,
    "heating": word,
    "is_new_building": words.truth,
    "has_deed": words.truth,
    "has_mortgage": words.truth,
    "description": body_text,
    "street": street,
    "photos": _urls,
}
#: Fields that need the portal's time zone.
DATES = ("posted_at", "updated_at")
#: A field, its name in the object that has it, and how it is read; None for a date.
_Field = tuple[str, str, Callable[[Any], Any] | None]


def read_field(name: str, value: Any) -> Any:
    """The value of a field, as the field's name requires."""
    return READERS.get(name, line)(value)


def read_paths(document: Any, table: Mapping[str, str], zone: ZoneInfo) -> dict[str, Any]:
    """The fields of a JSON document. The table maps a field to its path."""
    fields: dict[str, Any] = {}
    for above, in_object in _by_object(tuple(table.items())):
        part = at(document, above) if above else document
        for name, last, reader in in_object:
            value = part.get(last) if isinstance(part, dict) else at(part, last)
            if value is None and name != "photos":  # without photos the value is an empty list
                fields[name] = None
            else:
                fields[name] = date_time(value, zone) if reader is None else reader(value)
    return fields


@lru_cache(maxsize=256)
def _by_object(table: tuple[tuple[str, str], ...]) -> list[tuple[str, list[_Field]]]:
    """A table of paths, grouped by the object they end in: each object is looked up once for all its fields."""
    fields: dict[str, list[_Field]] = {}
    for name, path in table:
        above, _, last = path.rpartition(".")
        reader = None if name in DATES else READERS.get(name, line)
        fields.setdefault(above, []).append((name, last, reader))
    return list(fields.items())


def assigned_in(response: TextResponse, name: str) -> Any:
    """The value that a page's script assigns to `window.X`."""
    if response.encoding == "utf-8" and (value := assigned_in_bytes(response.body, name)):
        return value
    return assigned(response.text, name)


def read_rows(rows: Rows, table: Mapping[str, str]) -> dict[str, Any]:
    """The fields of label/value rows. The table maps a field to its label.

    The rows that are read are removed; what is left belongs into `extra`. A floor such as "2 / 9" also sets
    floors_total.
    """
    values = {name: rows.take(label) for name, label in table.items()}
    fields = {name: read_field(name, value) for name, value in values.items()}
    total = floors.parse(values.get("floor")).total
    if total is not None:
        fields["floors_total"] = total
    return fields


def place_fields(place: azerbaijani_addresses.Place) -> dict[str, Any]:
    """The fields of an Azerbaijani address. Without a district, the settlement is used."""
    return {
        "city": place.city,
        "district": place.district or place.settlement,
        "metro_station": place.metro_station,
        "street": place.street,
    }


def point_fields(point: coordinates.Point, precision: Any = "exact") -> dict[str, Any]:
    """The fields latitude, longitude and geo_precision."""
    return {**point._asdict(), "geo_precision": None if point.latitude is None else precision}


def view_count(views: int | None) -> dict[str, int]:
    """For `extra`: how often the page was viewed, if it says so."""
    return {} if views is None else {"views": views}


def page_of(response: TextResponse) -> html.Page:
    """The parsed HTML page. Nearly all pages are UTF-8, as the parser's input is: they need no decoding."""
    return html.Page(response.body if _is_valid_utf8(response) else response.text)


def _is_valid_utf8(response: TextResponse) -> bool:
    """Invalid bytes have to be replaced by Scrapy's decoder, so such a page is decoded first."""
    if response.encoding != "utf-8" or response.body.startswith(BOM_UTF8):
        return False
    try:
        response.body.decode()
    except UnicodeDecodeError:
        return False
    return True


def absolute(response: TextResponse, links: Iterable[str]) -> list[str]:
    """Absolute URLs of links. Nearly all begin with their host or with a slash: only the others need `urljoin`."""
    links = list(links)
    if not links:
        return []
    root = None if _may_have_base(response) else "/".join(response.url.split("/", 3)[:3])
    return [_absolute(response, root, link) for link in links]


def _absolute(response: TextResponse, root: str | None, link: str) -> str:
    if link.startswith("https://"):
        return link
    if root and _ROOTED_PATH.fullmatch(link):
        return root + link
    return response.urljoin(link)


def _may_have_base(response: TextResponse) -> bool:
    if response.encoding == "utf-8":
        return response.body.find(b"<base", 0, _BASE_WITHIN * _LONGEST_CHARACTER) >= 0
    return "<base" in response.text[:_BASE_WITHIN]
