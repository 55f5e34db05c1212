"""Fields by tables: a portal says where each stands, and the field itself says how it is read."""

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from scrapy.http import TextResponse

from realestate.parsing import azerbaijani_addresses, coordinates, dates, floors, html, numbers, property_types, words
from realestate.parsing.embedded import assigned, assigned_in_bytes, at, listed
from realestate.parsing.rows import Rows
from realestate.parsing.text import line, paragraphs, word

_YEAR = re.compile(r"(?:19|20)\d\d")
_MARKUP = re.compile(r"</?[a-zA-Z]|&(?:\w+|#\w+);")
_MACHINE = re.compile(r"-?\d+(?:\.\d+)?")
_ROOTED = re.compile(r"(?:/[\w-]+)+(?:\.\w+)?", re.ASCII)
#: Scrapy looks for a page's base among so many characters.
_BASE_WITHIN = 4096
_LONGEST_CHARACTER = len("\U0010ffff".encode())
_LONG_AGO = datetime(1990, 1, 1, tzinfo=UTC)


def paths(table: str) -> dict[str, Any]:
    """ "title bedrooms=beds.count": the title is at `title`, the bedrooms at `beds.count`."""
    parted = (each.partition("=") for each in table.split())
    return {name: path or name for name, _, path in parted}


def moment(value: Any, zone: ZoneInfo) -> datetime | None:
    """A stamp, ISO, or a day in words that names its year: what counts from today tells nothing here."""
    if isinstance(value, str) and not value.isdecimal():
        told = dates.iso(value, zone)
        return told or (dates.parse(value, zone, _LONG_AGO) if _YEAR.search(value) else None)
    return dates.stamp(value)


def number(value: Any) -> Any:
    """A number that JSON has as a text: "1.803" acres are fewer than two, whatever people mean by a dot."""
    return float(value) if isinstance(value, str) and _MACHINE.fullmatch(value) else value


def body_text(value: Any) -> str | None:
    """A text that may be HTML; a paragraph and a line break are lines."""
    if not isinstance(value, str) or not _MARKUP.search(value):
        return paragraphs(value) if isinstance(value, str) else None
    return html.texts(html.Page(re.sub(r"(</(?:p|li|div|h\d)>)", r"\n\1", value)), "body")


def energy_class(value: Any) -> str | None:
    """ "C1" and "c" are C; of a span ("D_C", in Flanders) the worse counts; "SI_666", which says exempt, is none."""
    found = re.fullmatch(r"([A-G]\+{0,2})(?:\d?|_.*)", (line(value) or "").upper())
    return found[1] if found else None


def street(value: Any) -> str | None:
    """Of a whole address only the part with the house number is surely the street."""
    parts = [line(part) for part in str(value or "").split(",")]
    return parts[0] if len(parts) == 1 else next((part for part in parts if part and part[0].isdecimal()), None)


def _addresses(value: Any) -> list[str]:
    return [each for each in listed(value) if isinstance(each, str) and each.startswith(("https://", "http://"))]


#: How a field is read; a field that is not here is one line of text.
READERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("area_m2", "plot_m2"), lambda value: numbers.positive(number(value))),
    **dict.fromkeys(("rooms", "bedrooms", "bathrooms", "floors_total", "facades"), numbers.worded),
    "floor": lambda value: floors.parse(value).floor,
    "year_built": lambda value: numbers.whole(value) or None,
    "energy_class": energy_class,
    "energy_kwh_m2": lambda value: numbers.signed(number(value)),
    "property_type": property_types.of,
    **dict.fromkeys(("subtype", "condition", "heating"), word),
    **dict.fromkeys(("is_new_building", "has_deed", "has_mortgage"), words.truth),
    "description": body_text,
    "street": street,
    "photos": _addresses,
}
#: Fields that need the portal's time zone.
MOMENTS = ("posted_at", "updated_at")
#: A field, its name in the object that has it, and how it is read; None for a moment.
_Field = tuple[str, str, Callable[[Any], Any] | None]


