"""Events by their numbers: pages, a long poll, and a stream (Server-Sent Events)."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from realestate.storage.errors import StoreError
from realestate.storage.history import EventFilter, EventType
from realestate.storage.store import Numbered
from realestate.web.json_response import JsonResponse, encoded
from realestate.web.parameters import NUMBER, OBJECT, PortalFilter, a_list, an_object, responses
from realestate.web.security import reads
from realestate.web.stores import stores_of

router = APIRouter(prefix="/events", tags=["events"], dependencies=[Depends(reads)])

#: How often the store is asked for new events while a client waits.
LOOK_SECONDS = 0.5
#: A comment is sent this often on a silent stream, so that nothing between closes it.
COMMENT_SECONDS = 15.0
_LARGEST_NUMBER = 2**63 - 1
_TOGETHER = 500

After = Annotated[int, Query(ge=0, le=_LARGEST_NUMBER, description="Number of the last event that is known.")]
Type = Annotated[EventType | None, Query(description="Only events of this type.")]


@router.get("", responses=responses("The next events", an_object(events=a_list(OBJECT), last=NUMBER)))
async def events(
    request: Request,
    after: After = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    portal: PortalFilter = None,
    type: Type = None,
    wait: Annotated[float, Query(ge=0, le=30, description="How many seconds to wait for an event.")] = 0,
) -> JsonResponse:
    """The next events after a number, in their order. Whoever passes the last number it saw misses none."""
    wanted = EventFilter(portal=portal, type=type)
    found = await _next(request, after, limit, wanted)
    with suppress(TimeoutError):
        async with asyncio.timeout(wait):
            while not found and wait > 0 and not await request.is_disconnected():
                await asyncio.sleep(LOOK_SECONDS)
                found = await _next(request, after, limit, wanted)
    last = found[-1].seq if found else after
    return JsonResponse({"events": [described(each) for each in found], "last": last})


@router.get(
    "/stream",
    responses=responses("The stream", OBJECT)
    | {200: {"description": "The stream", "content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream(
    request: Request,
    after: Annotated[
        int | None, Query(ge=0, le=_LARGEST_NUMBER, description="Number of the last known event; none: from now on.")
    ] = None,
    portal: PortalFilter = None,
    type: Type = None,
    last_event_id: Annotated[int | None, Header(ge=0, le=_LARGEST_NUMBER)] = None,
) -> StreamingResponse:
    """All events from now on, or after a number, as Server-Sent Events. A client that reconnects misses none."""
    start = last_event_id if last_event_id is not None else after
    if start is None:
        start = await run_in_threadpool(_last, request)
    pieces = _stream(request, start, EventFilter(portal=portal, type=type))
    return StreamingResponse(pieces, media_type="text/event-stream")


def described(numbered: Numbered) -> dict[str, Any]:
    """The event as JSON values."""
    event = numbered.event
    return {
        "number": numbered.seq,
        "portal": event.portal,
        "ref": event.ref,
        "revision": event.revision,
        "type": event.type,
        "at": event.at,
        "job": event.job,
        "data": event.data,
    }


async def _stream(request: Request, after: int, wanted: EventFilter) -> AsyncIterator[bytes]:
    silent = 0.0
    yield b": connected\n\n"
    while not await request.is_disconnected():
        try:
            found = await _next(request, after, _TOGETHER, wanted)
        except StoreError:
            return  # the client connects again, and gets the reason
        for each in found:
            yield b"id: %d\nevent: %s\ndata: %s\n\n" % (each.seq, each.event.type.encode(), encoded(described(each)))
        if found:
            after = found[-1].seq
            silent = 0.0
            continue
        await asyncio.sleep(LOOK_SECONDS)
        silent += LOOK_SECONDS
        if silent >= COMMENT_SECONDS:
            yield b": nothing new\n\n"
            silent = 0.0


async def _next(request: Request, after: int, limit: int, wanted: EventFilter) -> Sequence[Numbered]:
    def ask() -> Sequence[Numbered]:
        with stores_of(request).lent() as store:
            return store.events(after, limit, wanted)

    return await run_in_threadpool(ask)


def _last(request: Request) -> int:
    with stores_of(request).lent() as store:
        return store.last_event()
