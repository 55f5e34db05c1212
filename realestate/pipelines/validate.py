"""Validate against the JSON Schema; what fails goes to quarantine, never away."""

from typing import Any, Self

import jsonschema_rs
from jsonschema import Draft202012Validator
from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector

from realestate.items import Listing, as_record, listing_schema
from realestate.storage import Quarantined

#: Fields whose absence is worth watching: a portal's change of layout shows here first.
_WATCHED = ("price", "area_m2", "city", "title", "posted_at", "latitude")


class ValidatePipeline:
    """Passes good listings on, and bad ones as Quarantined."""

    def __init__(self, stats: StatsCollector) -> None:
        self.stats = stats
        schema = listing_schema()
        self._is_valid = jsonschema_rs.Draft202012Validator(schema).is_valid
        self._explain = Draft202012Validator(schema).iter_errors

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        assert crawler.stats is not None
        return cls(crawler.stats)

    def process_item(self, item: Any) -> Any:
        if not isinstance(item, Listing):
            return item
        self.stats.inc_value("listing/made")
        for name in _WATCHED:
            if getattr(item, name) is None:
                self.stats.inc_value(f"listing/field/{name}/missing")
        record = as_record(item)
        return item if self._is_valid(record) else self._quarantined(item, record)

    def _quarantined(self, item: Listing, record: dict[str, Any]) -> Quarantined:
        errors = sorted(self._explain(record), key=lambda error: list(error.absolute_path))
        for error in errors:
            field = str(error.absolute_path[0]) if error.absolute_path else "listing"
            self.stats.inc_value(f"listing/field/{field}/invalid")
        texts = tuple(f"{'.'.join(map(str, each.absolute_path)) or 'listing'}: {each.message}" for each in errors)
        return Quarantined(portal=item.portal, ref=str(item.ref), url=str(item.url), errors=texts, record=record)