def read(name: str, value: Any) -> Any:
    """The value of a field."""
    return READERS.get(name, line)(value)


def at_paths(document: Any, table: Mapping[str, str], zone: ZoneInfo) -> dict[str, Any]:
    """Fields of a document in JSON: a field -> its path."""
    told: dict[str, Any] = {}
    for above, fields in _by_object(tuple(table.items())):
        part = at(document, above) if above else document
        for name, last, reader in fields:
            value = part.get(last) if isinstance(part, dict) else at(part, last)
            if value is None and name != "photos":  # of which there are none
                told[name] = None
            else:
                told[name] = moment(value, zone) if reader is None else reader(value)
    return told


@lru_cache(maxsize=256)
def _by_object(table: tuple[tuple[str, str], ...]) -> list[tuple[str, list[_Field]]]:
    """A table of paths by the object they end in, so that each is looked up once for all its fields."""
    fields: dict[str, list[_Field]] = {}
    for name, path in table:
        above, _, last = path.rpartition(".")
        fields.setdefault(above, []).append((name, last, None if name in MOMENTS else READERS.get(name, line)))
    return list(fields.items())


def assigned_in(response: TextResponse, name: str) -> Any:
    """The value a page's script gives to `window.X`."""
    if response.encoding == "utf-8" and (told := assigned_in_bytes(response.body, name)):
        return told
    return assigned(response.text, name)


def in_rows(rows: Rows, table: Mapping[str, str]) -> dict[str, Any]:
    """Fields of label/value rows: a field -> its label. The row is taken, for what is left belongs into `extra`.

    A floor may tell how many there are: "2 / 9".
    """
    told = {name: rows.take(label) for name, label in table.items()}
    of_all = floors.parse(told.get("floor")).total
    return {name: read(name, value) for name, value in told.items()} | (
        {} if of_all is None else {"floors_total": of_all}
    )


def located(place: azerbaijani_addresses.Place) -> dict[str, Any]:
    """What an Azerbaijani address tells. A settlement stands for a district where there is none."""
    return {
        "city": place.city,
        "district": place.district or place.settlement,
        "metro_station": place.metro_station,
        "street": place.street,
    }


def placed(point: coordinates.Point, precision: Any = "exact") -> dict[str, Any]:
    """Where a home is, and how well that is known."""
    return {**point._asdict(), "geo_precision": None if point.latitude is None else precision}


def page_of(response: TextResponse) -> html.Page:
    """The page. Nearly all are in UTF-8, as their tree is, and need not be made a text first."""
    return html.Page(response.body if _is_in_utf8(response) else response.text)


def _is_in_utf8(response: TextResponse) -> bool:
    """Surely, byte for byte: what is spoilt becomes text by the rules for that."""
    if response.encoding != "utf-8" or response.body.startswith(BOM_UTF8):
        return False
    try:
        response.body.decode()
    except UnicodeDecodeError:
        return False
    return True


def absolute(response: TextResponse, links: Iterable[str]) -> list[str]:
    """Addresses in full. Nearly all begin with their host or at the root: only the others need to be worked out."""
    links = list(links)
    if not links:
        return []
    root = None if _may_have_base(response) else "/".join(response.url.split("/", 3)[:3])
    return [
        link
        if link.startswith("https://")
        else root + link
        if root and _ROOTED.fullmatch(link)
        else response.urljoin(link)
        for link in links
    ]


def _may_have_base(response: TextResponse) -> bool:
    if response.encoding == "utf-8":
        return response.body.find(b"<base", 0, _BASE_WITHIN * _LONGEST_CHARACTER) >= 0
    return "<base" in response.text[:_BASE_WITHIN]


def counted(views: int | None) -> dict[str, int]:
    """For `extra`: how often a page was looked at, where it says so."""
    return {} if views is None else {"views": views}
