"""Field coverage of both stores, compared with what was stored."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from realestate.pipelines.clean import clean
from realestate.storage import FullStore, Store
from realestate.storage.coverage import COVERED
from realestate.storage.postgres import PostgresStore, sampling
from tests.storage.batches import batch
from tests.storage.random_listings import random_listing


def test_fields_are_counted_by_portal_and_day(any_store: Store) -> None:
    assert isinstance(any_store, FullStore)
    random = Random(5)
    listings = [clean(random_listing(random, portal, str(ref))) for portal in ("bina", "tap") for ref in range(8)]
    any_store.write(batch(*listings))
    now = datetime.now(UTC)
    found = any_store.field_coverage(now - timedelta(days=2))
    assert [each.portal for each in found] == ["bina", "tap"]
    for each in found:
        own = [listing for listing in listings if listing.portal == each.portal]
        known = Counter(name for listing in own for name in COVERED if getattr(listing, name) not in (None, []))
        assert abs((each.day - now.date()).days) <= 1
        assert each.listings == 8
        assert each.known == {name: known[name] for name in COVERED}
        assert each.share("city") == known["city"] / 8
    assert any_store.field_coverage(now + timedelta(days=1)) == []


def test_a_large_store_is_estimated_from_a_sample(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(5)
    listings = [clean(random_listing(random, "bina", str(ref))) for ref in range(600)]
    store.write(batch(*listings))
    with store.connection.cursor() as cursor:
        cursor.execute("ANALYZE listings")
    monkeypatch.setattr(sampling, "ENOUGH", 300)
    now = datetime.now(UTC)
    found = store.field_coverage(now - timedelta(days=2))
    assert 250 < sum(each.listings for each in found) < 1200
    counted = sum(each.known["city"] for each in found) / sum(each.listings for each in found)
    assert abs(counted - sum(each.city is not None for each in listings) / 600) < 0.2
