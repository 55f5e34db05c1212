"""The market figures of a store, on both databases."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from realestate.homes.build import build as build_homes
from realestate.market import build as market
from realestate.pipelines.clean import clean
from realestate.storage import FullStore, open_store
from tests.homes.test_linkage import advert
from tests.storage.batches import batch


@pytest.fixture(params=["store_url", "mongodb_url"])
def store(request: pytest.FixtureRequest) -> Iterator[FullStore]:
    found = open_store(request.getfixturevalue(request.param))
    found.migrate()
    yield found
    found.close()


def test_the_figures_of_a_store_count_homes(store: FullStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six homes, one of them advertised twice, dearer on the other portal. One lowers its price."""
    homes = [advert(str(at), area_m2=40.0 + 5 * at, price=Decimal(100_000 + 10_000 * at)) for at in range(6)]
    twice = replace(homes[0], portal="tap", ref="0", url="http://tap.test/0", price=Decimal(101_000))
    store.write(batch(*map(clean, [*homes, twice])))
    store.write(batch(clean(replace(homes[5], price=Decimal(140_000)))))
    build_homes(store)
    now = store.server_state()
    later = replace(now, now=now.now + timedelta(weeks=1))
    monkeypatch.setattr(type(store), "server_state", lambda self: later)
    rows = market.build(store)
    row = next(row for row in rows if (row.city, row.district) == ("Bakı", "Nəsimi"))
    assert (row.stock, row.new, row.gone) == (6, 6, 0)
    assert row.median_price == 125_000
    assert row.price_index is None
    assert next(row for row in rows if (row.city, row.district) == ("Bakı", "")).price_index == 100
    assert market.build(store) == rows, "safe to repeat"
    assert list(store.market_weeks()) == sorted(rows, key=lambda row: (row.city, row.district))
