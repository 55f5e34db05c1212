"""A spoilt page raises only the errors of our own and never gives a wrong value: a value that is not there is missing.

The rule for each field of a spoilt page's listing: it equals the field on the sound page, or it is missing (None,
empty, the default), or it differs only as follows:

- identity (`portal`, `ref`, `url`) may never differ;
- a text may lose words, and a list or a set members, in their order: parts of it were dropped with their node. A text
  may also be another text of the spoilt page: many pages have their title twice;
- a date with a time may become the date alone: a page may show the day where its script has the minute;
- a price may turn out to be on request, because portals write that by leaving the price out;
- a missing country becomes the portal's own country: every listing has one;
- a value that is marked as uncertain may differ: coordinates of a neighbourhood, if `geo_precision` is `approximate`; a
  value that is assumed, if `quality_flags` has it as `<field>_assumed`;
- `sources` in `extra` names the place where a field was read: it may have fewer entries, or name the title, or another
  place where it was the title;
- `quality_flags` may have `category_unknown`: the category was spoilt;
- a value that the expectation lists under `also` is allowed: a second source has it, and a person has checked it.

Everything else has to be the same or None, above all numbers: no mutation cuts a value in two (see tests/mutations.py),
so a different number was read from a wrong place.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from html import unescape
from pathlib import Path
from random import Random
from typing import Any

import pytest
from scrapy.crawler import Crawler

from realestate.crawling.page_outcomes import BrokenPage, ListingGone
from realestate.items import FIELDS, Listing, as_record
from realestate.pipelines.medians import LiveMedians
from realestate.pipelines.validate import ValidatePipeline
from tests import recorded
from tests.mutations import Variant, variants

VARIANTS = 500
SEED = 20261116
NOW = datetime(2026, 11, 16, tzinfo=UTC)

_MISSING = as_record(Listing(portal="", ref="", url="", country=""))
_IDENTITY = ("portal", "ref", "url", "parser_version")
_TEXTS = ("title", "description", "street", "city", "district", "region", "agency_name")
_COLLECTIONS = ("photos", "features", "quality_flags")
_TIMES = ("posted_at", "updated_at")
CATEGORY_UNKNOWN = "category_unknown"
#: Degrees; some five kilometres.
NEAR = 0.05
#: Fields that mean nothing without each other.
_PLACED = ("latitude", "longitude", "geo_precision")
_TOGETHER = (("price", "currency"), ("latitude", "longitude"))


def listings_of(portal: str) -> list[Path]:
    expected = [path for path in recorded.expectations() if path.parent.name == portal]
    return [path for path in expected if "listing" in json.loads(path.read_text("utf-8"))]


PORTALS = sorted({path.parent.name for path in recorded.expectations() if listings_of(path.parent.name)})


def made(expected: Path, body: bytes) -> Listing | None:
    """The listing of a page; None if the parser says that the page is broken or gone."""
    hints = json.loads(expected.read_text("utf-8")).get("hints", {})
    spider = recorded.spider(expected.parent.name)
    try:
        listing, *_ = spider.parsed(recorded.response_of(expected, body), "extract", **hints)
    except (BrokenPage, ListingGone):
        return None
    assert isinstance(listing, Listing)
    return listing


def wrong_fields(sound: dict[str, Any], spoilt: dict[str, Any], body: bytes, also: dict[str, Any]) -> list[str]:
    """The fields whose value is neither the old one nor missing nor allowed by the rule."""
    assumed = {f"{name}_assumed" for name in FIELDS}
    spoilt = {**spoilt, "quality_flags": [flag for flag in spoilt["quality_flags"] if flag not in assumed]} | {
        "assumed": {flag.removesuffix("_assumed") for flag in spoilt["quality_flags"] if flag in assumed}
    }
    wrong = [
        name
        for name in FIELDS
        if not is_uncertain(name, sound, spoilt)
        and not is_right(name, sound[name], spoilt[name], body, also.get(name, ()))
    ]
    return wrong + [
        f"{one} without {other}" for one, other in _TOGETHER if (spoilt[one] is None) != (spoilt[other] is None)
    ]


def is_uncertain(name: str, sound: dict[str, Any], spoilt: dict[str, Any]) -> bool:
    """Whether the listing marks this value as uncertain."""
    if name == "country":
        return bool(spoilt[name] == recorded.spider(sound["portal"]).country)
    if spoilt["geo_precision"] == "approximate" and name in _PLACED:
        was, now = sound[name], spoilt[name]
        return name == "geo_precision" or (None not in (was, now) and bool(abs(was - now) < NEAR))
    return name in spoilt["assumed"]


def is_right(name: str, was: Any, now: Any, body: bytes, also: Any) -> bool:
    if now == was or now in also:
        return True
    if name in _IDENTITY:
        return False
    if now == _MISSING[name]:
        return True
    if name in _TEXTS:
        return is_part(now.split(), (was or "").split()) or stands_in(now, body)
    if name in _COLLECTIONS:
        return is_part([each for each in now if each != CATEGORY_UNKNOWN], was)
    if name in _TIMES:
        return was is not None and now[:10] == was[:10]
    if name == "extra":
        return all(
            value == was.get(key)
            or (key == "sources" and is_source(value, was.get(key, {})))
            or all(stands_in(each, body) for each in leaves(value))
            for key, value in now.items()
        )
    return name == "price_basis" and now == "on_request"


def is_source(now: dict[str, str], was: dict[str, str]) -> bool:
    return all(source in (was.get(name), "title") or was.get(name) == "title" for name, source in now.items())


def is_part(now: list[str], was: list[str]) -> bool:
    """Whether all elements were there before, in this order."""
    rest = iter(was)
    return all(each in rest for each in now)


def leaves(value: Any) -> list[str]:
    """The texts and numbers in a value, without booleans."""
    if isinstance(value, dict | list):
        return [leaf for each in (value.values() if isinstance(value, dict) else value) for leaf in leaves(each)]
    return [] if value is None or isinstance(value, bool) else [str(value)]


def stands_in(text: str, body: bytes) -> bool:
    return " ".join(text.split()) in page_text(body)


@lru_cache(maxsize=2)
def page_text(body: bytes) -> str:
    """The text of a page, as a person or a script reads it, with single blanks."""
    text = body.decode("utf-8")
    without_tags = re.sub("<[^>]*>", "", text)
    whole = f"{text} {without_tags} {json_texts(text)}"
    return " ".join(unescape(whole).split())


def json_texts(text: str) -> str:
    """Texts of JSON without their escapes; those of JavaScript are left out."""
    return " ".join(
        str(json.loads(found)) for found in re.findall(r'"(?:[^"\\\n]|\\["\\/bfnrtu])*"', text) if "\\u" not in found
    )


def spoilt_pages(portal: str) -> list[tuple[Path, Variant]]:
    pages = listings_of(portal)
    random = Random(f"{SEED} {portal}")
    shares = [VARIANTS // len(pages) + (number < VARIANTS % len(pages)) for number in range(len(pages))]
    return [
        (page, variant)
        for page, share in zip(pages, shares, strict=True)
        for variant in variants(recorded.page_of(page).read_bytes(), share, random)
    ]


class Verdict:
    """The results of a portal's parser for all spoilt pages."""

    def __init__(self) -> None:
        self.read = 0
        self.faults: Counter[str] = Counter()
        self.examples: dict[str, str] = {}

    def add(self, fault: str, example: str) -> None:
        self.faults[fault] += 1
        self.examples.setdefault(fault, example)

    def __str__(self) -> str:
        return "\n".join(f"{fault} ({count} times): {self.examples[fault]}" for fault, count in self.faults.items())


