"""Every public function of `parsing/` and `privacy/` takes a time that is proportional to the size of its input.

A page is written by somebody else. If one page of 300 kB took a minute, it would stop a worker.
"""

import inspect
import pkgutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from itertools import product
from types import ModuleType
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from selectolax.lexbor import LexborHTMLParser

import realestate.parsing
import realestate.privacy
from realestate.parsing import (
    apollo,
    areas,
    azerbaijani_addresses,
    coordinates,
    currencies,
    dates,
    devalue,
    embedded,
    floors,
    hosts,
    html,
    jsonld,
    markup_limits,
    microdata,
    numbers,
    periods,
    prices,
    property_types,
    robots_texts,
    rows,
    schemaorg,
    text,
    unknown_pages,
    urls,
    words,
)
from realestate.parsing.unknown_pages import cities, countries, places, reference, values, vocabulary
from realestate.privacy import (
    contacts,
    digit_groups,
    emails,
    messengers,
    numbering_plans,
    phone_words,
    phones,
    precheck,
    spelled_numbers,
    strip,
)
from realestate.privacy.errors import clean_error
from realestate.spiders.immoweb import ImmowebSpider
from tests.growth import grows_too_fast, seconds

ZONE = ZoneInfo("Asia/Baku")
NOW = datetime(2026, 11, 16, tzinfo=UTC)
PLAN = numbering_plans.plan_of("AZ")
SITE = "https://www.example.az"
LARGEST = 256_000
LARGEST_TEXT = 128_000
#: `strip_persons` refuses longer texts.
LONGEST_TEXT = 100_000

Reader = Callable[[str], object]


def _runs(text: str) -> None:
    for in_words in (False, True):
        for run in digit_groups.digit_runs(text, in_words=in_words):
            list(digit_groups.without_harmless(text, run))
            phones.may_contain_phone(text, run, PLAN)


def _around(text: str) -> None:
    """What is asked about the text before and after one number."""
    middle = len(text) // 2
    phone_words.announces_phone(text, middle)
    phone_words.may_be_announced(text, middle, middle + 20)
    phone_words.announces_reference(text, middle)
    phone_words.is_money_or_measure(text, middle, middle + 9)
    phone_words.unit_follows(text, middle)
    phone_words.harmless_spans(text, 0, len(text))


def _table(text: str) -> rows.Rows:
    table = rows.Rows()
    table.add(text, text)
    table.put(text, text)
    table.first(text)
    table.take(text)
    return table


def _lower_words(text: str) -> tuple[bytes, frozenset[bytes]]:
    lower = precheck.lower_bytes(text)
    return lower, frozenset(precheck.words(lower))


