"""Validate against the JSON Schema and the rules; what fails goes to quarantine, never away."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector

from realestate.items import FIELDS, Listing, as_record
from realestate.items.others import Other, kind_of, other_record
from realestate.pipelines.medians import LiveMedians, Row
from realestate.pipelines.rules import RULES, Broken, broken_by
from realestate.pipelines.schema_check import SchemaCheck
from realestate.queue import signals
from realestate.schema import listing_schema, other_schemas
from realestate.storage import Quarantined, Store, open_store

logger = logging.getLogger(__name__)

#: Fields whose absence is worth watching: a portal's change of layout shows here first.
_WATCHED = ("price", "area_m2", "city", "title", "posted_at", "latitude")
_MISSING = tuple((name, f"listing/field/{name}/missing") for name in _WATCHED)
_VALUES = attrgetter(*FIELDS)
_MOMENTS = ("posted_at", "updated_at", "first_seen_at", "last_seen_at", "last_fetched_at")
_SETS = ("features", "quality_flags")


class ValidatePipeline:
    """Passes good listings on, odd ones with their flags, and bad ones as Quarantined.

    The rules are asked only of what the schema lets pass: they rely on its types.
    """

    def __init__(self, stats: StatsCollector, clock: Callable[[], datetime], medians: LiveMedians) -> None:
        self.stats = stats
        self.clock = clock
        self.medians = medians
        self._schema = SchemaCheck("listing", listing_schema(), stats)
        self._others = {kind: SchemaCheck(kind, schema, stats) for kind, schema in other_schemas().items()}
        self._keeping_up: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        assert crawler.stats is not None
        load = partial(_medians_in, crawler.settings.get("STORE_URL"))
        medians = LiveMedians(load, crawler.settings.getfloat("MEDIANS_SECONDS"))
        pipeline = cls(crawler.stats, partial(datetime.now, UTC), medians)
        crawler.signals.connect(pipeline.serving, signal=signals.serving)
        return pipeline

    def serving(self) -> None:
        """A worker begins. Until the first medians are there, the rules do without."""
        self._keeping_up = asyncio.create_task(self.medians.keep_up())

    def prepare(self, store: Store) -> None:
        """Without a crawl around it."""
        self.medians.take(store.medians())

    def close_spider(self) -> None:
        if self._keeping_up is not None:
            self._keeping_up.cancel()

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Quarantined):
            self.stats.inc_value("listing/made")
            return item
        if not isinstance(item, Listing):
            return self._other(item) if isinstance(item, Other) else item
        self._count(item)
        try:
            return self._validated(item)
        except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
            return Quarantined.of(item, f"not to be validated: {type(error).__name__}: {error}")

    def _count(self, listing: Listing) -> None:
        self.stats.inc_value("listing/made")
        for name, missing in _MISSING:
            if getattr(listing, name) is None:
                self.stats.inc_value(missing)

    def _other(self, item: Other) -> Other | Quarantined:
        """The schema of its kind is all there is to keep to."""
        kind = kind_of(item)
        self.stats.inc_value(f"{kind}/made")
        try:
            record, schema = other_record(item), self._others[kind]
            return item if schema.is_valid(record) else Quarantined.of(item, *schema.errors(record))
        except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
            return Quarantined.of(item, f"not to be validated: {type(error).__name__}: {error}")

    def _validated(self, listing: Listing) -> Listing | Quarantined:
        if not self._schema.is_valid(readable(listing)):
            return Quarantined.of(listing, *self._schema.errors(as_record(listing)))
        broken = broken_by(listing, self.clock(), self.medians.current)
        return self._judged(listing, broken) if broken else listing

    def _judged(self, listing: Listing, broken: list[Broken]) -> Listing | Quarantined:
        errors, flags = [], set()
        for name, why in broken:
            severity = RULES[name].severity
            self.stats.inc_value(f"listing/rule/{name}/{severity}")
            logger.debug("listing/%s: %s %s: %s: %s", severity, listing.portal, listing.ref, name, why)
            if severity == "error":
                errors.append(f"{name}: {why}")
            else:
                flags.add(name)
        listing.quality_flags |= flags
        return Quarantined.of(listing, *errors) if errors else listing


def readable(listing: Listing) -> dict[str, Any]:
    """The record as far as the validator needs it, in half the time: it takes what is absent for null, reads a Decimal
    itself, and sets in any order. A test holds that its verdict is the same."""
    record = {name: value for name, value in zip(FIELDS, _VALUES(listing), strict=True) if value is not None}
    for name in _MOMENTS:
        if name in record:
            record[name] = record[name].isoformat()
    for name in _SETS:
        if name in record:
            record[name] = list(record[name])
    if "delisted_at" in record:
        record["delisted_at"] = [moment.isoformat() for moment in record["delisted_at"]]
    return record


def _medians_in(url: str) -> Sequence[Row]:
    """Over a connection of its own, for a store belongs to one thread."""
    store = open_store(url)
    try:
        return store.medians()
    finally:
        store.close()