def judged(portal: str, validate: ValidatePipeline) -> Verdict:
    verdict = Verdict()
    sound = {page: as_record(sound_listing(page)) for page in listings_of(portal)}
    also = {page: json.loads(page.read_text("utf-8")).get("also", {}) for page in sound}
    for page, variant in spoilt_pages(portal):
        where = f"{page.stem}: {variant.what}"
        try:
            listing = made(page, variant.body)
        except Exception as error:
            verdict.add(f"{type(error).__name__}: {error}", where)
            continue
        if listing is None:
            continue
        verdict.read += 1
        record = as_record(listing)
        for field in wrong_fields(sound[page], record, variant.body, also[page]):
            verdict.add(field, f"{where}: {sound[page].get(field)!r} became {record.get(field)!r}")
        validate.process_item(listing)
    return verdict


def sound_listing(page: Path) -> Listing:
    listing = made(page, recorded.page_of(page).read_bytes())
    assert listing is not None
    return listing


@pytest.mark.parametrize("portal", PORTALS)
def test_a_spoilt_page_gives_no_wrong_value_and_what_is_missing_is_counted(
    portal: str, make_crawler: Callable[..., Crawler]
) -> None:
    stats = make_crawler(recorded.spider_class(portal)).stats
    assert stats is not None
    verdict = judged(portal, ValidatePipeline(stats, lambda: NOW, LiveMedians(list, 0)))
    assert not verdict.faults, str(verdict)
    assert verdict.read > VARIANTS / 5, "most pages that lose one part still give the rest"
    assert stats.get_value("listing/made") == verdict.read
    assert stats.get_value("listing/field/title/missing", 0) < verdict.read
    assert any(stats.get_value(f"listing/field/{name}/missing") for name in ("price", "area_m2", "city", "posted_at"))