def _scrub(text: str) -> None:
    """All of them call the same search. A part of the text grows with the text."""
    contacts.scrub(text, "AZ")
    part = text[: len(text) // 8]
    contacts.find_contacts(part, "PL")
    contacts.scrub_and_find(part, "XX")
    contacts.scrub_many([part, part + "a"], "BE")


def _strip(text: str) -> None:
    text = text[:LONGEST_TEXT]
    strip.strip_persons({"description": text, "agency_name": text, "extra": {"a": [text, text], "phone": text}}, "AZ")


#: Functions that read a text or a part of one.
TEXTS: dict[str, Reader] = {
    "areas.parse": areas.parse,
    "areas.every": areas.every,
    "areas.of": lambda text: areas.of(text, text),
    "azerbaijani_addresses.parse": azerbaijani_addresses.parse,
    "azerbaijani_addresses.metro_at_end": azerbaijani_addresses.metro_at_end,
    "coordinates.of": lambda text: coordinates.of(text, text),
    "coordinates.parse": coordinates.parse,
    "coordinates.geojson": lambda text: coordinates.geojson([text, text]),
    "currencies.code": currencies.code,
    "dates.iso": dates.iso,
    "dates.stamp": dates.stamp,
    "dates.day": lambda text: dates.day(text, ZONE),
    "dates.parse": lambda text: dates.parse(text, ZONE, NOW, languages=("de",)),
    "floors.parse": floors.parse,
    "hosts.is_public_ip": hosts.is_public_ip,
    "hosts.is_public_host": hosts.is_public_host,
    "hosts.is_ip_address": hosts.is_ip_address,
    "numbers.first": numbers.first,
    "numbers.whole": numbers.whole,
    "numbers.positive": numbers.positive,
    "numbers.signed": numbers.signed,
    "numbers.worded": numbers.worded,
    "numbers.machine_amount": numbers.machine_amount,
    "numbers.machine_count": numbers.machine_count,
    "numbers.value": lambda text: numbers.value("1" + text),
    "periods.parse": periods.parse,
    "prices.of": lambda text: prices.of(text, "EUR"),
    "prices.from_json": lambda text: prices.from_json(text, "EUR"),
    "prices.parse": lambda text: prices.parse(text, "EUR"),
    "property_types.of": property_types.of,
    "rows.Rows.add": _table,
    "rows.Rows.put": _table,
    "rows.Rows.first": _table,
    "rows.Rows.take": _table,
    "rows.of": lambda text: rows.of([{"name": text, "value": text}]),
    "text.missing": text.missing,
    "text.line": text.line,
    "text.paragraphs": text.paragraphs,
    "text.fold": text.fold,
    "text.plain": text.plain,
    "text.word": text.word,
    "urls.is_on_site": lambda text: urls.is_on_site(SITE, SITE + text),
    "urls.absolute_url": lambda text: urls.absolute_url(SITE, text),
    "urls.url_path": lambda text: urls.url_path(SITE, SITE + text),
    "urls.path_match": lambda text: urls.path_match(ImmowebSpider.listing_path, SITE, SITE + text),
    "words.folded": lambda text: words.folded({text: 1}),
    "words.meaning": lambda text: words.meaning(text, {}),
    "words.truth": words.truth,
    "contacts.scrub": _scrub,
    "contacts.find_contacts": _scrub,
    "contacts.scrub_and_find": _scrub,
    "contacts.scrub_many": _scrub,
    "contacts.search": lambda text: contacts.search(text, "AZ"),
    "emails.may_contain": lambda text: emails.may_contain(*_lower_words(text)),
    "emails.has_mark": lambda text: emails.has_mark(_lower_words(text)[0]),
    "emails.has_words": lambda text: emails.has_words(_lower_words(text)[1]),
    "emails.find": lambda text: list(emails.find(text)),
    "messengers.may_contain": lambda text: messengers.may_contain(*_lower_words(text)),
    "messengers.has_mark": lambda text: messengers.has_mark(_lower_words(text)[0]),
    "messengers.has_word": lambda text: messengers.has_word(_lower_words(text)[1]),
    "messengers.find": lambda text: list(messengers.find(text)),
    "numbering_plans.read_international": lambda text: numbering_plans.read_international(text, PLAN),
    "numbering_plans.read_international_of_any_country": lambda text: numbering_plans.read_international_of_any_country(
        text, PLAN
    ),
    "numbering_plans.read_national": lambda text: numbering_plans.read_national(text, PLAN),
    "numbering_plans.read_national_of_any_country": lambda text: numbering_plans.read_national_of_any_country(
        text, PLAN
    ),
    "numbering_plans.read_with_code": lambda text: numbering_plans.read_with_code(text, PLAN),
    "numbering_plans.read_bare": lambda text: numbering_plans.read_bare(text, PLAN),
    "numbering_plans.read_announced": lambda text: numbering_plans.read_announced(text, PLAN),
    "phone_words.announces_phone": _around,
    "phone_words.may_be_announced": _around,
    "phone_words.announces_reference": _around,
    "phone_words.is_money_or_measure": _around,
    "phone_words.unit_follows": _around,
    "phone_words.harmless_spans": _around,
    "digit_groups.digit_runs": _runs,
    "digit_groups.without_harmless": _runs,
    "phones.may_contain_phone": _runs,
    "digit_groups.visible": digit_groups.visible,
    "phones.find": lambda text: phones.find(text, "AZ", in_words=True),
    "precheck.candidates": lambda text: precheck.candidates([text, text]),
    "precheck.may_contain_contact": precheck.may_contain_contact,
    "precheck.lower_bytes": precheck.lower_bytes,
    "precheck.words": _lower_words,
    "precheck.may_contain_phone": lambda text: precheck.may_contain_phone(text.encode()),
    "spelled_numbers.find_spelled_numbers": lambda text: list(spelled_numbers.find_spelled_numbers(text)),
    "spelled_numbers.may_contain": lambda text: spelled_numbers.may_contain(precheck.words(text.encode())),
    "strip.strip_persons": _strip,
    "strip.key_meaning": strip.key_meaning,
    "unknown_pages.reference.of": lambda text: reference.of(f"{SITE}/{text}"),
    "unknown_pages.vocabulary.operation": vocabulary.operation,
    "unknown_pages.vocabulary.property_type": vocabulary.property_type,
    "unknown_pages.vocabulary.counts": vocabulary.counts,
    "unknown_pages.vocabulary.seller": vocabulary.seller,
    "unknown_pages.values.area": values.area,
    "unknown_pages.values.price": lambda text: values.price(text, "DE"),
    "unknown_pages.values.price_mentions": values.price_mentions,
    "unknown_pages.values.moment": values.moment,
    "unknown_pages.values.floor": values.floor,
    "unknown_pages.places.city": places.city,
    "unknown_pages.places.in_united_states": lambda text: places.in_united_states([text, text[::2]]),
    "unknown_pages.cities.find": lambda text: cities.find([text], [text, text[::2]], None, "EUR"),
    "unknown_pages.countries.code": countries.code,
    "unknown_pages.countries.of_postal_code": lambda text: countries.of_postal_code(text, "GBP"),
    "currencies.is_shared": currencies.is_shared,
    "currencies.is_written": currencies.is_written,
    "currencies.of_country": currencies.of_country,
    "errors.clean_error": lambda text: clean_error(ValueError(text[:LONGEST_TEXT], {"text": text[:1000]}), "AZ"),
    "hosts.is_public_address": lambda text: hosts.is_public_address(f"{SITE}{text}"),
    "hosts.site_of": lambda text: hosts.site_of(f"https://{text}.example.az/a"),
    "robots_texts.limited": lambda text: robots_texts.limited(text.encode("utf-8", "replace")),
    "robots_texts.whole_lines": lambda text: robots_texts.whole_lines(text.encode("utf-8", "replace")),
    "urls.stored_link": urls.stored_link,
    "urls.web_url": urls.web_url,
}
#: Functions that read a script or a block of JSON.
SCRIPTS: dict[str, Reader] = {
    "embedded.decoded": embedded.decoded,
    "embedded.assigned": lambda page: embedded.assigned(page, "window.x"),
    "embedded.assigned_in_bytes": lambda page: embedded.assigned_in_bytes(page.encode(), "window.x"),
    "embedded.value_at": lambda page: embedded.value_at(page, 0),
    "embedded.script": lambda page: embedded.script(page, "x"),
    "embedded.next_data": embedded.next_data,
    "devalue.unpacked": devalue.unpacked,
    "jsonld.nodes": jsonld.nodes,
    "jsonld.every": lambda page: jsonld.every(page, "Product"),
    "jsonld.first": lambda page: jsonld.first(page, "Product"),
}
#: Functions that read a page.
PAGES: dict[str, Reader] = {
    "html.Page": html.Page,
    "html.text": lambda page: html.text(html.Page(page), "div"),
    "html.texts": lambda page: html.texts(html.Page(page), "div, span, p"),
    "html.each_text": lambda page: html.each_text(html.Page(page), "div, b"),
    "html.attribute": lambda page: html.attribute(html.Page(page), "ul dl td", "class"),
    "html.meta": lambda page: html.meta(page, "og:title"),
    "html.attributes": lambda page: html.attributes(html.Page(page), "div div", "class"),
    "html.attribute_json": lambda page: html.attribute_json(html.Page(page), "div", "id"),
    "html.rows": lambda page: (
        html.rows(html.Page(page), "div, tr", "b, th"),
        html.rows(html.Page(page), "li", "b", "p"),
    ),
    "html.definitions": lambda page: html.definitions(html.Page(page), "dl, div"),
    "html.opengraph": lambda page: html.opengraph(html.Page(page)),
    "markup_limits.check": lambda page: markup_limits.check(page.encode()),
    "microdata.nodes": microdata.nodes,
    "unknown_pages.read": lambda page: unknown_pages.read(page, f"{SITE}/homes/12345"),
}
#: Functions that read a decoded JSON document.
DOCUMENTS: dict[str, Callable[[Any], object]] = {
    "apollo.first": lambda document: apollo.first(document, "N"),
    "apollo.fullest": lambda document: apollo.fullest(document, "N"),
    "apollo.resolved": lambda document: apollo.resolved(document, document),
    "apollo.field": lambda document: apollo.field(document, "photos"),
    "devalue.unpacked": devalue.unpacked,
    "embedded.at": lambda document: embedded.at(document, "a.a.a"),
    "embedded.first_at": lambda document: embedded.first_at(document, "a.b", "a.a"),
    "embedded.listed": embedded.listed,
    "embedded.search": lambda document: embedded.search(document, "a[?b].c | [0]"),
    "rows.of": rows.of,
    "schemaorg.fields": schemaorg.fields,
    "schemaorg.price": schemaorg.price,
    "schemaorg.country": schemaorg.country,
    "schemaorg.types_of": lambda document: isinstance(document, dict) and schemaorg.types_of(document),
    "schemaorg.is_gone": schemaorg.is_gone,
}
#: Public names that read nothing of a page: decorators, tables, and parts of `phones.find`.
WITHOUT_PAGE = {
    "hosts.public_suffixes",
    "text.cached",
    "numbering_plans.plan_of",
    *(f"digit_groups.Run.{name}" for name in vars(digit_groups.Run) if not name.startswith("_")),
}

PIECES = (
    *("0", "9", "1,", "1.", "1/", "1 ", "000 ", "0-", "5-", "+1", "1:", "12 34 5 ", "0501234567 ", "994", "10:30 "),
    *("1.1.2020 ", "28 may ", "28.08.", "2026-01-01 ", "40.1234 ", "0x", "::", "1\u200b", "➀", "o0", "O ", "0.1 "),
    *(
        "a",
        "A",
        "é",
        "İ",
        "a ",
        " ",
        "\n",
        "\t ",
        "-",
        "--",
        ".",
        ",",
        "/",
        "(",
        "[",
        "{",
        "<",
        "&",
        "=",
        ":",
        "_",
        "#",
    ),
    *("@", "a@", "@a", "a@b.", "a.", "a-", "(at)", " at ", "at gmail ", " dot ", "[a", "t.me/", "wa.me/", "http://"),
    *("tel ", "tel 1", "nömrə ", "ref ", "VÖEN", "BE0", "📞", "😀", "…", "|", "*", "' ", '"', "\\", "\x1e", "\u00a0"),
    *("one ", "bir ", "sıfır əlli ", "quatre vingt ", "oh"),
    *(
        "€",
        "€5 + ",
        "$ ",
        "5 - ",
        "5 m² - ",
        "m² ",
        "per / ",
        "5 AZN ",
        "from ",
        "to ",
        "poa ",
        "n.o.t.k",
        "tikili m. ",
    ),
    *("küç ", "ş.,", "localhost.", "/classified/1", "/a", "%2", "house", "lokal", "semi-", "firstName.", "aB"),
)
#: Parts of scripts and JSON, and what stands before them.
SCRIPT_PIECES = (
    *(
        "[",
        "{",
        '{"a":',
        '"',
        '\\"',
        "'\"",
        "\\",
        "undefined ",
        "void 0",
        '{"undefined": undefined, "',
        "1",
        "-",
        "1e9",
    ),
    *("window.x = ", 'window.x = {"a": [', "window.x=[", 'window.x = JSON.parse("', 'window.x = JSON.parse("\\', "= "),
    *("<script ", "<script>", "<script id=", "<script id=x>", "</script", "<!--", "-->", "<![CDATA[", "]]>", " ", "<"),
    *("application/ld+json", '<script type="application/ld+json" ', '<script type="application/ld+json">['),
    *('<script type="application/ld+json"></script>', "</head>", "a"),
)
SCRIPT_BEGINNINGS = (
    "",
    '{"a":undefined,"b":"',
    "window.x = ",
    'window.x = JSON.parse("',
    "<script id=x>",
    '<script type="application/ld+json"><!--{"a":undefined,"b":"',
)
#: Parts of HTML. A "%d" becomes a number, so that no two are equal.
HTML_PIECES = (
    *("<style>", "<title>", "<!--", "<!-->", "<!", "<?", "</", "<", ">", "&", "&amp;", "&#1;", " ", "a", "<head>"),
    *("<meta property=og:title content=a>", '<meta property="og:title" content="a">', "og:title", "</head>", "<h1>"),
    *("<div>", "<div></x>", "<span>", "<span></x>", "<div></div>", "<ul><li>", "<dl><dt>a<dd>b", "<dt>a<dd>b", "<p>"),
    *(
        "<tr><th>a<td>",
        "<table><tr><td>",
        "<li><b>a<p>b",
        "<div><b>a</b>x",
        "<b>",
        "<b><p>",
        "<p><b id=%d>",
        "<i><div>",
    ),
    *(
        "<p><b id=%d></x></x>",
        "<font color=%d>",
        "<a>",
        "<a href=%d><p>",
        "<form><div>",
        "<svg><g/>",
        "<math>",
        "<svg>",
    ),
    *("<svg>", "<select><option>", "<body a%d=1>", "<html a%d>", "<button><p>", "<template>", "<nobr>", "<table><b>"),
    *("<div itemscope>", "<div itemscope itemprop=a>", "<b itemscope><b itemprop=a>x", "<p itemprop=a itemscope></p>"),
    *(
        "<i itemprop=a>",
        "<div itemscope itemref='a b'><p id=a itemprop=b>",
        "<div itemscope itemref=a id=a itemprop=a>",
    ),
)
HTML_BEGINNING = "<div itemscope>"


def _names(package: ModuleType) -> Iterator[str]:
    """The public functions of a package, the public methods of its classes, and the classes that parse a text."""
    for found in pkgutil.iter_modules(package.__path__):
        module = import_module(f"{package.__name__}.{found.name}")
        for name, each in vars(module).items():
            if name.startswith("_") or getattr(each, "__module__", None) != module.__name__:
                continue
            if inspect.isclass(each):
                methods = [method for method, _ in inspect.getmembers(each, inspect.isfunction) if method in vars(each)]
                yield from (f"{found.name}.{name}.{method}" for method in methods if not method.startswith("_"))
                if "__init__" in vars(each) and issubclass(each, LexborHTMLParser):
                    yield f"{found.name}.{name}"
            elif callable(each):
                yield f"{found.name}.{name}"


def _repeated(piece: str, size: int, *, beginning: str = "", end: str = "") -> str:
    """The piece again and again. A "%d" in it becomes a number, so that no two are equal."""
    count = max(size // len(piece), 1)
    repeated = "".join(piece % number for number in range(count)) if "%d" in piece else piece * count
    return beginning + repeated + end


def _deep_object(size: int) -> Any:
    document: Any = {"a": 1}
    for _ in range(size // 100):
        document = {"a": document, "about": document["a"]}
    return document


def _wide_list(size: int) -> Any:
    return [{"name": f"a{number}", "value": [number], "a": [{"b": 1}]} for number in range(size // 40)]


def _wide_object(size: int) -> Any:
    names = ("about", "offers", "mainEntity", "itemOffered", "geo", "image", "@type")
    inner = [{"offers": [{"price": "x", "about": "y"}], "about": [{"geo": {}}]} for _ in range(size // 400)]
    return dict.fromkeys(names, inner) | {f"N:{number}": {"a": number} for number in range(size // 40)}


def _objects(size: int) -> Any:
    return {f"a{number}": {"title": "x", "b": {"price": 1}} for number in range(size // 40)}


def _references(size: int) -> Any:
    """Each object refers to the two after it: resolved as a tree it would never end."""
    count = size // 40
    chain = {
        f"N:{number}": {"a": {"__ref": f"N:{number + 1}"}, "b": {"__ref": f"N:{number + 2}"}} for number in range(count)
    }
    return chain | {f"N:{count}": {}}


def _indices(size: int) -> Any:
    return [[number + 1, number + 2] for number in range(size // 20)]


DOCUMENT_SHAPES = (_deep_object, _wide_list, _wide_object, _objects, _references, _indices)


def test_every_public_function_is_measured() -> None:
    measured = TEXTS.keys() | SCRIPTS.keys() | PAGES.keys() | DOCUMENTS.keys() | WITHOUT_PAGE
    known = {*_names(realestate.parsing), *_names(realestate.privacy)}
    assert known - measured == set()
    # `unknown_pages.read` calls all functions of its package. Those that read a text are measured alone too.
    assert {each for each in measured - known if not each.startswith("unknown_pages.")} == set()


def _different(readers: dict[str, Reader]) -> list[str]:
    """One name for each reader: some measure several functions at once."""
    return list({id(read): name for name, read in readers.items()}.values())


@pytest.mark.parametrize("name", _different(TEXTS))
def test_a_text_of_twice_the_size_takes_twice_as_long(name: str) -> None:
    for piece in PIECES:
        make = partial(_repeated, piece, end="x")
        slow = grows_too_fast(TEXTS[name], make, LARGEST_TEXT)
        assert slow is None, f"{name} with {piece!r}: {slow}"


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_of_twice_the_size_takes_twice_as_long(name: str) -> None:
    for beginning, piece in product(SCRIPT_BEGINNINGS, SCRIPT_PIECES):
        slow = grows_too_fast(SCRIPTS[name], partial(_repeated, piece, beginning=beginning), LARGEST)
        assert slow is None, f"{name} with {beginning!r} and {piece!r}: {slow}"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_twice_the_size_takes_twice_as_long(name: str) -> None:
    for piece in HTML_PIECES:
        slow = grows_too_fast(PAGES[name], partial(_repeated, piece, beginning=HTML_BEGINNING), LARGEST)
        assert slow is None, f"{name} with {piece!r}: {slow}"


def _many_attributes(size: int) -> str:
    return "<div " + " ".join(f"a{number}" for number in range(size // 6)) + ">"


def _many_quoted_attributes(size: int) -> str:
    return "<div " + " ".join(f'a{number}="<"' for number in range(size // 10)) + ">"


def _long_text_in_nested_elements(size: int) -> str:
    return "<div itemscope>" + "<div itemprop=a><b>" * 300 + "long text " * (size // 10)


def _end_tags_in_attributes(size: int) -> str:
    return "<div title='</div>'>" * (size // 20)


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(
    "make", [_many_attributes, _many_quoted_attributes, _long_text_in_nested_elements, _end_tags_in_attributes]
)
def test_markup_of_twice_the_size_takes_twice_as_long(name: str, make: Callable[[int], str]) -> None:
    assert grows_too_fast(PAGES[name], make, LARGEST) is None


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_of_twice_the_size_takes_twice_as_long(name: str) -> None:
    for shape in DOCUMENT_SHAPES:
        slow = grows_too_fast(DOCUMENTS[name], shape, LARGEST)
        assert slow is None, f"{name} with {shape.__name__}: {slow}"


def test_the_measure_finds_quadratic_time() -> None:
    def quadratic(text: str) -> int:
        return sum(text.count("a", at) for at in range(0, len(text), 16))

    assert grows_too_fast(quadratic, lambda size: "a" * size, LARGEST) is not None
    assert grows_too_fast(lambda text: text.count("a"), lambda size: "a" * size, LARGEST) is None


@pytest.mark.parametrize("name", [*_different(TEXTS), *SCRIPTS, *PAGES])
def test_a_mixture_of_all_shapes_takes_a_small_part_of_the_budget(name: str) -> None:
    """A page may take five seconds of CPU (PAGE_CPU_SECONDS)."""
    read, pieces = next((group[name], pieces) for group, pieces in GROUPS if name in group)
    mixture = "".join(each % 1 if "%d" in each else each for each in pieces)
    assert seconds(read, _repeated(mixture, LONGEST_TEXT)) < 2.5


GROUPS: tuple[tuple[dict[str, Reader], tuple[str, ...]], ...] = (
    (TEXTS, PIECES),
    (SCRIPTS, SCRIPT_PIECES),
    (PAGES, HTML_PIECES),
)
