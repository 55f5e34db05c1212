"""Parts of a page that are sent again when they change: Server-Sent Events."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

import msgspec
from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from realestate.web.pages.site import LIVE_SECONDS
from realestate.web.pages.web import web_of

#: An empty line is sent after this time, so that a lost connection is noticed at both ends.
QUIET_SECONDS = 15.0


def stream(request: Request, parts: Callable[[], Mapping[str, str]]) -> StreamingResponse:
    """Send the parts, by the id of their element, and each of them again whenever it changes."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_events(request, parts), media_type="text/event-stream", headers=headers)


async def _events(request: Request, parts: Callable[[], Mapping[str, str]]) -> AsyncIterator[bytes]:
    """Until the reader leaves, or the session ends: then the browser asks again, and is sent to the sign-in."""
    sessions = web_of(request).sessions
    has_session = sessions.of(request) is not None
    sent: dict[str, str] = {}
    quiet = 0.0
    yield b"retry: 2000\n\n"
    while not await request.is_disconnected() and not (has_session and sessions.of(request) is None):
        for id, html in (await run_in_threadpool(parts)).items():
            if sent.get(id) != html:
                sent[id] = html
                quiet = 0.0
                yield b"event: part\ndata: " + msgspec.json.encode({"id": id, "html": html}) + b"\n\n"
        await asyncio.sleep(LIVE_SECONDS)
        quiet += LIVE_SECONDS
        if quiet >= QUIET_SECONDS:
            quiet = 0.0
            yield b": still here\n\n"
