"""What the lease of a page waits for. Requests and items are handled after the callback has ended, as in Scrapy."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider, DownloadTimeoutError, IgnoreRequest
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError
from twisted.python.failure import Failure

from realestate.queue import signals
from realestate.queue.dead_letters import Reason
from realestate.queue.engine import LEASE
from realestate.queue.fleet import Fleet, register_fleet
from realestate.queue.leases import LeaseMiddleware
from realestate.queue.ledger import Hold, Ledger
from realestate.queue.packing import PARENT
from realestate.queue.pages import LeasedErrback, Pages, lease_of
from realestate.queue.request_queue import Lease, Settlement
from realestate.spiders.immoweb import ImmowebSpider
from tests.examples import a_listing

CHILD = "https://x.example/2"


class Book:
    """A fleet without Redis: a ledger with one open lease, and the leases that ended."""

    def __init__(self, crawler: Crawler) -> None:
        self.ended: list[Settlement] = []
        self.ledger = Ledger(self.ended.append)
        self.pages = Pages(self.ledger, self.give_up, crawler.signals)
        self.key = self.ledger.open(Lease(b"id", "1", 0, 0, 0, "j", "extract", b""))
        register_fleet(crawler, cast("Fleet", self))
        self.crawler = crawler
        self.middleware = LeaseMiddleware.from_crawler(crawler)
        self.request = Request("https://x.example/1", meta={"job": "j", "mode": "sweep", LEASE: self.key})
        self.request.errback = LeasedErrback(self.pages, None)
        self.response = Response(self.request.url, request=self.request)

    def give_up(self, reason: Reason, error: str, request: Request) -> None:
        held = self.ledger.get(request.meta[LEASE])
        assert held is not None
        held.outcome = "dead"
        held.detail = f"{reason}: {error}"

    def hold(self, response: Response) -> Hold:
        return self.ledger.hold(lease_of(response))

    def outcomes(self) -> list[str]:
        return [ending.outcome for ending in self.ended]

    async def read(self, *results: Any) -> list[Any]:
        """Read the callback's output to its end, and handle nothing of it yet. An exception is raised."""
        self.middleware.process_spider_input(self.response)
        return await self.output(*results)

    async def output(self, *results: Any) -> list[Any]:
        async def callback() -> AsyncIterator[Any]:
            for each in results:
                if isinstance(each, BaseException):
                    raise each
                yield each

        seen: list[Any] = []
        try:
            async for each in self.middleware.process_spider_output(self.response, callback()):
                seen.append(each)
        except Exception as error:
            self.middleware.process_spider_exception(self.response, error)
        await turn()
        return seen

    async def schedule(self, request: Request) -> None:
        self.middleware.request_scheduled(request)
        await turn()

    async def item_handled(self) -> None:
        self.middleware.item_settled(self.response)
        await turn()

    def failure(self, error: Exception) -> Failure:
        failure = Failure(error)  # type: ignore[no-untyped-call]
        failure.request = self.request  # type: ignore[attr-defined]
        return failure


async def turn() -> None:
    """Let the event loop run what is due."""
    for _ in range(3):
        await asyncio.sleep(0)


Run = Callable[[Callable[[Book], Awaitable[None]]], Book]


@pytest.fixture
def run(make_crawler: Callable[..., Crawler]) -> Run:
    def run(act: Callable[[Book], Awaitable[None]]) -> Book:
        book = Book(make_crawler(ImmowebSpider))
        asyncio.run(cast("Any", act(book)))
        return book

    return run


def test_children_inherit_the_job_and_know_their_page(run: Run) -> None:
    async def act(book: Book) -> None:
        (child,) = await book.read(Request(CHILD, meta={"stage": "extract"}))
        assert child.meta == {"job": "j", "mode": "sweep", "stage": "extract", PARENT: book.key}

    run(act)


def test_the_priority_of_the_job_is_added_to_that_of_a_child(run: Run) -> None:
    async def act(book: Book) -> None:
        book.request.meta["job_priority"] = 5
        (child,) = await book.read(Request(CHILD, priority=10))
        assert (child.priority, child.meta["job_priority"]) == (15, 5)

    run(act)


