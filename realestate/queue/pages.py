"""Counts what the callback of a leased page yields, until all of it has been handled.

Only public hooks of Scrapy are used. A request that was yielded has been handled when the engine is asked to schedule
it (signal `request_scheduled`): directly after that it is in the scheduler, or a middleware has dropped it. An item has
been handled when it is scraped, dropped or has failed. Scrapy reads a callback ahead of what it handles, so the end of
the callback alone means nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from scrapy import Request
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from scrapy.signalmanager import SignalManager
from scrapy.utils.asyncgen import as_async_generator
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.spider import iterate_spider_output
from twisted.python.failure import Failure

from realestate.queue import signals
from realestate.queue.dead_letters import Reason
from realestate.queue.engine import LEASE
from realestate.queue.failures import reason_of, text_of
from realestate.queue.ledger import Ledger
from realestate.queue.packing import PARENT
from realestate.queue.page_budget import PageTooSlow, Steps

#: What every request of a job carries. The priority of the job is added to that of the request.
INHERITED = ("job", "mode", "job_priority", "limit", "filter", "pages")

GiveUp = Callable[[Reason, str, Request], None]
Gate = Callable[[], Awaitable[None] | None]


def _nothing(key: object) -> None:
    """Count no CPU time."""


@dataclass(slots=True)
class Page:
    """A leased request whose callback or errback is running, or whose output is on its way."""

    request: Request
    response: Response | None
    """None for a request that failed: its errback is running."""
    outputs: int = 0
    """Iterators over the output that have not ended. Scrapy starts a second one when a middleware handles an error."""
    unsettled: int = 0
    """Requests and items that were yielded and have not been handled."""
    error: BaseException | None = None


class Pages:
    """All leased pages of this process that are being read, by the key of their lease."""

    def __init__(
        self,
        ledger: Ledger,
        give_up: GiveUp,
        signal_manager: SignalManager,
        enter: Callable[[object], None] = _nothing,
    ) -> None:
        self._ledger = ledger
        self._enter = enter
        """Called with the key of a lease before code of its page runs."""
        self._give_up = give_up
        self._signals = signal_manager
        self._pages: dict[str, Page] = {}
        self._gates: list[Gate] = []

    def add_gate(self, gate: Gate) -> None:
        """Before each page is read, `gate` is called. If it returns something to wait for, the page waits."""
        self._gates.append(gate)

    def __len__(self) -> int:
        return len(self._pages)

    def begin(self, response: Response) -> None:
        """The response of a leased request has reached the spider."""
        key = lease_of(response)
        if key is not None and response.request is not None and self._ledger.get(key) is not None:
            self._pages[key] = Page(response.request, response)
            self._enter(key)

    def drop(self, key: str) -> None:
        """The page is abandoned: what it still yields is not counted."""
        self._pages.pop(key, None)

    def is_being_read(self, key: object) -> bool:
        return key in self._pages

    async def count(self, key: str, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass on the output of a page, and count it."""
        page = self._pages[key]
        page.outputs += 1
        for gate in self._gates:
            if (waiting := gate()) is not None:
                await waiting
        iterator = aiter(result)
        enter = partial(self._enter, key)
        try:
            while True:
                try:
                    each = await Steps(anext(iterator), enter)
                except StopAsyncIteration:
                    break
                if each is None:
                    continue
                child = mark_child(each, page.request.meta) if isinstance(each, Request) else each
                page.unsettled += 1
                yield child
        except Exception as error:
            page.error = error
            self._output_ended(key, page)
            raise
        # An iterator that is closed or cancelled has not ended: its page is not acknowledged.
        self._output_ended(key, page)

    def request_scheduled(self, request: Request) -> None:
        """A request that a page yielded is in the scheduler directly after this, or was dropped."""
        key = request.meta.get(PARENT)
        if key is not None and (page := self._pages.get(key)) is not None:
            self._one_settled(key, page)

    def item_settled(self, response: Response | Failure | None) -> None:
        """An item of a page has left the pipelines, stored, dropped or failed."""
        key = lease_of(response)
        if key is not None and (page := self._pages.get(key)) is not None:
            self._one_settled(key, page)

    def callback_failed(self, response: Response | Failure | None, error: BaseException) -> None:
        """The callback of a page raised, and no middleware handled it."""
        key = lease_of(response)
        if key is None or (page := self._pages.get(key)) is None:
            return
        page.error = error
        if not page.outputs:
            self._check_soon(key, page)

    def call_errback(self, failure: Failure, errback: Callable[[Failure], Any] | None) -> Any:
        """Run the errback of a leased request, count what it yields, and give up the request if it is not handled.

        The output of an errback passes the spider middlewares only if a response had reached them.
        """
        request: Request = failure.request  # type: ignore[attr-defined]
        key = lease_of(failure)
        passes_middlewares = self.is_being_read(key)
        if key is None or self._ledger.get(key) is None:
            return failure if errback is None else errback(failure)
        output: Any = failure
        self._enter(key)
        if errback is not None:
            try:
                output = errback(failure)
            except Exception as error:
                if not passes_middlewares or error is failure.value:
                    self._errback_failed(key, request, failure, error)
                raise
        if isinstance(output, Failure):
            self._errback_failed(key, request, failure, output.value)
            return output
        if passes_middlewares:
            return output
        if output is None:
            self._ledger.finished(key)
            return None
        self._pages[key] = Page(request, None)
        return self.count(key, _iterated(output))

    def _errback_failed(self, key: str, request: Request, failure: Failure, error: BaseException | None) -> None:
        if isinstance(error, CloseSpider):
            self._ledger.end(key, "back")
            return
        self._give_up(reason_of(failure.value), text_of(error), request)
        if not self.is_being_read(key):
            self._ledger.finished(key)

    def _one_settled(self, key: str, page: Page) -> None:
        page.unsettled -= 1
        if not page.outputs:
            self._check_soon(key, page)

    def _output_ended(self, key: str, page: Page) -> None:
        page.outputs -= 1
        self._check_soon(key, page)

    def _check_soon(self, key: str, page: Page) -> None:
        """Not at once: other handlers of the same signal may still hold the lease, the scheduler has not got the
        request yet, and Scrapy may start a second output directly after the first."""
        asyncio.get_running_loop().call_soon(self._check, key, page)

    def _check(self, key: str, page: Page) -> None:
        if page.outputs > 0 or page.unsettled > 0 or self._pages.get(key) is not page:
            return
        del self._pages[key]
        if page.response is not None:
            self._signals.send_catch_log(signals.page_done, response=page.response, error=page.error)
        if isinstance(page.error, CloseSpider):  # the page is not at fault: another worker will read it
            self._ledger.end(key, "back")
            return
        if isinstance(page.error, PageTooSlow):
            self._give_up("too_slow", text_of(page.error), page.request)
        elif page.error is not None:
            self._give_up("parse", text_of(page.error), page.request)
        self._ledger.finished(key)


