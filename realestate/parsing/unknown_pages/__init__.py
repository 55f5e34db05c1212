"""Reads a listing from a page of a site that we do not know.

`read` takes the page apart (`document`), asks each source for its fields, decides which kind of page it is
(`page_kind`), and takes each field from the most reliable source that has it (`SOURCES`). What sources say differently
is left out, with a quality flag. Words of all languages are in `vocabulary.toml`. docs/generic.md describes all of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from realestate.parsing import coordinates, prices, schemaorg
from realestate.parsing.unknown_pages import (
    cities,
    countries,
    headline,
    json_fields,
    json_objects,
    labels,
    nodes,
    page_kind,
    places,
    shown_price,
    values,
    vocabulary,
)
from realestate.parsing.unknown_pages.document import Document

#: The sources of most fields, the most reliable first.
SOURCES = ("json-ld", "microdata", "next", "embedded", "rows", "opengraph", "title")
#: Numbers that two sources must not say differently; and by how much they may differ (rounding).
_COMPARED = {"area_m2": 0.04, "plot_m2": 0.04, "bedrooms": 0.0, "bathrooms": 0.0}
#: The sources that are compared. The others are read from running text.
_COMPARED_SOURCES = ("json-ld", "microdata", "next", "embedded", "rows")
#: Sources that are data. The others are texts, which may be about anything.
_DATA = ("json-ld", "microdata", "next", "embedded", "opengraph")
_DETAILS = (
    "price", "area_m2", "plot_m2", "rooms", "bedrooms", "bathrooms", "floor", "year_built", "energy_class", "latitude",
    "city", "postal_code", "street",
)  # fmt: skip
#: A page without data must say this much in its texts.
_FEWEST_FACTS = 4


@dataclass
class Reading:
    """What a page says."""

    kind: page_kind.Kind
    is_gone: bool = False
    operation: vocabulary.Operation | None = None
    price: prices.Price = field(default_factory=prices.Price)
    country: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    """Fields of a listing, without those above."""
    sources: dict[str, str] = field(default_factory=dict)
    """Field -> the source it is from."""
    flags: frozenset[str] = frozenset()


def read(text: str, url: str) -> Reading:
    """Return what a page says about a home; or that it is about none, or about many."""
    document = Document(text, url)
    in_united_states = places.in_united_states([*document.titles, document.title or "", *labels.near_heading(document)])
    document.address_country = in_united_states.get("country")
    subjects = {name: nodes.subject(document, found) for name, found in document.nodes.items()}
    subject = _joined(subjects)
    rows = labels.rows(document)
    data = json_objects.read(document)
    listing = json_fields.best(document, data.own())
    kind = page_kind.of(document, subject, rows, has_object=listing is not None, has_list=data.is_list_of_homes())
    if kind == "results":
        return Reading(kind)
    said = {name: nodes.fields(document, each.nodes) for name, each in subjects.items()}
    if listing:
        said[listing[0]] = listing[1]
    said["rows"] = labels.fields(rows)
    said["opengraph"] = _opengraph(document)
    document.titles_in_data = [str(each["title"]) for each in said.values() if "title" in each]
    country = _country(document, said)
    near = [*labels.near_heading(document), *document.titles]
    said["title"] = {
        **places.city_below_label(labels.addresses(document), document.titles),
        **json_fields.usual_values(document, json_objects.every_object(data)),
        **places.code_and_city(near, document.language, country),
        **in_united_states,
        **headline.counts_and_sizes(document),
    }
    reading = Reading("listing", country=country)
    reading.is_gone = any(schemaorg.is_gone(node) for node in subject.nodes)
    _set_fields(reading, said)
    _set_type(reading, document, said, subject.nodes)
    _set_operation(reading, document, said, subject.nodes)
    _set_price(reading, document, said)
    _set_city(reading, document)
    _set_charges(reading)
    _set_title(reading, document, said)
    _set_sizes(reading)
    _leave_out_what_does_not_fit(reading)
    is_home = _is_about_a_home(reading, document) or (reading.is_gone and nodes.type_of_node(subject.nodes) is not None)
    return reading if is_home else Reading("other")


def _joined(subjects: Mapping[str, nodes.Subject]) -> nodes.Subject:
    every = list(subjects.values())
    return nodes.Subject(
        [node for each in every for node in each.nodes],
        max((each.others for each in every), default=0),
        any(each.is_matched for each in every),
    )


def _set_fields(reading: Reading, said: Mapping[str, dict[str, Any]]) -> None:
    """Take each field from the first source that has it."""
    others = ("price", "operation", "property_type", "country", "title", "warm_rent")
    for source in SOURCES:
        for name, value in said.get(source, {}).items():
            if name not in others and name not in reading.fields and not _is_half_point(name, reading):
                reading.fields[name] = value
                reading.sources[name] = source
    for name, tolerance in _COMPARED.items():
        numbers = [each[name] for source in _COMPARED_SOURCES if name in (each := said.get(source, {}))]
        _leave_out_if_unclear(reading, name, numbers, tolerance)


def _is_half_point(name: str, reading: Reading) -> bool:
    """Both coordinates come from one source."""
    return name in ("latitude", "longitude") and "longitude" in reading.fields and "latitude" in reading.fields


def _leave_out_if_unclear(reading: Reading, name: str, numbers: list[float], tolerance: float) -> None:
    """Keep a number that all sources say, or most of them. If two say two, none is right for sure."""
    if not numbers:
        return
    agreeing = [[each for each in numbers if abs(each - one) <= tolerance * max(each, one)] for one in numbers]
    most = max(agreeing, key=len)
    if len(most) == len(numbers):
        return
    if len(most) > len(numbers) / 2:
        reading.fields[name] = most[0]
        return
    del reading.fields[name]
    reading.sources.pop(name, None)
    reading.flags |= {f"{name}_unclear"}


def _set_type(
    reading: Reading, document: Document, said: Mapping[str, dict[str, Any]], own: list[dict[str, Any]]
) -> None:
    """The type that most sources name; of a tie, the first. Types of nodes are often wrong, and count least."""
    words = [kind for text in nodes.type_words(own) if (kind := vocabulary.property_type(text, document.language))]
    named = headline.property_type(document)
    votes = [
        (kind, source) for source in ("rows", "next", "embedded") if (kind := said.get(source, {}).get("property_type"))
    ]
    votes += [(words[0], "json-ld")] if words else []
    votes += [named] if named and named[1] == "title" else []
    strong = nodes.type_of_node(own)
    votes += [(strong, "json-ld")] if strong and (len(votes) != 1) else []
    if not votes:
        weak = nodes.type_of_node(own, weak=True)
        votes = [named] if named else [(weak, "json-ld")] if weak else []
    kinds = [kind for kind, _ in votes]
    kind, source = max(votes, key=lambda each: kinds.count(each[0]), default=("other", "nobody"))
    reading.fields["property_type"] = kind
    reading.sources["property_type"] = source
    if source == "nobody":
        reading.flags |= {"property_type_assumed"}


def _set_operation(
    reading: Reading, document: Document, said: Mapping[str, dict[str, Any]], own: list[dict[str, Any]]
) -> None:
    """The operation with the most votes. `businessFunction` is often wrong: it counts only if nothing else does."""
    votes = _operations(document, said, own)
    functions = nodes.functions(own)
    sale, rent = (sum(weight for named, _, weight in votes if named == each) for each in ("sale", "rent"))
    if sale == rent and sale:
        reading.flags |= {"operation_unclear"}
    elif sale or rent:
        reading.operation = "sale" if sale > rent else "rent"
        reading.sources["operation"] = next(source for named, source, _ in votes if named == reading.operation)
    elif len(functions) == 1:
        reading.operation = functions.pop()
        reading.sources["operation"] = "json-ld"


def _operations(
    document: Document, said: Mapping[str, dict[str, Any]], own: list[dict[str, Any]]
) -> list[tuple[vocabulary.Operation | None, str, int]]:
    """What each source says about the operation, with its weight, the most reliable first."""
    language = document.language
    categories = {each for text in nodes.type_words(own) if (each := vocabulary.operation(text, language))}
    actions = nodes.actions(own)
    has_period = any(price.period for each in said.values() if (price := each.get("price")))
    return [
        (said["rows"].get("operation"), "rows", 2),
        (categories.pop() if len(categories) == 1 else None, "json-ld", 2),
        (headline.operation_of_titles(document), "title", 2),
        (headline.operation_of_address(document), "address", 2),
        (said.get("next", {}).get("operation") or said.get("embedded", {}).get("operation"), "embedded", 1),
        (headline.operation_of_breadcrumbs(document), "breadcrumbs", 1),
        (headline.operation_below_heading(document), "title", 1),
        (actions.pop() if len(actions) == 1 else None, "json-ld", 1),
        ("rent" if has_period else None, "price", 1),
        (vocabulary.operation((document.description or "")[: vocabulary.LONGEST_TEXT], language), "description", 1),
    ]


def _set_price(reading: Reading, document: Document, said: Mapping[str, dict[str, Any]]) -> None:
    """The price of the first source. A price that two other sources say differently is not it."""
    found = [(source, price) for source in SOURCES if (price := said.get(source, {}).get("price"))]
    in_title = headline.price(document, reading.country)
    if in_title:
        found.append(("title", in_title))
    if not found:
        shown = shown_price.find(document, reading.country)
        found = [("text", shown)] if shown else []
    if not found and said["rows"].get("warm_rent"):
        found = [("rows", said["rows"]["warm_rent"])]
    if not found:
        return
    amounts = [price.amount for _, price in found]
    best = max(found, key=lambda each: (amounts.count(each[1].amount), -found.index(each)))
    period = best[1].period or next(
        (price.period for _, price in found if price.period and price.amount == best[1].amount), None
    )
    reading.price = prices.Price(best[1].amount, best[1].currency, best[1].basis, period)
    reading.sources["price"] = best[0]


def _set_city(reading: Reading, document: Document) -> None:
    """A large city that the breadcrumbs and titles name, if nothing else says the city; and its country.

    A country that nothing says is that of the language and the currency: Spanish and euros are used in Spain only."""
    currency = reading.price.currency
    if "city" in reading.fields:
        found = cities.find([str(reading.fields["city"])], [], reading.country, currency)
    else:
        titles = [*document.titles, *headline.below_heading(document)]
        found = cities.find(headline.breadcrumb_names(document), titles, reading.country, currency)
        if found:
            reading.fields["city"] = found.name
            reading.sources["city"] = "title"
    if reading.country is None:
        by_code = countries.of_postal_code(str(reading.fields.get("postal_code", "")), currency)
        by_language = countries.of_language(document.language, currency)
        reading.country = by_code or (found.country if found else None) or by_language


def _set_charges(reading: Reading) -> None:
    """Charges have the currency of the price: those of another currency are left out, as a listing has one currency."""
    charges = reading.fields.pop("charges", None)
    if charges is None:
        return
    if charges.currency == reading.price.currency:
        reading.fields["charges"] = charges.amount
    else:
        reading.sources.pop("charges", None)


def _set_title(reading: Reading, document: Document, said: Mapping[str, dict[str, Any]]) -> None:
    named = [each["title"] for source in SOURCES if "title" in (each := said.get(source, {}))]
    title = headline.title(document, named)
    if title:
        reading.fields["title"] = title
        reading.sources["title"] = next(
            (
                source
                for source in SOURCES
                if document.without_site(str(said.get(source, {}).get("title", ""))) == title
            ),
            "title",
        )


def _set_sizes(reading: Reading) -> None:
    """A size that does not say of what is the land's for land, otherwise the home's. Land has no living area."""
    fields = reading.fields
    sources = reading.sources
    unnamed = fields.pop("area_any", None)
    source = sources.pop("area_any", "")
    wanted = "plot_m2" if fields["property_type"] == "land" else "area_m2"
    is_land = unnamed == fields.get("plot_m2")
    if unnamed and wanted not in fields and not is_land and f"{wanted}_unclear" not in reading.flags:
        fields[wanted] = unnamed
        sources[wanted] = source
    if wanted == "plot_m2" and "area_m2" in fields:
        fields.setdefault("plot_m2", fields.pop("area_m2"))
        sources.setdefault("plot_m2", sources.pop("area_m2", ""))
        fields.pop("area_m2", None)


def _leave_out_what_does_not_fit(reading: Reading) -> None:
    """The land of a flat is the building's; the rooms of a room are the flat's; "Warsaw, Wola" is not a street."""
    fields = reading.fields
    kind = fields["property_type"]
    left_out = {"apartment": ("plot_m2",), "room": ("rooms", "bedrooms"), "land": ("rooms", "bedrooms", "floor")}.get(
        kind, ()
    )
    if (
        fields.get("area_m2") == fields.get("plot_m2")
        and reading.sources.get("plot_m2") != "json-ld"
        and kind != "land"
    ):
        left_out = (*left_out, "plot_m2")
    if fields.get("bedrooms") == 0 and kind != "apartment":  # a studio has none; elsewhere 0 means unknown
        left_out = (*left_out, "bedrooms")
    if "street" in fields and not _is_street(str(fields["street"]), reading):
        left_out = (*left_out, "street")
    for name in left_out:
        fields.pop(name, None)
        reading.sources.pop(name, None)


def _is_street(text: str, reading: Reading) -> bool:
    """Whether a text is more than places: "Warsaw, Wola", "07609 Cala Blava, Spain" are no streets."""
    fields = reading.fields
    first = text.split(",", maxsplit=1)[0].strip()
    places_named = {vocabulary.words(str(fields[name])) for name in ("city", "region", "district") if name in fields}
    is_place = vocabulary.words(first) in places_named or cities.is_city(first, reading.country)
    code = str(fields.get("postal_code", ""))
    return not is_place and not (code and first.startswith(code))


def _is_about_a_home(reading: Reading, document: Document) -> bool:
    """Whether enough is known. A type in a description, or a price alone, may be about anything. A page without any
    title has to say more."""
    fields = reading.fields
    sources = reading.sources
    is_typed = fields["property_type"] != "other" and sources["property_type"] not in (
        "description",
        "address",
        "breadcrumbs",
    )
    has_size = any(name in fields for name in ("area_m2", "plot_m2", "rooms", "bedrooms"))
    details = [name for name in _DETAILS if name in fields or (name == "price" and reading.price.amount is not None)]
    is_data = any(sources.get(name) in _DATA for name in details)
    known = len(details) + is_typed + (reading.operation is not None)
    is_named = "title" in fields or (not document.titles and known > _FEWEST_FACTS)
    return is_named and (is_typed or has_size) and bool(details) and (is_data or known >= _FEWEST_FACTS)


def _opengraph(document: Document) -> dict[str, Any]:
    graph = document.graph
    point = coordinates.of(
        graph.get("place:location:latitude") or graph.get("og:latitude"),
        graph.get("place:location:longitude") or graph.get("og:longitude"),
    )
    known: dict[str, Any] = {
        "title": graph.get("og:title"),
        "description": graph.get("og:description"),
        "street": graph.get("og:street-address"),
        "region": graph.get("og:region"),
        "photos": [graph["og:image"]] if graph.get("og:image", "").startswith("http") else None,
        "latitude": point.latitude,
        "longitude": point.longitude,
        **places.city(graph.get("og:locality")),
        "price": values.tagged_price(graph.get("product:price:amount"), graph.get("product:price:currency")),
    }
    if graph.get("og:postal-code"):
        known["postal_code"] = graph["og:postal-code"]
    return {name: value for name, value in known.items() if value}


def _country(document: Document, said: Mapping[str, dict[str, Any]]) -> str | None:
    """The country that the page says; otherwise that of its host name, of its locale."""
    for source in SOURCES:
        code = said.get(source, {}).get("country")
        if code:
            return str(code)
    named = countries.code(document.graph.get("og:country-name")) or countries.code(
        document.graph.get("og:country_name")
    )
    crumbs = {code for each in headline.breadcrumb_names(document) if (code := countries.of_name(each))}
    in_breadcrumbs = crumbs.pop() if len(crumbs) == 1 else None
    return named or in_breadcrumbs or document.home_country
