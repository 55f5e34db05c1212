"""Checks items against their JSON Schema and the rules. Items that fail go to quarantine; none is dropped."""

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

#: Nearly every listing has these fields. Missing ones are counted: they are the first sign of a new page layout.
_WATCHED = ("price", "area_m2", "city", "title", "posted_at", "latitude")
_MISSING = tuple((name, f"listing/field/{name}/missing") for name in _WATCHED)
_VALUES = attrgetter(*FIELDS)
_DATES = ("posted_at", "updated_at", "first_seen_at", "last_seen_at", "last_fetched_at")
_SETS = ("features", "quality_flags")


class ValidatePipeline:
    """Returns a valid listing, with the flags of the warnings it caused; or a Quarantined item with its errors.

    The rules are checked only if the schema is satisfied: they rely on its types.
    """

    def __init__(self, stats: StatsCollector, clock: Callable[[], datetime], medians: LiveMedians) -> None:
        self.stats = stats
        self.clock = clock
        self.medians = medians
        self._schema = SchemaCheck("listing", listing_schema(), stats)
        self._others = {kind: SchemaCheck(kind, schema, stats) for kind, schema in other_schemas().items()}
        self._refreshing: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        assert crawler.stats is not None
        load = partial(_load_medians, crawler.settings.get("STORE_URL"))
        medians = LiveMedians(load, crawler.settings.getfloat("MEDIANS_SECONDS"))
        pipeline = cls(crawler.stats, partial(datetime.now, UTC), medians)
        crawler.signals.connect(pipeline.serving, signal=signals.serving)
        return pipeline

    def serving(self) -> None:
        """Start to load the medians. Until the first ones are loaded, rules that need a median are not checked."""
        self._refreshing = asyncio.create_task(self.medians.refresh_forever())

    def prepare(self, store: Store) -> None:
        """Load the medians once, for use outside of a crawl."""
        self.medians.set_rows(store.medians())

    def close_spider(self) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Quarantined):
            self.stats.inc_value("listing/made")
            return item
        if not isinstance(item, Listing):
            return self._validated_other(item) if isinstance(item, Other) else item
        self._count(item)
        try:
            return self._validated(item)
        except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
            return Quarantined.of(item, f"cannot be validated: {type(error).__name__}: {error}")

    def _count(self, listing: Listing) -> None:
        self.stats.inc_value("listing/made")
        for name, missing in _MISSING:
            if getattr(listing, name) is None:
                self.stats.inc_value(missing)

    def _validated_other(self, item: Other) -> Other | Quarantined:
        """Check a product or a quote: it has a schema, and no further rules."""
        kind = kind_of(item)
        self.stats.inc_value(f"{kind}/made")
        try:
            record = other_record(item)
            schema = self._others[kind]
            return item if schema.is_valid(record) else Quarantined.of(item, *schema.errors(record))
        except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
            return Quarantined.of(item, f"cannot be validated: {type(error).__name__}: {error}")

    def _validated(self, listing: Listing) -> Listing | Quarantined:
        if not self._schema.is_valid(readable(listing)):
            return Quarantined.of(listing, *self._schema.errors(as_record(listing)))
        broken = broken_by(listing, self.clock(), self.medians.current)
        return self._flagged_or_quarantined(listing, broken) if broken else listing

    def _flagged_or_quarantined(self, listing: Listing, broken: list[Broken]) -> Listing | Quarantined:
        errors = []
        flags = set()
        for name, why in broken:
            severity = RULES[name].severity
            self.stats.inc_value(f"listing/rule/{name}/{severity}")
            logger.debug(
                "listing/%s: portal=%s ref=%s url=%s rule=%s: %s",
                severity,
                listing.portal,
                listing.ref,
                listing.url,
                name,
                why,
            )
            if severity == "error":
                errors.append(f"{name}: {why}")
            else:
                flags.add(name)
        listing.quality_flags |= flags
        return Quarantined.of(listing, *errors) if errors else listing


def readable(listing: Listing) -> dict[str, Any]:
    """Return the record in the form that the validator needs, in half the time of `as_record`.

    The validator treats an absent field as null, reads a Decimal itself, and takes sets in any order. A test checks
    that its result is the same for both forms.
    """
    record = {name: value for name, value in zip(FIELDS, _VALUES(listing), strict=True) if value is not None}
    for name in _DATES:
        if name in record:
            record[name] = record[name].isoformat()
    for name in _SETS:
        if name in record:
            record[name] = list(record[name])
    if "delisted_at" in record:
        record["delisted_at"] = [date.isoformat() for date in record["delisted_at"]]
    return record


def _load_medians(url: str | None) -> Sequence[Row]:
    """Open a connection of its own: a store belongs to one thread. Without a store there are no medians."""
    if not url:
        return ()
    store = open_store(url)
    try:
        return store.medians()
    finally:
        store.close()
