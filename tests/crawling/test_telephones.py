"""Telephones are requested only with CONTACTS on, and only the encrypted contacts contain them."""

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.fernet import Fernet
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, TextResponse

from realestate.crawling.telephones import MOST_NUMBERS, PRIVATE
from realestate.items import Listing, Telephones
from realestate.pipelines.privacy import PrivacyPipeline
from realestate.pipelines.store import StorePipeline
from realestate.queue import codec, signals
from realestate.spiders.bina import BinaSpider
from realestate.storage.contacts import Contacts
from realestate.storage.postgres import PostgresStore
from realestate.storage.vault import Vault
from tests.crawling.fake_fleet import FakeFleet
from tests.examples import a_listing
from tests.recorded import FOLDER

LISTING = "https://bina.az/items/6150007"
ANSWER = '{"phones": ["(050) 123-45-67", "+994 55 765 43 21"]}'
NUMBERS = ("+994501234567", "+994557654321")
KEY = Fernet.generate_key().decode()


@pytest.fixture
def fleet() -> FakeFleet:
    return FakeFleet()


@pytest.fixture
def crawler(make_crawler: Callable[..., Crawler], fleet: FakeFleet, request: pytest.FixtureRequest) -> Crawler:
    is_on = getattr(request, "param", True)
    crawler = make_crawler(BinaSpider, CONTACTS=is_on, CONTACTS_KEYS=[KEY])
    fleet.register(crawler)
    crawler.spider = BinaSpider.from_crawler(crawler)
    return crawler


@pytest.fixture
def spider(crawler: Crawler) -> Any:
    return crawler.spider


def read(spider: Any, name: str = "listing-flat-old", url: str = LISTING) -> list[Any]:
    request = Request(url, meta={"stage": "extract", "job": "j"})
    body = (FOLDER / "bina" / f"{name}.html").read_bytes()

    async def inside() -> list[Any]:
        return [each async for each in spider.read_listing(HtmlResponse(url, body=body, request=request))]

    return asyncio.run(inside())


def answer(body: str, status: int = 200) -> TextResponse:
    request = Request(f"{LISTING}/phones", meta={"stage": "extract", PRIVATE: True})
    return TextResponse(request.url, status, body=body.encode(), encoding="utf-8", request=request)


def values(spider: Any, body: str, status: int = 200) -> list[Any]:
    return list(spider.read_telephones(answer(body, status), ref="6150007", url=LISTING))


# ----- the request


def test_telephones_are_requested_after_the_listing_through_the_queue(spider: Any) -> None:
    listing, asking = read(spider)
    assert isinstance(listing, Listing)
    assert asking.url == f"{LISTING}/phones?source_link=https%3A%2F%2Fbina.az%2Fitems%2F6150007&trigger_button=main"
    assert asking.headers["X-CSRF-Token"] == b"0123abcd"
    assert asking.headers["X-Requested-With"] == b"XMLHttpRequest"
    assert asking.cb_kwargs == {"ref": "6150007", "url": LISTING}
    assert asking.meta["stage"] == "extract"
    travelled = codec.decode(codec.encode(asking, spider), spider)
    assert travelled.callback == spider.read_telephones


@pytest.mark.parametrize("crawler", [False], indirect=True)
def test_with_contacts_off_nothing_is_requested(spider: Any) -> None:
    (listing,) = read(spider)
    assert isinstance(listing, Listing)


def test_a_new_page_has_no_token_for_the_request(spider: Any) -> None:
    assert len(read(spider, "listing-flat-sale", "https://bina.az/items/6150005")) == 1


# ----- the response


def test_the_numbers_are_an_item_that_does_not_print_them(spider: Any) -> None:
    (item,) = values(spider, ANSWER)
    assert (item.portal, item.ref, len(item.numbers)) == ("bina", "6150007", 2)
    assert "123" not in repr(item)


