"""A number is stored as it was read, or its listing goes to quarantine. None is rounded to 0."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from scrapy.crawler import Crawler

from realestate.items import Listing, is_storable_time
from realestate.items.others import Quote
from realestate.pipelines.clean import clean
from realestate.pipelines.medians import LiveMedians
from realestate.pipelines.validate import ValidatePipeline
from realestate.spiders.immoweb import ImmowebSpider
from realestate.storage import Batch, FullStore, Quarantined
from realestate.storage.field_types import FIELD_TYPES
from realestate.storage.prices import believable, completed
from tests.examples import a_listing
from tests.storage.batches import batch, card, page, record, types

NOW = datetime(2026, 11, 1, tzinfo=UTC)
MONEY = [name for name, type in FIELD_TYPES.items() if type is Decimal]
FLOATS = [name for name, type in FIELD_TYPES.items() if type is float]
WHOLE = [name for name, type in FIELD_TYPES.items() if type is int]
DATES = ("posted_at", "updated_at")
AMOUNTS = ["1e-13", "0.001", "0.005", "0.01", "999999999999.99", "999999999999.995", "1e12", "1e300", "NaN", "sNaN"]
AMOUNTS += ["Infinity", "-1", "0", "-0.0"]
NUMBERS = [1e-13, 5e-324, 1e300, float("nan"), float("inf"), -1e-13, -0.0, 0.0]
INTEGERS = [10**30, -(10**30), 2**31, -(2**31) - 1]
EAST, WEST = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))
TIMES = [datetime.min.replace(tzinfo=EAST), datetime.max.replace(tzinfo=WEST)]


@pytest.fixture
def validated(make_crawler: Callable[..., Crawler]) -> Callable[[Any], Any]:
    stats = make_crawler(ImmowebSpider).stats
    assert stats is not None
    return ValidatePipeline(stats, lambda: NOW, LiveMedians(lambda: [], 1.0)).process_item


def cases() -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = [(name, Decimal(amount)) for name in MONEY for amount in AMOUNTS]
    found += [(name, value) for name in FLOATS for value in NUMBERS]
    found += [(name, value) for name in WHOLE for value in INTEGERS]
    return found + [(name, value) for name in DATES for value in TIMES]


def changed(name: str, value: Any) -> Any:
    """The listing with the value, as the pipelines before validation return it."""
    listing = a_listing(**{name: value}) if name != "price_per_m2" else a_listing()
    try:
        listing = clean(listing)
    except (ArithmeticError, TypeError, ValueError) as error:
        return Quarantined.of(listing, f"cannot be cleaned: {error}")
    if name == "price_per_m2":
        listing.price_per_m2 = value
    return listing


def test_every_extreme_number_is_stored_as_it_is_or_goes_to_quarantine(
    any_store: FullStore, validated: Callable[[Any], Any]
) -> None:
    good: dict[str, tuple[str, Any]] = {}
    listings: list[Listing] = []
    refused = set()
    for number, (name, value) in enumerate(cases()):
        item = validated(changed(name, value))
        if isinstance(item, Quarantined):
            refused.add((name, str(value)))
            continue
        item.ref = str(number)
        good[item.ref] = (name, value)
        listings.append(item)
    written = any_store.write(Batch([(listing, "job") for listing in listings]))
    assert written.quarantined == 0, "the database has nothing to refuse"
    stored = {each["ref"]: each for each in any_store.records("immoweb")}
    for ref, (name, value) in good.items():
        assert stored[ref][name] == (float(value) if name in (*MONEY, *FLOATS) else value), (name, value)
    for amount in ("1e-13", "0.001", "0.005", "999999999999.995", "1E+12", "NaN", "0"):
        assert {(name, str(Decimal(amount))) for name in MONEY} <= refused, amount
    assert all((name, str(value)) in refused for name in DATES for value in TIMES)


def test_a_price_below_a_cent_on_a_search_page_is_no_price(any_store: FullStore) -> None:
    any_store.write(batch(page()))
    for amount in ("1e-13", "0.004", "1e12", "NaN"):
        any_store.write(batch(card("1", amount)))
    assert (record(any_store)["price"], types(any_store)) == (350_000, ["listed"])
    assert [believable(Decimal(each)) for each in ("0.01", "0.009", "999999999999.99")] == [True, False, True]


def test_the_price_of_a_rent_that_gets_its_period_later_is_checked_too() -> None:
    known = page(operation="rent", rent_period="month", price=Decimal(900))
    for amount in ("1e-13", "1e12", "NaN"):
        later = page(operation="rent", rent_period=None, price=Decimal(amount))
        assert "rent_period_unknown" in later.quality_flags
        assert completed(later, known) == later, amount


def test_a_quote_keeps_all_decimals_of_its_price(any_store: FullStore, validated: Callable[[Any], Any]) -> None:
    quote = Quote(
        portal="finance", ref="1", url="https://x.example/", ticker="X", price=Decimal("0.0031"), currency="EUR"
    )
    any_store.write(Batch(others=[(validated(quote), "job")]))
    assert [other.data["price"] for other in any_store.others("finance")] == [0.0031]
    quote.price = Decimal("1e-13")
    any_store.write(Batch(others=[(validated(quote), "job")]))
    assert [other.data["price"] for other in any_store.others("finance")] == [1e-13]
    for price in ("1e-400", "1e13", "NaN"):
        quote.price = Decimal(price)
        assert isinstance(validated(quote), Quarantined), price
    quote.price, quote.quoted_at = None, TIMES[0]
    quote.currency = None
    assert isinstance(validated(quote), Quarantined)


def test_a_time_is_storable_if_it_has_a_year_in_utc() -> None:
    assert not any(map(is_storable_time, TIMES))
    assert all(map(is_storable_time, (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC), NOW)))