def test_a_child_with_the_whole_meta_of_its_page_does_not_have_its_lease(run: Run) -> None:
    async def act(book: Book) -> None:
        (child,) = await book.read(Request(CHILD, meta=dict(book.request.meta)))
        assert LEASE not in child.meta

    run(act)


def test_a_page_without_output_is_done_when_its_callback_has_ended(run: Run) -> None:
    async def act(book: Book) -> None:
        await book.read()
        assert [(ending.id, ending.outcome) for ending in book.ended] == [(b"id", "done")]
        assert len(book.pages) == 0

    run(act)


def test_a_page_waits_until_its_children_are_scheduled(run: Run) -> None:
    async def act(book: Book) -> None:
        first, second = await book.read(Request(CHILD), Request(CHILD + "0"))
        assert book.ended == []
        await book.schedule(first)
        assert book.ended == []
        await book.schedule(second)
        assert book.outcomes() == ["done"]

    run(act)


def test_the_scheduler_gets_a_child_before_its_page_ends(run: Run) -> None:
    """Scrapy sends the signal directly before it calls the scheduler."""

    async def act(book: Book) -> None:
        (child,) = await book.read(Request(CHILD))
        book.middleware.request_scheduled(child)
        assert book.ended == []
        await turn()
        assert book.outcomes() == ["done"]

    run(act)


def test_the_same_request_yielded_twice_is_counted_twice(run: Run) -> None:
    async def act(book: Book) -> None:
        child = Request(CHILD, dont_filter=True)
        first, second = await book.read(child, child)
        await book.schedule(first)
        assert book.ended == []
        await book.schedule(second)
        assert book.outcomes() == ["done"]

    run(act)


def test_a_request_that_no_page_yielded_is_not_counted(run: Run) -> None:
    async def act(book: Book) -> None:
        (child,) = await book.read(Request(CHILD))
        await book.schedule(Request(CHILD))
        assert book.ended == []
        await book.schedule(child)
        assert book.outcomes() == ["done"]

    run(act)


def test_a_page_waits_until_its_items_have_left_the_pipelines(run: Run) -> None:
    async def act(book: Book) -> None:
        await book.read(a_listing(ref="1"), None, a_listing(ref="2"))
        await book.item_handled()
        assert book.ended == []
        await book.item_handled()
        assert book.outcomes() == ["done"]

    run(act)


def test_a_page_waits_for_every_holder_of_its_lease(run: Run) -> None:
    """Such as the store, for an item that waits in its batch."""

    async def act(book: Book) -> None:
        await book.read(a_listing())
        book.middleware.item_settled(book.response)
        hold = book.hold(book.response)  # another handler of the same signal, called later
        await turn()
        assert book.ended == []
        hold.release()
        hold.release()
        assert book.outcomes() == ["done"]

    run(act)


@pytest.mark.parametrize("signal", ["item_scraped", "item_dropped", "item_error"])
def test_whatever_becomes_of_an_item_it_is_handled(run: Run, signal: str) -> None:
    async def act(book: Book) -> None:
        from scrapy import signals as scrapys

        await book.read(a_listing())
        await book.crawler.signals.send_catch_log_async(
            getattr(scrapys, signal), item=a_listing(), response=book.response, spider=None
        )
        await turn()
        assert book.outcomes() == ["done"]

    run(act)


def test_a_callback_that_raises_makes_a_dead_letter_when_its_children_are_handled(run: Run) -> None:
    async def act(book: Book) -> None:
        (child,) = await book.read(Request(CHILD), KeyError("id"))
        assert book.ended == []
        await book.schedule(child)
        (ending,) = book.ended
        assert (ending.outcome, ending.detail) == ("dead", "parse: KeyError: 'id'")

    run(act)


def test_a_callback_that_raises_at_once_makes_a_dead_letter(run: Run) -> None:
    """It is not a generator: Scrapy has no output to read."""

    async def act(book: Book) -> None:
        book.middleware.process_spider_input(book.response)
        book.middleware.process_spider_exception(book.response, KeyError("id"))
        await turn()
        assert [ending.detail for ending in book.ended] == ["parse: KeyError: 'id'"]

    run(act)