class LeasedErrback:
    """The errback that every leased request has while it is in this process. It calls the request's own, if any."""

    __slots__ = ("_pages", "wrapped")

    def __init__(self, pages: Pages, wrapped: Callable[[Failure], Any] | None) -> None:
        self._pages = pages
        self.wrapped = wrapped

    def __call__(self, failure: Failure) -> Any:
        return self._pages.call_errback(failure, self.wrapped)


def mark_child(child: Request, meta: dict[str, Any]) -> Request:
    """The request that a page with this meta yielded, with the job of its page and the key of its page's lease."""
    if PARENT in child.meta:
        child = child.copy()  # the same object was yielded before, and each is counted by itself
        del child.meta[PARENT]
    # A child whose author gave it the whole meta of the page must not be taken for the page itself.
    child.meta.pop(LEASE, None)
    for name in INHERITED:
        if name in meta:
            child.meta[name] = meta[name]
    if key := meta.get(LEASE):
        child.meta[PARENT] = key
    child.priority += meta.get("job_priority", 0)
    return child


def lease_of(response: Response | Failure | None) -> str | None:
    """The key of the lease of a response or of a failed request; None if it has none."""
    request: Request | None = getattr(response, "request", None)
    return request.meta.get(LEASE) if request is not None else None


async def _iterated(output: Any) -> AsyncIterator[Any]:
    """Return the result of an errback, of any type, as an asynchronous iterator."""
    result = await ensure_awaitable(iterate_spider_output(output))
    async for each in result if isinstance(result, AsyncIterator) else as_async_generator(result):
        yield each
