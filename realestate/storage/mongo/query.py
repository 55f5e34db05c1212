"""Questions about listings in MongoDB.

MongoDB evaluates what every compatible server can: comparisons and boxes. It may return more than what matches, so the
whole filter is evaluated again in Python, which also finishes words, sets and polygons."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import islice
from time import monotonic
from typing import Any

from pymongo.errors import ExecutionTimeout

from realestate.items import Listing
from realestate.storage.mongo.change import is_tombstone
from realestate.storage.mongo.connection import Connection, Document, server_time
from realestate.storage.mongo.documents import id_of, listing_of
from realestate.storage.mongo.read import ListingReader, QuarantineAndPageIndex
from realestate.storage.query import (
    EVERYTHING,
    FACETS,
    QUERY_FIELDS,
    Box,
    Comparison,
    Count,
    Facet,
    Filter,
    Hexagon,
    ListingDetail,
    ListingQuery,
    MapPoint,
    Page,
    Polygon,
    facts_of,
    matches,
)
from realestate.storage.query.fields import DERIVED
from realestate.storage.query.hexagons import cells_of, demand_resolution, hexagons, widened
from realestate.storage.query.listing_query import Place
from realestate.storage.query.places import FEWEST_OF_DISTRICT, MOST_DISTRICTS, District, PricedPlace, PricedPlaces
from realestate.storage.query.results import (
    COUNTED,
    LONGEST_SECONDS,
    MOST_POINTS,
    TooSlow,
    demand_facets,
    most_frequent,
)

_PAGE_DOCUMENTS = 1000
_NO_HISTORY = {"events": 0, "prices": 0}
_OPERATORS = {"<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}
#: Fields of a document that depend on events: see `Change.statement`.
_FROM_EVENTS = ("changed_at", "price_changed_at", "cheaper_by")
#: Derived values that a document does not have.
_NOT_KEPT = ("delisted_at", "photo", "photo_count")


class MongoQueries(ListingReader, QuarantineAndPageIndex):
    """See `query.QueryStore`."""

    connection: Connection

    def search(self, query: ListingQuery) -> Page:
        now = self.query_time()
        found = list(islice(self._in_order(query, now), query.page_size + 1))
        more = len(found) > query.page_size
        found = found[: query.page_size]
        last = found[-1] if more else None
        place = last and Place(last[query.sort_field], last["portal"], last["ref"])
        rows = [{name: facts[name] for name in query.fields} for facts in found]
        return Page(rows, query.cursor_after(place) if place else None)

    def _in_order(self, query: ListingQuery, now: datetime) -> Iterator[dict[str, Any]]:
        """The matches after the cursor: those with a value of the sort field come first."""
        name = query.sort_field
        direction = -1 if query.is_descending else 1
        after = query.after
        keys = [("portal", after.portal), ("ref", after.ref)] if after else []
        if after is None or after.value is not None:
            beyond = _after([(name, _stored(after.value)), *keys], direction) if after else {}
            wanted = {"$and": [{name: {"$ne": None}}, *([beyond] if beyond else [])]}
            yield from self._selected(query.filter, now, wanted, [(name, direction), *_identity(direction)])
        beyond = _after(keys, direction) if after is not None and after.value is None else {}
        wanted = {"$and": [{name: None}, *([beyond] if beyond else [])]}
        yield from self._selected(query.filter, now, wanted, _identity(direction))

    def _selected(
        self, filter: Filter, now: datetime, more: Document, order: Sequence[tuple[str, int]]
    ) -> Iterator[dict[str, Any]]:
        wanted = {"$and": [_wanted(filter, now), more]} if more else _wanted(filter, now)
        end = monotonic() + LONGEST_SECONDS
        with self.connection.database() as database:
            found = database["listings"].find(wanted, _NO_HISTORY).max_time_ms(LONGEST_SECONDS * 1000)
            for document in _until_too_slow(found.sort(list(order)) if order else found):
                if monotonic() > end:
                    raise TooSlow
                if is_tombstone(document):
                    continue
                facts = _facts(document)
                if matches(filter, facts, now):
                    yield facts

    def _matches(self, filter: Filter, more: Document | None = None) -> Iterator[dict[str, Any]]:
        return self._selected(filter, self.query_time(), more or {}, ())

    def count(self, filter: Filter = EVERYTHING) -> Count:
        number = sum(1 for _ in islice(self._matches(filter), COUNTED + 1))
        return Count(min(number, COUNTED), number <= COUNTED)

    def facets(self, filter: Filter = EVERYTHING, fields: Sequence[str] = FACETS) -> Sequence[Facet]:
        demand_facets(fields)
        counts: dict[str, Counter[Any]] = {name: Counter() for name in fields}
        total = 0
        for facts in islice(self._matches(filter), COUNTED + 1):
            total += 1
            for name, values in counts.items():
                values[facts[name]] += 1
        return [Facet(name, most_frequent(values), total <= COUNTED) for name, values in counts.items()]

    def hexagons(self, filter: Filter, resolution: int, box: Box | None = None) -> Sequence[Hexagon]:
        demand_resolution(resolution)
        found = self._matches(filter, _within(widened(box, resolution)) if box else {"latitude": {"$ne": None}})
        return hexagons(cells_of(((each["latitude"], each["longitude"]) for each in found), resolution), box)

    def points(self, filter: Filter, box: Box, limit: int = MOST_POINTS) -> Sequence[MapPoint]:
        names = ("portal", "ref", "longitude", "latitude", "price", "currency")
        found = islice(self._matches(filter, _within(box)), min(limit, MOST_POINTS))
        return [MapPoint(*(facts[name] for name in names)) for facts in found]

    def detail(self, portal: str, ref: str) -> ListingDetail | None:
        documents = self._documents(portal, [ref])
        if not documents:
            return None
        listing, facts = listing_of(documents[0]), _facts(documents[0])
        return ListingDetail(
            listing,
            {name: facts[name] for name in DERIVED},
            self.history(portal, ref),
            self.prices(portal, ref),
            self.snapshots(portal, ref),
        )

    def facts(self, portal: str, refs: Sequence[str]) -> dict[str, dict[str, Any]]:
        return {each["ref"]: _facts(each) for each in self._documents(portal, refs)}

    def _documents(self, portal: str, refs: Sequence[str]) -> list[Document]:
        with self.connection.database() as database:
            found = database["listings"].find({"_id": {"$in": [id_of(portal, ref) for ref in refs]}}, _NO_HISTORY)
            return [each for each in found if not is_tombstone(each)]

    def matching(self, filter: Filter = EVERYTHING) -> Iterator[Listing]:
        """Reads page by page, so that a slow reader holds no cursor open."""
        now = self.query_time()
        beyond: Document = {}
        while True:
            wanted = {"$and": [_wanted(filter, now), beyond]} if beyond else _wanted(filter, now)
            with self.connection.database() as database:
                found = database["listings"].find(wanted, _NO_HISTORY).sort(_identity(1)).limit(_PAGE_DOCUMENTS)
                documents = list(found)
            listings = ((each, listing_of(each)) for each in documents if not is_tombstone(each))
            yield from (listing for each, listing in listings if matches(filter, _facts(each, listing), now))
            if len(documents) < _PAGE_DOCUMENTS:
                return
            beyond = _after([("portal", documents[-1]["portal"]), ("ref", documents[-1]["ref"])], 1)

    def query_time(self) -> datetime:
        with self.connection.database() as database:
            return server_time(database)


def _until_too_slow(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents. Raises TooSlow if the server gives up."""
    try:
        yield from documents
    except ExecutionTimeout as error:
        raise TooSlow from error