def test_an_error_that_passes_no_middleware_makes_a_dead_letter(run: Run) -> None:
    async def act(book: Book) -> None:
        book.middleware.process_spider_input(book.response)
        book.middleware.spider_error(Failure(TypeError("invalid")), book.response)  # type: ignore[no-untyped-call]
        await turn()
        assert [ending.detail for ending in book.ended] == ["parse: TypeError: invalid"]

    run(act)


def test_output_of_a_middleware_that_handled_an_error_is_counted_too(run: Run) -> None:
    """Scrapy reads it directly after the output of the callback, as a second output of the same page."""

    async def act(book: Book) -> None:
        book.middleware.process_spider_input(book.response)

        async def nothing() -> AsyncIterator[Any]:
            return
            yield

        async def recovered() -> AsyncIterator[Any]:
            yield a_listing()

        first = book.middleware.process_spider_output(book.response, nothing())
        second = book.middleware.process_spider_output(book.response, recovered())
        assert [each async for each in first] == []
        assert len([each async for each in second]) == 1
        await turn()
        assert book.ended == []
        await book.item_handled()
        assert book.outcomes() == ["done"]

    run(act)


def test_a_page_whose_callback_closes_the_spider_returns_to_the_queue(run: Run) -> None:
    """The store is away for good. Nothing is wrong with the page."""

    async def act(book: Book) -> None:
        await book.read(a_listing(), CloseSpider("store_failed"))
        await book.item_handled()
        assert [(ending.id, ending.outcome) for ending in book.ended] == [(b"id", "back")]

    run(act)


def test_a_callback_that_is_cancelled_has_not_ended(run: Run) -> None:
    async def act(book: Book) -> None:
        with pytest.raises(asyncio.CancelledError):
            await book.read(asyncio.CancelledError())
        await turn()
        assert book.ended == []

    run(act)


def test_an_output_that_is_not_read_to_its_end_keeps_the_page_open(run: Run) -> None:
    async def act(book: Book) -> None:
        async def callback() -> AsyncIterator[Any]:
            yield Request(CHILD)
            yield Request(CHILD)

        book.middleware.process_spider_input(book.response)
        output = book.middleware.process_spider_output(book.response, callback())
        await book.schedule(await anext(output))
        assert book.ended == []
        await output.aclose()  # type: ignore[attr-defined]
        await turn()
        assert book.ended == []

    run(act)


def test_page_done_is_sent_when_all_is_handled_and_before_the_lease_ends(run: Run) -> None:
    seen: list[Any] = []

    async def act(book: Book) -> None:
        def page_done(response: Response, error: Exception | None) -> None:
            seen.append((response is book.response, error, list(book.ended)))

        book.crawler.signals.connect(page_done, signal=signals.page_done)
        await book.read(a_listing())
        assert seen == []
        await book.item_handled()
        assert seen == [(True, None, [])]
        assert book.outcomes() == ["done"]

    run(act)


def test_a_page_without_a_lease_is_not_counted(run: Run) -> None:
    async def act(book: Book) -> None:
        del book.request.meta[LEASE]
        (child,) = await book.read(Request(CHILD))
        assert PARENT not in child.meta
        await book.item_handled()
        assert book.ended == []

    run(act)


def test_a_page_whose_lease_has_ended_is_not_counted(run: Run) -> None:
    """Its callback asked for a retry: the page is read again."""

    async def act(book: Book) -> None:
        book.middleware.process_spider_input(book.response)
        book.ledger.end(book.key, "back")
        await book.output(a_listing())
        await book.item_handled()
        assert book.outcomes() == ["back"]
        assert len(book.pages) == 0

    run(act)