@pytest.mark.parametrize(
    ("name", "was", "now", "is_it"),
    [
        ("price", 245000, 245000, True),
        ("price", 245000, None, True),
        ("price", 245000, 245, False),
        ("rooms", None, 3, False),
        ("ref", "840001", "", False),
        ("title", "Sold flat in Baku", "Sold in Baku", True),
        ("title", "Sold flat", "flat Sold", False),
        ("title", "Sold flat", "Shown twice", True),
        ("photos", ["a", "b"], ["b"], True),
        ("photos", ["a", "b"], ["c"], False),
        ("posted_at", "2026-11-01T09:00:00+04:00", "2026-11-01T00:00:00+04:00", True),
        ("posted_at", None, "2026-11-01T00:00:00+04:00", False),
        ("price_basis", "total", "on_request", True),
        ("status", "sold", "reserved", False),
        ("extra", {"a": "1"}, {"b": "Shown"}, True),
        ("extra", {"a": "1"}, {"b": "Elsewhere"}, False),
        ("extra", {"sources": {"city": "next", "price": "next"}}, {"sources": {"city": "next"}}, True),
        ("extra", {"sources": {"city": "next"}}, {"sources": {"city": "opengraph"}}, False),
        ("extra", {"sources": {"city": "title"}}, {"sources": {"city": "opengraph"}}, True),
        ("quality_flags", ["a"], ["category_unknown"], True),
        ("quality_flags", ["a"], ["b"], False),
    ],
)
def test_the_rule(name: str, was: Any, now: Any, is_it: bool) -> None:
    assert is_right(name, was, now, b"<p>Shown <b>twice</b></p>", ()) is is_it


def test_a_value_that_is_marked_as_uncertain_is_not_wrong() -> None:
    sound = as_record(Listing(portal="emlak", ref="1", url="https://emlak.az/1-.html", country="AZ", latitude=40.4812))
    sound |= {"longitude": 50.1499, "geo_precision": "exact", "operation": "rent", "rent_period": "day"}
    near = {**sound, "latitude": 40.48, "longitude": 50.14}
    assert wrong_fields(sound, near, b"", {}) == ["latitude", "longitude"]
    assert wrong_fields(sound, {**near, "geo_precision": "approximate"}, b"", {}) == []
    assert wrong_fields(sound, {**near, "latitude": 41.48, "geo_precision": "approximate"}, b"", {}) == ["latitude"]
    assert wrong_fields(sound, {**sound, "rent_period": "month"}, b"", {}) == ["rent_period"]
    assert (
        wrong_fields(sound, {**sound, "rent_period": "month", "quality_flags": ["rent_period_assumed"]}, b"", {}) == []
    )
    assert wrong_fields(sound, {**sound, "longitude": None}, b"", {}) == ["latitude without longitude"]
    assert wrong_fields(sound, sound, b"", {}) == []


def test_the_same_seed_gives_the_same_variants_and_every_way_is_tried() -> None:
    for portal in PORTALS:
        once, again = spoilt_pages(portal), spoilt_pages(portal)
        assert once == again
        assert len(once) == VARIANTS
        ways = {variant.what.partition(":")[0] for _, variant in once}
        assert "truncate" in ways
        assert any(way.startswith("drop") for way in ways)
        assert any(way.startswith("empty") for way in ways)
