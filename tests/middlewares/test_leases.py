from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError

from realestate.middlewares.leases import LeaseMiddleware
from realestate.queue.engine import LEASE
from realestate.queue.ledger import Ledger
from realestate.queue.packing import PARENT
from realestate.queue.request_queue import Ending, Lease
from realestate.spiders.immoweb import ImmowebSpider
from tests.examples import a_listing


class Book:
    """A ledger with one open lease, and what ended."""

    def __init__(self, crawler: Crawler) -> None:
        self.ended: list[Ending] = []
        self.ledger = Ledger(self.ended.append)
        self.key = self.ledger.open(Lease(b"id", "1", 0, 0, 0, "j", "extract", b""))
        crawler.engine = SimpleNamespace(scheduler=self)  # type: ignore[assignment]
        self.middleware = LeaseMiddleware.from_crawler(crawler)
        self.request = Request("https://x.example/1", meta={"job": "j", "mode": "sweep", LEASE: self.key})
        self.response = Response(self.request.url, request=self.request)

    def give_up(self, reason: str, error: str, request: Request, **what: Any) -> None:
        held = self.ledger.get(request.meta[LEASE])
        assert held is not None
        held.outcome, held.detail = "dead", f"{reason}: {error}"

    def finished(self, request: Request) -> None:
        self.ledger.finished(request.meta[LEASE])

    def read(self, *results: Any) -> None:
        """The page as the scraper handles it."""
        error: Exception | None = None
        for each in results:
            if isinstance(each, Exception):
                error = each
                break
            self.middleware.page_gives(self.response, each)
        self.middleware.page_ends(self.response, error)


@pytest.fixture
def book(make_crawler: Callable[..., Crawler]) -> Book:
    return Book(make_crawler(ImmowebSpider))


def test_children_inherit_the_job_and_know_their_page(book: Book) -> None:
    child = Request("https://x.example/2", meta={"stage": "extract"})
    book.read(child)
    assert child.meta == {"job": "j", "mode": "sweep", "stage": "extract", PARENT: book.key}


def test_children_inherit_the_jobs_priority_on_top_of_their_stages(book: Book) -> None:
    book.request.meta["job_priority"] = 5
    child = Request("https://x.example/2", priority=10)
    book.read(child)
    assert (child.priority, child.meta["job_priority"]) == (15, 5)


def test_a_child_with_the_whole_meta_of_its_page_is_no_continuation(book: Book) -> None:
    child = Request("https://x.example/2", meta=dict(book.request.meta))
    book.read(child)
    assert LEASE not in child.meta


def test_a_page_without_items_ends_with_its_callback(book: Book) -> None:
    book.read()
    assert [(ending.id, ending.outcome) for ending in book.ended] == [(b"id", "done")]


def test_a_page_whose_callback_ends_the_worker_goes_back(book: Book) -> None:
    """It asked a store that is away for good; nothing is wrong with the page."""
    book.read(a_listing(), CloseSpider("store_failed"))
    book.middleware.process_spider_exception(book.response, CloseSpider("store_failed"))
    assert [(ending.id, ending.outcome) for ending in book.ended] == [(b"id", "back")]


def test_a_page_waits_for_its_items_to_be_durable(book: Book) -> None:
    first, second = a_listing(ref="1"), a_listing(ref="2")
    book.read(first, second)
    for item in (first, second):
        book.middleware.item_waits(item)
        book.middleware.item_scraped(item, book.response)
    assert book.ended == []
    book.middleware.items_stored([first])
    assert book.ended == []
    book.middleware.items_stored([second])
    assert len(book.ended) == 1


def test_an_item_stored_before_scrapy_says_so_counts(book: Book) -> None:
    item = a_listing()
    book.read(item)
    book.middleware.item_waits(item)
    book.middleware.items_stored([item])
    assert book.ended == []
    book.middleware.item_scraped(item, book.response)
    assert len(book.ended) == 1


def test_an_item_that_no_store_keeps_counts_when_it_is_through(book: Book) -> None:
    book.read({"any": "item"})
    book.middleware.item_scraped({"any": "item"}, book.response)
    assert len(book.ended) == 1


def test_an_item_that_is_dropped_does_not_hold_its_page(book: Book) -> None:
    book.read(a_listing())
    book.middleware.item_lost(a_listing(), book.response)
    assert len(book.ended) == 1


def test_a_callback_that_raises_is_given_up(book: Book) -> None:
    book.read(Request("https://x.example/2"), KeyError("id"))
    (ending,) = book.ended
    assert (ending.outcome, ending.detail) == ("dead", "parse: KeyError: 'id'")


def test_a_status_that_no_errback_takes_is_given_up(book: Book) -> None:
    """HttpError passes over it: the page then gives nothing, and ends well."""
    book.middleware.process_spider_exception(book.response, HttpError(book.response, "Ignoring"))
    book.read()
    (ending,) = book.ended
    assert (ending.outcome, ending.detail) == ("dead", "parse: HttpError: Ignoring")


def test_an_error_that_another_middleware_mends_is_none(book: Book) -> None:
    book.middleware.process_spider_exception(book.response, KeyError("id"))
    book.read()
    assert [ending.outcome for ending in book.ended] == ["done"]


def test_a_callback_that_is_not_over_holds_its_page(book: Book) -> None:
    book.middleware.page_gives(book.response, Request("https://x.example/2"))
    assert book.ended == []


def test_a_page_without_a_lease_passes_untouched(book: Book) -> None:
    del book.request.meta[LEASE]
    child = Request("https://x.example/2")
    book.read(child)
    assert PARENT not in child.meta
    assert book.ended == []
