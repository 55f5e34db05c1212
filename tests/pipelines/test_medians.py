import asyncio
import threading
from typing import Any

import pytest

from realestate.pipelines.medians import LiveMedians, Medians
from realestate.storage import StoreAway

SALE = ("sale", "apartment", None, "AZN")


def row(district: str | None, median: float, count: int, city: str = "Bakı", kind: tuple[Any, ...] = SALE) -> Any:
    return ("AZ", city, district, *kind, median, count)


def test_a_district_has_its_own_median() -> None:
    medians = Medians([row("Nəsimi", 3100.0, 20), row("Xəzər", 1400.0, 30)])
    assert medians.of("AZ", "Bakı", "Nəsimi", *SALE) == 3100
    assert medians.of("AZ", "Bakı", "Xəzər", *SALE) == 1400


def test_too_few_listings_are_no_median() -> None:
    assert Medians([row("Nəsimi", 3100.0, 19)]).of("AZ", "Bakı", "Nəsimi", *SALE) is None


@pytest.mark.parametrize("district", ["Sabail", None, "never heard of"])
def test_a_district_with_too_few_listings_has_the_median_of_its_city(district: str | None) -> None:
    medians = Medians([row("Nəsimi", 3100.0, 25), row("Xəzər", 1400.0, 60), row("Sabail", 9000.0, 5)])
    assert medians.of("AZ", "Bakı", district, *SALE) == 1400


def test_small_districts_together_give_the_median_of_a_city() -> None:
    medians = Medians([row("a", 1000.0, 7), row("b", 2000.0, 7), row(None, 3000.0, 7)])
    assert medians.of("AZ", "Bakı", "a", *SALE) == 2000
    assert Medians([row("a", 1000.0, 7), row("b", 2000.0, 7)]).of("AZ", "Bakı", "a", *SALE) is None


def test_listings_without_a_district_are_not_a_district() -> None:
    medians = Medians([row(None, 5000.0, 20), row("a", 1000.0, 30)])
    assert medians.of("AZ", "Bakı", None, *SALE) == 1000


@pytest.mark.parametrize(
    "asked",
    [
        ("BE", "Bakı", "Nəsimi", *SALE),
        ("AZ", "Gəncə", "Nəsimi", *SALE),
        ("AZ", None, "Nəsimi", *SALE),
        ("AZ", "Bakı", "Nəsimi", "rent", "apartment", "month", "AZN"),
        ("AZ", "Bakı", "Nəsimi", "sale", "house", None, "AZN"),
        ("AZ", "Bakı", "Nəsimi", "sale", "apartment", None, "USD"),
    ],
)
def test_a_median_is_of_one_place_and_one_kind(asked: Any) -> None:
    assert Medians([row("Nəsimi", 3100.0, 20)]).of(*asked) is None


@pytest.mark.parametrize("median", [0.0, -1.0, float("nan")])
def test_a_median_that_is_not_a_price_is_left_out(median: float) -> None:
    medians = Medians([row("a", median, 20), row("b", 1000.0, 20)])
    assert medians.of("AZ", "Bakı", "a", *SALE) == 1000


def test_medians_are_reloaded_in_a_thread_and_stay_while_the_store_is_unavailable() -> None:
    loads: list[Any] = [StoreAway("no answer"), [row("a", 1000.0, 20)], StoreAway("again"), [row("a", 1100.0, 20)]]
    threads, seen = set(), []

    def load() -> Any:
        threads.add(threading.get_ident())
        seen.append(live.current.of("AZ", "Bakı", "a", *SALE))
        answer = loads.pop(0) if loads else [row("a", 1100.0, 20)]
        if isinstance(answer, StoreAway):
            raise answer
        return answer

    live = LiveMedians(load, seconds=0)

    async def watch() -> None:
        task = asyncio.create_task(live.refresh_forever())
        while len(seen) < 5:
            await asyncio.sleep(0)
        task.cancel()

    asyncio.run(asyncio.wait_for(watch(), 30))
    assert seen[:5] == [None, None, 1000, 1000, 1100]
    assert threading.get_ident() not in threads
