"""Run today's parser over kept raw pages. Nothing is fetched, and no event of the market is made."""

import asyncio
import inspect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Literal, Protocol, runtime_checkable
from uuid import uuid4

from scrapy import Request
from scrapy.exceptions import DropItem
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import build_from_crawler, load_object

from realestate.items import Listing
from realestate.jobs.work import project_settings, without_crawl
from realestate.storage.changes import correct
from realestate.storage.maintenance import SLACK, Current
from realestate.storage.snapshots import Kind, Page, SnapshotRef

#: The one pipeline that does not run here: what was parsed goes to the store as corrections.
STORING = "realestate.pipelines.store.StorePipeline"
BATCH = 500
#: Changes that are listed one by one; all are counted.
CHANGES_LISTED = 1000

#: Some stores keep times to the millisecond.
_SAME_TIME = timedelta(milliseconds=1)

Verdict = Literal["correct", "release", "stale"]


@runtime_checkable
class Corrections(Protocol):
    """The methods of a store that reparsing uses: see `Store` and `MaintenanceStore`."""

    def current(self, portal: str, refs: Sequence[str]) -> Mapping[str, Current]: ...

    def correct(self, listings: Sequence[Listing], job: str) -> Mapping[str, int]: ...

    def release(self, listings: Sequence[Listing], job: str) -> Mapping[str, int]: ...

    def medians(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Change:
    """One field of one listing, as it was stored and as it is read now."""

    ref: str
    name: str
    old: Any
    new: Any


@dataclass(slots=True)
class Reparsed:
    """The result of reparsing."""

    portal: str
    job: str
    pages: Counter[str] = field(default_factory=Counter)
    """By outcome: ok, broken, gone."""

    listings: Counter[str] = field(default_factory=Counter)
    """By outcome: unchanged, corrected, released, erased, refused, invalid, dropped, stale."""

    fields: Counter[str] = field(default_factory=Counter)
    """Corrections by field."""

    changes: list[Change] = field(default_factory=list)
    """The first of them, one by one."""

    broken: list[tuple[str, str]] = field(default_factory=list)
    """Addresses that still cannot be read, and why; the first of them."""


@dataclass(frozen=True, slots=True)
class _Found:
    kind: Kind
    listing: Listing


def reparse(
    portal: str, pages: Iterable[tuple[SnapshotRef, Page]], store: Corrections, *, dry_run: bool = False
) -> Reparsed:
    """Parse the pages with today's parser, and write the differences to the store. A second call changes nothing."""
    result = Reparsed(portal, f"reparse-{uuid4().hex[:12]}")
    parser = Parser(portal)
    parser.prepare(store)
    found = _found(parser, pages, result)
    while batch := list(islice(found, BATCH)):
        _write(batch, store, result, dry_run)
    return result


def judge(kind: Kind, fetched_at: datetime, stored: Listing | None) -> Verdict:
    """Whether a raw page may change what is stored.

    A good page was stored at once, so it may correct only the row made from it. If the listing was read again since, or
    is not stored any more, the page is stale. A failed page made no row, unless it was released since, with its own
    time. It counts unless the stored row is newer."""
    read_at = stored.last_fetched_at if stored else None
    if kind != "failed":
        return "correct" if read_at is not None and abs(read_at - fetched_at) <= SLACK else "stale"
    if read_at is not None and abs(read_at - fetched_at) <= _SAME_TIME:
        return "correct"
    return "release" if read_at is None or read_at < fetched_at else "stale"


def differences(current: Current, listing: Listing, now: datetime) -> list[Change]:
    """The changes that the store would correct, by the same rule."""
    events = correct(current.state, listing, "", now, repriced=current.repriced).events
    return [
        Change(listing.ref, name, old, new)
        for event in events
        if event.type == "corrected"
        for name, (old, new) in event.data["fields"].items()
    ]


def response_of(page: Page) -> Response:
    """The response as the spider received it, of the same class."""
    headers = Headers()
    for name, value in page.headers:
        headers.appendlist(name.encode("latin-1"), value.encode("latin-1"))
    kind = responsetypes.from_args(headers=headers, url=page.url, body=page.body)
    request = Request(page.url, cb_kwargs=dict(page.hints), meta={"stage": page.stage, "job": page.job})
    return kind(page.url, status=page.status, headers=headers, body=page.body, request=request)


class Parser:
    """A portal's spider and the pipelines before the store, without a crawl around them."""

    def __init__(self, portal: str) -> None:
        settings = project_settings()
        crawler = without_crawl(portal, settings)
        self.spider: Any = crawler.spider
        paths = build_component_list(settings.get_component_priority_dict_with_base("ITEM_PIPELINES"))
        self._steps = [build_from_crawler(load_object(path), crawler) for path in paths if path != STORING]

    def prepare(self, store: Any) -> None:
        """Let pipelines read what they need from the store, once. In a crawl they do so from time to time."""
        for step in self._steps:
            if hasattr(step, "prepare"):
                step.prepare(store)

    def items(self, page: Page) -> Iterator[Any]:
        """What the page's parser yields; raises what the page is instead."""
        yield from self.spider.parsed(response_of(page), page.stage, **page.hints)

    def through_pipelines(self, item: Any) -> Any:
        for step in self._steps:
            item = step.process_item(item)
            if inspect.isawaitable(item):
                item = asyncio.run(item)  # type: ignore[arg-type]
        return item


def _found(parser: Parser, pages: Iterable[tuple[SnapshotRef, Page]], result: Reparsed) -> Iterator[_Found]:
    for ref, page in pages:
        try:
            listings = [item for item in parser.items(page) if isinstance(item, Listing)]
        except Exception as error:  # whatever a kept page does to a parser, the next one is read
            outcome = getattr(error, "outcome", "broken")
            result.pages[outcome] += 1
            if outcome == "broken" and len(result.broken) < CHANGES_LISTED:
                result.broken.append((ref.url, f"{type(error).__name__}: {error}"))
            continue
        result.pages["ok"] += 1
        for listing in listings:
            if good := _good(parser, listing, result):
                yield _Found(page.kind, replace(good, last_fetched_at=page.fetched_at))


def _good(parser: Parser, listing: Listing, result: Reparsed) -> Listing | None:
    try:
        made = parser.through_pipelines(listing)
    except DropItem:
        result.listings["dropped"] += 1
        return None
    if isinstance(made, Listing):
        return made
    result.listings["invalid"] += 1
    return None


def _write(batch: Sequence[_Found], store: Corrections, result: Reparsed, dry_run: bool) -> None:
    stored = store.current(result.portal, sorted({found.listing.ref for found in batch}))
    corrected: dict[str, Listing] = {}
    released: list[Listing] = []
    for found in batch:
        listing = found.listing
        row = stored.get(found.listing.ref)
        assert listing.last_fetched_at is not None
        verdict = judge(found.kind, listing.last_fetched_at, row.state.listing if row else None)
        if verdict == "release":
            released.append(listing)
        elif verdict == "stale":
            result.listings["stale"] += 1
        elif row is not None and _note(result, differences(row, listing, listing.last_fetched_at)):
            corrected[listing.ref] = listing
    if dry_run:
        result.listings.update(corrected=len(corrected), released=len(released))
        return
    if corrected:
        result.listings.update(store.correct(list(corrected.values()), result.job))
    if released:
        result.listings.update(store.release(sorted(released, key=_fetched_at), result.job))


def _fetched_at(listing: Listing) -> str:
    return str(listing.last_fetched_at)


def _note(result: Reparsed, changes: Sequence[Change]) -> bool:
    """Whether anything changed."""
    if not changes:
        result.listings["unchanged"] += 1
    result.fields.update(change.name for change in changes)
    result.changes.extend(changes[: CHANGES_LISTED - len(result.changes)])
    return bool(changes)