# ----- requests that fail


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (DownloadTimeoutError("slow"), "timeout: DownloadTimeoutError: slow"),
        (OSError("broken"), "download: OSError: broken"),
        (IgnoreRequest("not this"), "ignored: IgnoreRequest: not this"),
    ],
)
def test_a_request_that_fails_without_an_errback_makes_a_dead_letter(run: Run, error: Exception, detail: str) -> None:
    async def act(book: Book) -> None:
        failure = book.failure(error)
        assert book.request.errback is not None
        assert book.request.errback(failure) is failure, "Scrapy logs it as ever"
        assert [(ending.outcome, ending.detail) for ending in book.ended] == [("dead", detail)]

    run(act)


def test_a_status_that_no_errback_takes_makes_a_dead_letter(run: Run) -> None:
    """Scrapy ignores it: the page then yields nothing, and ends well."""

    async def act(book: Book) -> None:
        book.response.status = 500
        book.middleware.process_spider_input(book.response)
        assert book.request.errback is not None
        book.request.errback(book.failure(HttpError(book.response, "Ignoring")))
        assert book.ended == []
        await book.output()
        assert [(ending.outcome, ending.detail) for ending in book.ended] == [("dead", "http: status 500")]

    run(act)


def test_an_errback_that_returns_nothing_settles_the_request(run: Run) -> None:
    async def act(book: Book) -> None:
        errback = LeasedErrback(book.pages, lambda failure: None)
        assert errback(book.failure(OSError("broken"))) is None
        assert book.outcomes() == ["done"]

    run(act)


@pytest.mark.parametrize("form", ["list", "one", "generator", "async generator", "coroutine"])
def test_output_of_an_errback_is_counted(run: Run, form: str) -> None:
    child = Request(CHILD)

    def generator(failure: Failure) -> Any:
        yield child

    async def async_generator(failure: Failure) -> Any:
        yield child

    async def coroutine(failure: Failure) -> Any:
        return [child]

    forms: dict[str, Callable[[Failure], Any]] = {
        "list": lambda failure: [child],
        "one": lambda failure: child,
        "generator": generator,
        "async generator": async_generator,
        "coroutine": coroutine,
    }

    async def act(book: Book) -> None:
        output = LeasedErrback(book.pages, forms[form])(book.failure(OSError("broken")))
        (request,) = [each async for each in output]
        await turn()
        assert book.ended == []
        assert request.meta["job"] == "j"
        await book.schedule(request)
        assert book.outcomes() == ["done"]

    run(act)


def test_an_item_of_an_errback_is_counted(run: Run) -> None:
    async def act(book: Book) -> None:
        failure = book.failure(OSError("broken"))
        output = LeasedErrback(book.pages, lambda failure: [{"any": "item"}])(failure)
        assert len([each async for each in output]) == 1
        await turn()
        assert book.ended == []
        book.middleware.item_settled(failure)  # Scrapy gives the failure in place of the response
        await turn()
        assert book.outcomes() == ["done"]

    run(act)


def test_an_errback_that_raises_makes_a_dead_letter(run: Run) -> None:
    def raises(failure: Failure) -> None:
        raise KeyError("id")

    async def act(book: Book) -> None:
        with pytest.raises(KeyError):
            LeasedErrback(book.pages, raises)(book.failure(OSError("broken")))
        assert [ending.detail for ending in book.ended] == ["download: KeyError: 'id'"]

    run(act)


def test_an_errback_that_closes_the_spider_returns_the_request_to_the_queue(run: Run) -> None:
    def raises(failure: Failure) -> None:
        raise CloseSpider("enough")

    async def act(book: Book) -> None:
        with pytest.raises(CloseSpider):
            LeasedErrback(book.pages, raises)(book.failure(OSError("broken")))
        assert book.outcomes() == ["back"]

    run(act)


def test_an_errback_that_passes_an_http_error_on_makes_a_dead_letter(run: Run) -> None:
    async def act(book: Book) -> None:
        book.response.status = 403
        book.middleware.process_spider_input(book.response)
        LeasedErrback(book.pages, lambda failure: failure)(book.failure(HttpError(book.response, "Ignoring")))
        await book.output()
        assert [ending.detail for ending in book.ended] == ["ban: status 403"]

    run(act)
