"""Contacts from a page into the database and out of it again, sealed all the way."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.fernet import Fernet
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from realestate.pipelines.privacy import PrivacyPipeline
from realestate.pipelines.store import StorePipeline
from realestate.spiders.immoweb import ImmowebSpider
from realestate.storage.postgres import PostgresStore
from realestate.storage.vault import Vault
from tests.examples import a_listing

pytestmark = pytest.mark.xdist_group("database")
Ask = Callable[..., list[tuple[Any, ...]]]
PHONE = "+32475123456"


@pytest.fixture
def key() -> str:
    return Fernet.generate_key().decode()


@pytest.fixture
def crawl(make_crawler: Callable[..., Crawler], store: PostgresStore, key: str) -> Callable[..., None]:
    """Sends listings through both pipelines, as Scrapy would."""

    def run(*refs: str, **changes: Any) -> None:
        crawler = make_crawler(
            ImmowebSpider, **{"STORE_URL": store.url, "CONTACTS": True, "CONTACTS_KEYS": [key], **changes}
        )

        async def inside() -> None:
            privacy, storing = PrivacyPipeline.from_crawler(crawler), StorePipeline.from_crawler(crawler)
            request = Request("https://x.example/", meta={"job": "j"})
            for ref in refs:
                listing = privacy.process_item(a_listing(ref=ref, description="Call 0475 12 34 56 now"))
                kept = storing.process_item(listing)
                storing.item_scraped(kept, Response(request.url, request=request))
            await storing.close_spider()

        asyncio.run(inside())

    return run


def test_they_are_stored_sealed_with_their_listing(crawl: Callable[..., None], sql: Ask, key: str) -> None:
    crawl("1")
    ((portal, ref, sealed, marks, days),) = sql(
        "SELECT portal, ref, sealed, lookups, round(extract(epoch FROM expires_at - now()) / 86400)::int FROM contacts"
    )
    assert (portal, ref, days) == ("immoweb", "1", 90)
    assert Vault([key]).open(bytes(sealed)).phones == (PHONE,)
    assert marks == [Vault([key]).lookup(PHONE)]
    ((description,),) = sql("SELECT description FROM listings")
    assert "0475" not in description


def test_seen_again_they_are_kept_longer_and_once(crawl: Callable[..., None], sql: Ask) -> None:
    crawl("1", CONTACTS_DAYS=1)
    crawl("1", CONTACTS_DAYS=30)
    assert sql("SELECT count(*)::int, bool_and(expires_at > now() + interval '20 days') FROM contacts") == [(1, True)]


def test_who_was_erased_stays_away(crawl: Callable[..., None], sql: Ask, key: str) -> None:
    crawl("1")
    sql("INSERT INTO erased (kind, what) VALUES ('contact', %s)", Vault([key]).lookup(PHONE))
    sql("DELETE FROM contacts")
    crawl("1", "2")
    assert sql("SELECT count(*)::int FROM contacts") == [(0,)]
    assert sql("SELECT count(*)::int FROM listings") == [(2,)]


def test_off_nothing_is_kept(crawl: Callable[..., None], sql: Ask) -> None:
    crawl("1", CONTACTS=False)
    assert sql("SELECT count(*)::int FROM contacts") == [(0,)]
