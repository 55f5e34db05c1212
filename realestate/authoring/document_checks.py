"""What would happen to a document in a crawl: whether it is a ban page, and whether its listing is stored."""

from collections.abc import Iterator
from typing import Any

from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import build_from_crawler, load_object

from realestate.items import Listing
from realestate.jobs.reparse import STORING
from realestate.middlewares.bans import read_ban_rules


def ban_page(document: bytes) -> str | None:
    """One line if a crawl would take the document for a ban page."""
    kind = read_ban_rules().kind_of(200, "https://portal.example/", document)
    return f"this is a ban page ({kind}): a crawl would not parse it" if kind else None


def fate(spider: Any, item: Any) -> Iterator[str]:
    """One line for each reason why a crawl would not store the listing, or one line with its quality flags.

    Rules that compare a price with those of its district need a store, and are not checked."""
    if not isinstance(item, Listing):
        return
    stored = _through_pipelines(spider.crawler, item)
    if isinstance(stored, Listing):
        if stored.quality_flags:
            yield f"would be stored, with the flags {', '.join(sorted(stored.quality_flags))}"
        return
    yield from (f"would be quarantined: {reason}" for reason in stored.errors)


def _through_pipelines(crawler: Any, item: Any) -> Any:
    """The item after all pipelines but the store's: a listing, or a Quarantined."""
    paths = build_component_list(crawler.settings.get_component_priority_dict_with_base("ITEM_PIPELINES"))
    for path in paths:
        if path != STORING:
            item = build_from_crawler(load_object(path), crawler).process_item(item)
    return item
