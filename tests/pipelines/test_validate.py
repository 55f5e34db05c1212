from collections.abc import Callable
from decimal import Decimal

import pytest
from scrapy.crawler import Crawler

from realestate.pipelines.validate import ValidatePipeline
from realestate.spiders.immoweb import ImmowebSpider
from realestate.storage import Quarantined
from tests.examples import a_listing


@pytest.fixture
def crawler(make_crawler: Callable[..., Crawler]) -> Crawler:
    return make_crawler(ImmowebSpider)


def test_a_good_listing_passes(crawler: Crawler) -> None:
    listing = a_listing()
    assert ValidatePipeline.from_crawler(crawler).process_item(listing) is listing


def test_a_bad_one_goes_to_quarantine_with_its_errors_and_data(crawler: Crawler) -> None:
    item = ValidatePipeline.from_crawler(crawler).process_item(a_listing(price=Decimal(-5), country="Belgium"))
    assert isinstance(item, Quarantined)
    assert [error.split(":")[0] for error in item.errors] == ["country", "price"]
    assert (item.ref, item.record["price"]) == ("21000001", -5)
    assert crawler.stats is not None
    assert crawler.stats.get_value("listing/field/price/invalid") == 1


def test_missing_fields_are_counted(crawler: Crawler) -> None:
    ValidatePipeline.from_crawler(crawler).process_item(a_listing(area_m2=None))
    assert crawler.stats is not None
    assert crawler.stats.get_value("listing/field/area_m2/missing") == 1
    assert crawler.stats.get_value("listing/field/price/missing") is None


def test_other_items_pass_untouched(crawler: Crawler) -> None:
    assert ValidatePipeline.from_crawler(crawler).process_item({"a": 1}) == {"a": 1}
