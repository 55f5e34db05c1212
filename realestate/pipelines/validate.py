"""Validate against the JSON Schema; what fails goes to quarantine, never away."""

from collections.abc import Iterator
from typing import Any, Self

import jsonschema_rs
from jsonschema import Draft202012Validator
from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector

from realestate.items import Listing, as_record
from realestate.schema import listing_schema
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
        return item if self._is_valid(record) else Quarantined.of(item, *self._errors(record))

    def _errors(self, record: dict[str, Any]) -> Iterator[str]:
        for error in sorted(self._explain(record), key=lambda error: [str(part) for part in error.absolute_path]):
            path = [str(part) for part in error.absolute_path] or ["listing"]
            self.stats.inc_value(f"listing/field/{path[0]}/invalid")
            yield f"{'.'.join(path)}: {error.message}"