@pytest.mark.parametrize("crawler", [False], indirect=True)
def test_a_response_after_contacts_were_switched_off_is_dropped(spider: Any) -> None:
    assert values(spider, ANSWER) == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("", 200),
        ('{"phones": "(050) 123-45-67"}', 200),
        ('{"error": "call 0501234567"', 200),
        ("<html>(050) 123-45-67</html>", 200),
        (ANSWER, 404),
        (ANSWER, 410),
    ],
)
def test_an_error_does_not_contain_the_response(
    spider: Any, fleet: FakeFleet, caplog: pytest.LogCaptureFixture, body: str, status: int
) -> None:
    with caplog.at_level(logging.DEBUG):
        assert values(spider, body, status) == []
    assert len(fleet.dead_letters) == 1
    for text in (repr(fleet.dead_letters[0]), caplog.text):
        assert "123" not in text.replace("0123abcd", "")
    assert spider.crawler.stats.get_value("page/extract/unanswered") == 1


def test_a_long_list_of_numbers_is_cut(spider: Any) -> None:
    many = [f"05012345{number:02}" for number in range(100)]
    (item,) = values(spider, json.dumps({"phones": [*many, None, 7, {}]}))
    assert len(item.numbers) == MOST_NUMBERS


# ----- storing


def contacts_of(crawler: Crawler, item: Telephones) -> list[Contacts]:
    found: list[Contacts] = []

    def hear(contacts: Contacts) -> None:
        found.append(contacts)

    crawler.signals.connect(hear, signal=signals.contacts_found)
    passed = PrivacyPipeline.from_crawler(crawler).process_item(item)
    assert passed is item
    assert item.numbers == (), "no pipeline after this one sees them"
    return found


def test_numbers_become_contacts(crawler: Crawler) -> None:
    numbers = ("(050) 123-45-67", "0557654321", "0501234567", "none", "9" * 50)
    (contacts,) = contacts_of(crawler, Telephones(portal="bina", ref="1", numbers=numbers))
    assert (contacts.phones, contacts.source) == (NUMBERS, "asked")


@pytest.mark.parametrize("numbers", [(), ("none",), ("0501234567" * 50_000,)], ids=["none", "no number", "too long"])
def test_a_text_that_is_not_a_number_is_not_a_contact(crawler: Crawler, numbers: tuple[str, ...]) -> None:
    assert contacts_of(crawler, Telephones(portal="bina", ref="1", numbers=numbers)) == []


@pytest.mark.parametrize("crawler", [False], indirect=True)
def test_with_contacts_off_the_pipeline_drops_them_too(crawler: Crawler) -> None:
    assert contacts_of(crawler, Telephones(portal="bina", ref="1", numbers=NUMBERS)) == []


def test_telephones_are_stored_encrypted_beside_the_contacts_of_the_page(
    make_crawler: Callable[..., Crawler], store: PostgresStore, sql: Callable[..., list[tuple[Any, ...]]]
) -> None:
    crawler = make_crawler(BinaSpider, STORE_URL=store.url, CONTACTS=True, CONTACTS_KEYS=[KEY])
    stored: list[Any] = []

    def hear(items: list[Any]) -> None:
        stored.extend(items)

    crawler.signals.connect(hear, signal=signals.items_stored)
    items = [
        a_listing(portal="bina", ref="1", country="AZ", description="Zəng: 070 123 45 67"),
        Telephones(portal="bina", ref="1", numbers=("(050) 123-45-67",)),
    ]

    async def inside() -> None:
        privacy, storing = PrivacyPipeline.from_crawler(crawler), StorePipeline.from_crawler(crawler)
        for item in items:
            kept = storing.process_item(privacy.process_item(item))
            storing.item_scraped(kept, None)
        await storing.close_spider()

    asyncio.run(inside())
    rows = sql("SELECT source, sealed, expires_at > now() FROM contacts ORDER BY source")
    assert [(source, Vault([KEY]).open(bytes(sealed)).phones, lives) for source, sealed, lives in rows] == [
        ("asked", ("+994501234567",), True),
        ("page", ("+994701234567",), True),
    ]
    assert stored == items, "the response is acknowledged when it is stored"
