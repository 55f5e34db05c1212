import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from time import perf_counter
from typing import Any
from uuid import UUID

import jsonschema_rs
import pytest
from hypothesis import example, given, settings
from scrapy.crawler import Crawler

from realestate.items import Listing, as_record
from realestate.monitoring.stats import Stats
from realestate.pipelines.clean import clean
from realestate.pipelines.medians import LiveMedians, Medians
from realestate.pipelines.validate import ValidatePipeline, readable
from realestate.schema import listing_schema
from realestate.simulator import PORTALS, Simulator, World
from realestate.spiders.immoweb import ImmowebSpider
from realestate.storage import Batch, Quarantined
from realestate.storage.postgres import PostgresStore
from tests.any_listing import spoilt_listings, typed_listings
from tests.examples import a_listing

NOW = datetime(2026, 9, 2, tzinfo=UTC)
IS_VALID = jsonschema_rs.Draft202012Validator(listing_schema()).is_valid
#: The hot path may cost this many times what jsonschema_rs needs for its verdict alone.
TIMES_THE_SCHEMA_ALONE = 5


@pytest.fixture
def crawler(make_crawler: Callable[..., Crawler]) -> Crawler:
    return make_crawler(ImmowebSpider)


@pytest.fixture
def pipeline(crawler: Crawler) -> ValidatePipeline:
    assert isinstance(crawler.stats, Stats)
    return ValidatePipeline(crawler.stats, lambda: NOW, LiveMedians(list, 0))


def rules(pipeline: ValidatePipeline) -> dict[str, int]:
    return {name: count for name, count in pipeline.stats.get_stats().items() if name.startswith("listing/rule/")}


def test_a_good_listing_passes(pipeline: ValidatePipeline) -> None:
    listing = a_listing()
    assert pipeline.process_item(listing) is listing
    assert listing == a_listing()
    assert pipeline.stats.get_stats() == {"listing/made": 1}


def test_an_invalid_item_goes_to_quarantine_with_its_errors_and_data(pipeline: ValidatePipeline) -> None:
    item = pipeline.process_item(a_listing(price=Decimal(-5), country="Belgium"))
    assert isinstance(item, Quarantined)
    assert item.errors == (
        'country: "Belgium" does not match "^[A-Z]{2}$"',
        "price: -5 is less than the minimum of 0.01",
    )
    assert (item.ref, item.record["price"]) == ("21000001", -5)
    assert pipeline.stats.get_value("listing/field/price/invalid") == 1
    assert pipeline.stats.get_value("listing/field/country/invalid") == 1


def test_a_field_with_several_errors_is_counted_once(pipeline: ValidatePipeline) -> None:
    item = pipeline.process_item(a_listing(photos=["a", "https://photos.example/1.jpg", "b"]))
    assert [error.partition(":")[0] for error in item.errors] == ["photos.0", "photos.2"]
    assert pipeline.stats.get_value("listing/field/photos/invalid") == 1


@pytest.mark.parametrize(
    ("changes", "error", "field"),
    [
        ({"operation": None}, "operation_missing: `operation` is always present", "operation"),
        ({"property_type": None}, "property_type_missing: `property_type` is always present", "property_type"),
        ({"price": None}, "price_and_currency_apart: `currency` is present exactly when `price` is", "currency"),
        ({"rent_period": "day"}, "rent_period_of_a_sale: a sale has no `rent_period`", "rent_period"),
        ({"operation": "rent"}, "rent_without_period: a rent with a `price` has a `rent_period`", "rent_period"),
        (
            {"latitude": None},
            "latitude_and_longitude_apart: `longitude` is present exactly when `latitude` is",
            "longitude",
        ),
    ],
)
def test_a_broken_rule_of_the_schema_is_reported_by_name(
    pipeline: ValidatePipeline, changes: dict[str, Any], error: str, field: str
) -> None:
    assert pipeline.process_item(a_listing(**changes)).errors == (error,)
    assert rules(pipeline) == {f"listing/rule/{error.partition(':')[0]}/error": 1}
    assert pipeline.stats.get_value(f"listing/field/{field}/invalid") == 1


def test_an_error_sends_the_listing_to_quarantine(pipeline: ValidatePipeline) -> None:
    item = pipeline.process_item(a_listing(floor=9, floors_total=4, area_m2=1e6, latitude=0.0, longitude=0.0))
    assert isinstance(item, Quarantined)
    assert item.errors == (
        "floor_above_building: floor 9 of 4",
        "area_impossible: 1000000.0 m² for a property of type house",
    )
    assert item.record["quality_flags"] == ["coordinates_at_zero"]
    assert rules(pipeline) == {
        "listing/rule/floor_above_building/error": 1,
        "listing/rule/area_impossible/error": 1,
        "listing/rule/coordinates_at_zero/warning": 1,
    }


def test_a_warning_adds_a_flag(pipeline: ValidatePipeline) -> None:
    listing = a_listing(latitude=40.4, longitude=49.9, quality_flags=frozenset({"public_sale"}))
    assert pipeline.process_item(listing) is listing
    assert listing.quality_flags == {"public_sale", "coordinates_outside_country"}
    assert rules(pipeline) == {"listing/rule/coordinates_outside_country/warning": 1}
    assert IS_VALID(as_record(listing))


def test_missing_fields_are_counted(pipeline: ValidatePipeline) -> None:
    pipeline.process_item(a_listing(area_m2=None))
    assert pipeline.stats.get_value("listing/field/area_m2/missing") == 1
    assert pipeline.stats.get_value("listing/field/price/missing") is None