def _facts(document: Document, listing: Listing | None = None) -> dict[str, Any]:
    facts = facts_of(listing or listing_of(document))
    moved = {name: document[name] for name in _FROM_EVENTS if document.get(name) is not None}
    if "cheaper_by" in moved:
        moved["cheaper_by"] = Decimal(str(moved["cheaper_by"])).quantize(Decimal("0.01"))
    return facts | moved


def _identity(direction: int) -> list[tuple[str, int]]:
    return [("portal", direction), ("ref", direction)]


def _after(keys: Sequence[tuple[str, Any]], direction: int) -> Document:
    """The documents after this one, in the order of the keys."""
    operator = "$lt" if direction < 0 else "$gt"
    return {
        "$or": [
            {"$and": [*({name: value} for name, value in keys[:place]), {keys[place][0]: {operator: keys[place][1]}}]}
            for place in range(len(keys))
        ]
    }


def _wanted(filter: Filter, now: datetime) -> Document:
    """What MongoDB evaluates of the filter. `erased_at` leaves out tombstones."""
    conditions: list[Document] = [{"portal": {"$ne": None}}]
    for condition in filter:
        match condition:
            case Box():
                conditions.append(_within(condition))
            case Polygon():
                conditions.append(_within(condition.box))
            case Comparison(field=name) if name not in _NOT_KEPT and QUERY_FIELDS[name] is not frozenset:
                conditions += _compared(condition, now)
    return {"$and": conditions}


def _compared(comparison: Comparison, now: datetime) -> list[Document]:
    if None in comparison.values:
        return []
    values = [_stored(now - each if isinstance(each, timedelta) else each) for each in comparison.values]
    if operator := _OPERATORS.get(comparison.operator):
        return [{comparison.field: {operator: values[0]}}]
    return [{comparison.field: {"$in": values}}] if comparison.operator == "=" else []


def _stored(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def _within(box: Box) -> Document:
    between: Mapping[str, tuple[float, float]] = {
        "longitude": (box.west, box.east),
        "latitude": (box.south, box.north),
    }
    return {name: {"$gte": low, "$lte": high} for name, (low, high) in between.items()}


class Places(MongoQueries):
    """See `PlaceStore`."""

    def priced_places(self, filter: Filter, box: Box, limit: int) -> PricedPlaces:
        places = (
            PricedPlace(each["longitude"], each["latitude"], float(each["price_per_m2"]), each["currency"])
            for each in self._matches(replace(filter, conditions=(*filter.conditions, box)))
            if each["price_per_m2"] is not None and each["currency"] is not None
        )
        found = list(islice(places, limit + 1))
        return PricedPlaces(found[:limit], len(found) > limit)

    def districts(self) -> Sequence[District]:
        sums: dict[tuple[str, str, str], list[float]] = {}
        for each in self._matches(EVERYTHING):
            name = each["district"] or each["city"]
            if name is None or each["latitude"] is None:
                continue
            total = sums.setdefault((each["country"], each["city"] or "", name), [0.0, 0.0, 0])
            for place, value in enumerate((each["longitude"], each["latitude"], 1)):
                total[place] += value
        found = [District(*key, x / n, y / n, int(n)) for key, (x, y, n) in sums.items() if n >= FEWEST_OF_DISTRICT]
        found.sort(key=lambda each: (-each.listings, each.country, each.city, each.name))
        return found[:MOST_DISTRICTS]
