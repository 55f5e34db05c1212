"""What `scrapy crawl … -o file`, FEEDS and CLOSESPIDER_* see of a crawl: its listings, and items of other kinds.

Search pages also yield items that only the store needs, such as Sightings. These, and items in quarantine, are neither
exported nor counted. An item of a project's own pipelines is exported as it is.
"""

import json
from collections.abc import Mapping
from typing import Any

from scrapy import Spider, exporters
from scrapy.crawler import Crawler
from scrapy.extensions import closespider, feedexport
from scrapy.item import Field

from realestate.items import Gone, Listing, Part, Sighting, Sightings, Telephones, as_record
from realestate.items.others import Other, other_record
from realestate.queue import signals
from realestate.storage import Quarantined
from realestate.storage.store import CardRead

#: Items that only the store needs.
INTERNAL = (Sighting, Sightings, CardRead, Gone, Telephones, Part, Quarantined)


def exported(item: Any) -> Any:
    """The item as JSON values: numbers for money, ISO 8601 for times, sorted lists for sets. Other items stay."""
    if isinstance(item, Listing):
        return as_record(item)
    return other_record(item) if isinstance(item, Other) else item


class FeedExporter(feedexport.FeedExporter):
    """Scrapy's feed exporter, without internal items. `item_classes` of FEEDS work as usual."""

    def item_scraped(self, item: Any, spider: Spider) -> None:
        if not isinstance(item, INTERNAL):
            super().item_scraped(item, spider)


class JsonExporter(exporters.JsonItemExporter):
    def export_item(self, item: Any) -> None:
        super().export_item(exported(item))


class JsonLinesExporter(exporters.JsonLinesItemExporter):
    def export_item(self, item: Any) -> None:
        super().export_item(exported(item))


class XmlExporter(exporters.XmlItemExporter):
    def export_item(self, item: Any) -> None:
        super().export_item(exported(item))


class CsvExporter(exporters.CsvItemExporter):
    """Every item has all columns. A value that is an object is written as JSON, not as Python's text of it."""

    def export_item(self, item: Any) -> None:
        super().export_item(exported(item))

    def serialize_field(self, field: Mapping[str, Any] | Field, name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return json.dumps(value, ensure_ascii=False, sort_keys=True)
        return super().serialize_field(field, name, value)


class CloseSpider(closespider.CloseSpider):
    """Scrapy's extension for CLOSESPIDER_*. Items are those that are exported; errors are also pages that a portal's
    parser could not read."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if self.close_on.get("errorcount"):
            crawler.signals.connect(self.page_unreadable, signal=signals.page_unreadable)

    def page_unreadable(self) -> None:
        self.counter["errorcount"] += 1
        if self.counter["errorcount"] == self.close_on["errorcount"]:
            self._close_spider("closespider_errorcount")

    def item_scraped(self, item: Any, spider: Spider) -> None:
        if not isinstance(item, INTERNAL):
            super().item_scraped(item, spider)

    def item_scraped_no_item(self, item: Any, spider: Spider) -> None:
        if not isinstance(item, INTERNAL):
            super().item_scraped_no_item(item, spider)
