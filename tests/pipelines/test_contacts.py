"""Contacts on their way from a page to the database: they are encrypted."""

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


def test_contacts_are_stored_encrypted_with_their_listing(crawl: Callable[..., None], sql: Ask, key: str) -> None:
    crawl("1")
    ((portal, ref, sealed, marks, days),) = sql(
        "SELECT portal, ref, sealed, lookups, round(extract(epoch FROM expires_at - now()) / 86400)::int FROM contacts"
    )
    assert (portal, ref, days) == ("immoweb", "1", 90)
    assert Vault([key]).open(bytes(sealed)).phones == (PHONE,)
    assert marks == [Vault([key]).lookup(PHONE)]
    ((description,),) = sql("SELECT description FROM listings")
    assert "0475" not in description


def test_contacts_seen_again_are_stored_once_and_expire_later(crawl: Callable[..., None], sql: Ask) -> None:
    crawl("1", CONTACTS_DAYS=1)
    crawl("1", CONTACTS_DAYS=30)
    assert sql("SELECT count(*)::int, bool_and(expires_at > now() + interval '20 days') FROM contacts") == [(1, True)]


def test_an_erased_contact_is_not_stored_again(crawl: Callable[..., None], sql: Ask, key: str) -> None:
    crawl("1")
    sql("INSERT INTO erased (kind, what) VALUES ('contact', %s)", Vault([key]).lookup(PHONE))
    sql("DELETE FROM contacts")
    crawl("1", "2")
    assert sql("SELECT count(*)::int FROM contacts") == [(0,)]
    assert sql("SELECT count(*)::int FROM listings") == [(2,)]


def test_with_contacts_off_none_is_stored(crawl: Callable[..., None], sql: Ask) -> None:
    crawl("1", CONTACTS=False)
    assert sql("SELECT count(*)::int FROM contacts") == [(0,)]
