"""What is no home on its way to the store: validated by its own schema, and kept like a listing."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from unittest.mock import ANY

import jsonschema
import pytest
from scrapy.crawler import Crawler

from realestate.items.others import OTHERS, other_record
from realestate.monitoring.stats import Stats
from realestate.pipelines.clean import CleanPipeline
from realestate.pipelines.medians import LiveMedians
from realestate.pipelines.validate import ValidatePipeline
from realestate.schema import other_schemas
from realestate.spiders.ecommerce import EcommerceSpider
from realestate.storage import Batch, Quarantined, Written
from realestate.storage.other_kinds import SeenOther
from realestate.storage.postgres import PostgresStore
from realestate.storage.states import Change, State
from tests.examples import a_listing
from tests.pipelines.test_store import make, put, stat
from tests.storage.test_others import product, quote


@pytest.fixture
def crawler(make_crawler: Callable[..., Crawler]) -> Crawler:
    return make_crawler(EcommerceSpider)


@pytest.fixture
def pipeline(crawler: Crawler) -> ValidatePipeline:
    assert isinstance(crawler.stats, Stats)
    return ValidatePipeline(crawler.stats, lambda: datetime.now(UTC), LiveMedians(list, 0))


@pytest.mark.parametrize("item", [product(), product(price=None, currency=None, stock=0), quote(), quote(volume=None)])
def test_a_valid_item_passes_unchanged(pipeline: ValidatePipeline, item: Any) -> None:
    assert pipeline.process_item(CleanPipeline().process_item(item)) is item
    assert list(pipeline.stats.get_stats()) == [f"{type(item).__name__.lower()}/made"]


@pytest.mark.parametrize(
    ("item", "error"),
    [
        (product(price=Decimal(-5)), "price: -5 is less than or equal to the minimum of 0"),
        (product(price=Decimal(0)), "price: 0 is less than or equal to the minimum of 0"),
        (product(currency=None), "price_and_currency_apart: `currency` is present exactly when `price` is"),
        (product(price=None), "price_and_currency_apart: `currency` is present exactly when `price` is"),
        (product(currency="euro"), 'currency: "euro" does not match "^[A-Z]{3}$"'),
        (product(name=""), 'name: "" is shorter than 1 character'),
        (product(stock=-1), "stock: -1 is less than the minimum of 0"),
        (product(stock=1.5), "stock: 1.5 is not of type"),
        (product(price=Decimal("NaN")), "cannot be validated: ValueError: price: nan is not a number"),
        (product(stock=object()), "cannot be validated: TypeError: an item cannot have a value of type object"),
        (quote(ticker=None), 'ticker: null is not of type "string"'),
        (quote(quoted_at=datetime(2026, 1, 1)), "quoted_at"),
    ],
)
def test_an_invalid_item_goes_to_quarantine_with_its_errors_and_data(
    pipeline: ValidatePipeline, item: Any, error: str
) -> None:
    made = pipeline.process_item(item)
    assert isinstance(made, Quarantined)
    assert made.errors[0].startswith(error)
    assert (made.portal, made.ref, made.record["ref"].strip("'")) == (item.portal, item.ref, item.ref)


def test_errors_are_counted_under_the_name_of_the_kind(pipeline: ValidatePipeline) -> None:
    pipeline.process_item(product(stock=-1, currency=None))
    assert pipeline.stats.get_stats() == {
        "product/made": 1,
        "product/field/stock/invalid": 1,
        "product/field/currency/invalid": 1,
        "product/rule/price_and_currency_apart/error": 1,
    }


@pytest.mark.parametrize("kind", OTHERS)
def test_each_kind_has_a_schema_that_any_validator_reads(kind: str) -> None:
    schema = other_schemas()[kind]
    jsonschema.Draft202012Validator.check_schema(schema)
    example = product() if kind == "product" else quote()
    assert jsonschema.Draft202012Validator(schema).is_valid(other_record(example))
    assert not jsonschema.Draft202012Validator(schema).is_valid({**other_record(example), "surprise": 1})


class Recorder:
    """A store that remembers its batches."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    def migrate(self) -> None: ...

    def last_event(self) -> int:
        return 0

    def change_state(self, name: str, change: Change) -> State | None:
        return change(None)

    def write(self, batch: Batch) -> Written:
        self.batches.append(batch)
        return Written(new=len(batch.observed), others=len(batch.others))

    def close(self) -> None: ...


def test_all_kinds_go_into_one_batch_each_with_its_job(crawler: Crawler) -> None:
    async def crawl() -> list[Batch]:
        pipeline = make(crawler, store := Recorder())
        for item in (product(), a_listing(), quote(), Quarantined.of(product("2"), "bad"), object()):
            await put(pipeline, item)
        await pipeline.close_spider()
        return store.batches

    (batch,) = asyncio.run(crawl())
    assert list(batch.others) == [SeenOther(product(), "j", ANY), SeenOther(quote(), "j", ANY)]
    assert ([each[0].ref for each in batch.observed], len(batch.quarantined)) == (["21000001"], 1)
    assert (stat(crawler, "other/stored"), stat(crawler, "listing/stored")) == (2, 1)


def test_a_product_is_written_to_a_real_database(crawler: Crawler, store: PostgresStore, store_url: str) -> None:
    async def crawl() -> None:
        pipeline = make(crawler, PostgresStore(store_url))
        await put(pipeline, product())
        await pipeline.close_spider()

    asyncio.run(crawl())
    assert [other.ref for other in store.others("ecommerce")] == ["1"]
    assert stat(crawler, "event/appeared") == 1
