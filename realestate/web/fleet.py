"""What a fleet needs attention for: portals and their health, dead letters, quarantine."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Path, Query, Request

from realestate.jobs.fleet import State, look
from realestate.jobs.release import release_entries
from realestate.jobs.work import all_portals
from realestate.queue.connection import connect_to
from realestate.queue.dead_letters import DeadLetter, DeadLetters
from realestate.queue.redis_client import briefly
from realestate.queue.request_queue import QueueSettings, RequestQueue
from realestate.storage.maintenance import InQuarantine
from realestate.web.json_response import JsonResponse, Refusal
from realestate.web.parameters import (
    FLAG,
    NUMBER,
    OBJECT,
    TEXT,
    Newest,
    Portal,
    PortalFilter,
    a_list,
    an_object,
    redis_of,
    responses,
)
from realestate.web.security import operates, reads
from realestate.web.stores import stores_of

router = APIRouter()
T = TypeVar("T")

LetterId = Annotated[str, Path(description="Id of a dead letter.", pattern="^([0-9a-f]{2}){1,64}$")]
EntryId = Annotated[str, Path(description="Id of an entry.", pattern="^[0-9a-f]{1,128}$")]
#: Replayed requests enter the queue at this rate.
_REPLAYED_PER_SECOND = 5.0


@router.get(
    "/portals",
    tags=["portals"],
    dependencies=[Depends(reads)],
    responses=responses("The portals", an_object(portals=a_list(OBJECT))),
)
def portals(request: Request) -> JsonResponse:
    """The portals: what is stored, queued and running, and whether one is paused."""
    with stores_of(request).lent() as store:
        counts = store.counts()
    names = sorted({*all_portals(), *counts})
    server = redis_of(request) if request.app.state.services.redis_url else None
    return JsonResponse({"portals": [_portal(name, counts.get(name, (0, 0)), server) for name in names]})


def _portal(name: str, counts: tuple[int, int], server: Any) -> dict[str, Any]:
    stored, quarantined = counts
    queue = None if server is None else _queue_of(look(server, name))
    return {"portal": name, "stored": stored, "quarantined": quarantined, "queue": queue}


def _queue_of(state: State) -> dict[str, Any]:
    limit = state.rate_limit
    return {
        "waiting": state.waiting,
        "in_flight": state.in_flight,
        "dead_letters": state.dead,
        "open_jobs": state.open_jobs,
        "workers": len(state.workers),
        "pages_per_second": round(state.pages_per_second, 2),
        "rate_limit": limit.rate,
        "paused": limit.paused,
        "paused_reason": limit.paused_reason or None,
        "robots_problem": limit.robots_reason or None,
        "proxies": dict(state.proxies),
    }


# ----- dead letters


@router.get(
    "/deadletters/{portal}",
    tags=["dead letters"],
    dependencies=[Depends(reads)],
    responses=responses("The newest dead letters", an_object(dead_letters=a_list(OBJECT))),
)
def dead_letters(
    request: Request,
    portal: Portal,
    limit: Newest = 20,
    reason: Annotated[str | None, Query(max_length=50)] = None,
    job: Annotated[str | None, Query(max_length=200)] = None,
) -> JsonResponse:
    """Requests of a portal that failed for good."""
    found = _with_letters(request, portal, lambda letters: letters.newest(limit, reason=reason, job=job))
    return JsonResponse({"dead_letters": [_letter(each) for each in found]})


@router.get(
    "/deadletters/{portal}/{id}",
    tags=["dead letters"],
    dependencies=[Depends(reads)],
    responses=responses("The dead letter", OBJECT, 404),
)
def dead_letter(request: Request, portal: Portal, id: LetterId) -> JsonResponse:
    """One dead letter with all that is known of it."""
    return JsonResponse(_letter(_letter_of(request, portal, id)))


@router.post(
    "/deadletters/{portal}/{id}/replay",
    tags=["dead letters"],
    dependencies=[Depends(operates)],
    responses=responses("How many requests are in the queue again", an_object(replayed=NUMBER), 404),
)
def replay(request: Request, portal: Portal, id: LetterId) -> JsonResponse:
    """Put the request of a dead letter into the queue again."""
    letter = _letter_of(request, portal, id)
    count = _with_letters(request, portal, lambda letters: letters.replay([letter.id], _REPLAYED_PER_SECOND))
    return JsonResponse({"replayed": count})


def _letter_of(request: Request, portal: str, id: str) -> DeadLetter:
    found = _with_letters(request, portal, lambda letters: letters.one(bytes.fromhex(id)))
    if found is None:
        raise Refusal(404, f"there is no dead letter {id} of {portal}")
    return found


def _letter(letter: DeadLetter) -> dict[str, Any]:
    return {"id": letter.id.hex(), "at": letter.at, **letter.details}


def _with_letters(request: Request, portal: str, act: Callable[[DeadLetters], Awaitable[T]]) -> T:
    """Run a function on the dead letters of a portal. It has a connection of its own: this is rare."""
    redis_of(request)
    url = request.app.state.services.redis_url

    async def connect_and_act() -> T:
        server = connect_to(url, briefly())
        try:
            return await act(DeadLetters(RequestQueue(server, portal, QueueSettings())))
        finally:
            await server.aclose()

    return asyncio.run(connect_and_act())


# ----- quarantine


@router.get(
    "/quarantine",
    tags=["quarantine"],
    dependencies=[Depends(reads)],
    responses=responses("Counts by fault, and the newest entries", an_object(faults=OBJECT, entries=a_list(OBJECT))),
)
def quarantine(
    request: Request,
    portal: PortalFilter = None,
    fault: Annotated[str | None, Query(max_length=100)] = None,
    limit: Newest = 20,
) -> JsonResponse:
    """Items that failed validation."""
    with stores_of(request).lent() as store:
        faults = store.faults(portal)
        entries = store.quarantined(portal=portal, fault=fault, limit=limit)
    return JsonResponse({"faults": faults, "entries": [asdict(each) for each in entries]})


@router.get(
    "/quarantine/{id}",
    tags=["quarantine"],
    dependencies=[Depends(reads)],
    responses=responses("The entry", OBJECT, 404),
)
def quarantine_entry(request: Request, id: EntryId) -> JsonResponse:
    """One entry with all its values and errors."""
    with stores_of(request).lent() as store:
        return JsonResponse(asdict(_entry(id, store.quarantined(ids=[id], limit=1))))


@router.post(
    "/quarantine/{id}/release",
    tags=["quarantine"],
    dependencies=[Depends(operates)],
    responses=responses("Whether it was stored, and why not", an_object(id=TEXT, stored=FLAG, why=TEXT), 404),
)
def release(request: Request, id: EntryId) -> JsonResponse:
    """Store an entry as it is, because a person checked that it is right."""
    with stores_of(request).lent() as store:
        entry = _entry(id, store.quarantined(ids=[id], limit=1))
        (outcome,) = release_entries(store, [entry])
    return JsonResponse(asdict(outcome))


def _entry(id: str, found: Any) -> InQuarantine:
    for each in found:
        entry: InQuarantine = each
        return entry
    raise Refusal(404, f"there is no entry {id} in quarantine")