def test_other_items_pass_unchanged(pipeline: ValidatePipeline) -> None:
    assert pipeline.process_item({"a": 1}) == {"a": 1}
    assert pipeline.stats.get_stats() == {}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_and_infinity_are_reported_as_not_a_number(pipeline: ValidatePipeline, value: float) -> None:
    assert pipeline.process_item(a_listing(area_m2=value)).errors == (f"area_m2: {value} is not a number",)


def test_a_date_without_time_zone_is_refused(pipeline: ValidatePipeline) -> None:
    (error,) = pipeline.process_item(a_listing(posted_at=datetime(2026, 9, 1, 10, 0))).errors
    assert error.startswith("posted_at: ")


def test_a_message_does_not_repeat_a_whole_page(pipeline: ValidatePipeline) -> None:
    (error,) = pipeline.process_item(a_listing(url="x" * 100_000)).errors
    assert len(error) < 500


@given(spoilt_listings)
@settings(max_examples=50)
@example(a_listing(features=None))
@example(a_listing(posted_at="2026-09-01T10:00:00Z"))
@example(a_listing(title=timedelta(1)))
@example(a_listing(extra={1: object()}))
def test_every_listing_passes_or_goes_to_quarantine(listing: Listing) -> None:
    pipeline = ValidatePipeline(_stats(), lambda: NOW, LiveMedians(list, 0))
    item = pipeline.process_item(listing)
    assert item is listing or (isinstance(item, Quarantined) and item.errors)


FOREIGN = (timedelta(1), date(2026, 1, 1), NOW, UUID(int=1), b"x", Decimal(1), 1, 1.5, True, object(), ["x"], {"x": 1})


@pytest.mark.parametrize("value", FOREIGN, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("name", ["title", "ref", "status", "geo_precision"])
def test_a_text_of_another_type_never_reaches_the_store(pipeline: ValidatePipeline, name: str, value: Any) -> None:
    assert pipeline.process_item(a_listing(**{name: value})).errors


@given(typed_listings)
@settings(max_examples=30)
@example(a_listing())
@example(a_listing(delisted_at=(NOW, NOW)))
@example(a_listing(features=None))
@example(a_listing(status=None))
@example(a_listing(extra=None))
@example(a_listing(portal=None))
@example(a_listing(operation=None))
@example(a_listing(price=Decimal("NaN")))
def test_the_fast_record_gives_the_same_result_as_the_full_one(listing: Listing) -> None:
    assert _verdict(readable, listing) == _verdict(as_record, listing)


def _verdict(record: Callable[[Listing], dict[str, Any]], listing: Listing) -> bool:
    try:
        return IS_VALID(record(listing))
    except (TypeError, ValueError, ArithmeticError, AttributeError):
        return False


def _stats() -> Any:
    class Counts(dict[str, int]):
        def inc_value(self, name: str) -> None:
            self[name] = self.get(name, 0) + 1

    return Counts()


def test_a_quarantined_item_is_counted_as_made(pipeline: ValidatePipeline) -> None:
    item = Quarantined.of(a_listing(), "cannot be cleaned")
    assert pipeline.process_item(item) is item
    assert pipeline.stats.get_stats() == {"listing/made": 1}


# --- with the medians of a store


def test_a_running_worker_loads_the_medians_from_the_store(
    make_crawler: Callable[..., Crawler], store: PostgresStore
) -> None:
    listings = [clean(a_listing(ref=str(number), price=Decimal(300_000 + number))) for number in range(21)]
    store.write(Batch([(listing, "j") for listing in listings]))
    pipeline = ValidatePipeline.from_crawler(make_crawler(ImmowebSpider, STORE_URL=store.url))
    in_cents = clean(a_listing(price=Decimal(30_000_000)))

    async def crawl() -> Any:
        assert pipeline.process_item(replace(in_cents)) == in_cents, "nothing is known yet"
        pipeline.serving()
        while not isinstance(item := pipeline.process_item(replace(in_cents)), Quarantined):
            await asyncio.sleep(0.01)
        pipeline.close_spider()
        return item

    item = asyncio.run(asyncio.wait_for(crawl(), 60))
    why = "214285.71 per m², but the median of Namur is 2142.93"
    assert item.errors == (f"price_per_m2_beyond_district: {why}",)


# --- the simulated portals


@pytest.fixture(scope="module")
def simulated() -> list[Listing]:
    sites = Simulator(World(7, 200), {name: f"http://{name}.test" for name in PORTALS}).sites.values()
    return [clean(site.listing(advert)) for site in sites for advert in site.world.listed(site.portal)]


def test_the_listings_of_the_simulator_pass(
    pipeline: ValidatePipeline, simulated: list[Listing], store: PostgresStore
) -> None:
    store.write(Batch([(listing, "j") for listing in simulated]))
    pipeline.medians.current = Medians(store.medians())
    assert pipeline.medians.current.of("AZ", "Bakı", None, "sale", "apartment", None, "AZN") is not None
    items = [pipeline.process_item(replace(listing)) for listing in simulated]
    assert [item.errors for item in items if isinstance(item, Quarantined)] == []
    flagged = [item for item in items if item.quality_flags]
    assert len(flagged) < len(items) / 20, [(item.ref, item.quality_flags) for item in flagged]


def test_validation_takes_at_most_five_times_as_long_as_the_schema_alone(
    pipeline: ValidatePipeline, simulated: list[Listing]
) -> None:
    listings = simulated[:40] + simulated[-40:]
    records = [as_record(listing) for listing in listings]

    def seconds(act: Callable[[Any], Any], values: list[Any]) -> float:
        start = perf_counter()
        for value in values:
            act(value)
        return perf_counter() - start

    rounds = [(seconds(IS_VALID, records), seconds(pipeline.process_item, listings)) for _ in range(60)]
    alone, ours = map(min, zip(*rounds, strict=True))
    assert ours < alone * TIMES_THE_SCHEMA_ALONE
