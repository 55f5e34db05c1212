"""The routes of operations. Each act needs the scope `operate` and a form of our own, and is logged."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Form, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from realestate.items import PropertyType
from realestate.jobs.manage import JobConflict, NoSuchJobId
from realestate.jobs.order import BadOrder, read_order
from realestate.jobs.release import release_entries
from realestate.jobs.submit import submit as push_job
from realestate.jobs.work import all_portals, why_refused
from realestate.queue.dead_letters import DeadLetters
from realestate.queue.redis_client import REDIS_ERRORS
from realestate.storage.coverage import COVERED, FieldCoverage
from realestate.web.pages import operations as model
from realestate.web.pages import quality
from realestate.web.pages.access import Actor, NotAllowed, Operator, log_act
from realestate.web.pages.jobs import MODES, NoRedis, with_desk
from realestate.web.pages.live import stream
from realestate.web.pages.render import fragment, page
from realestate.web.pages.sessions import Session
from realestate.web.pages.web import web_of

router = APIRouter(include_in_schema=False)
#: The acts of one form are at most this many.
MOST_CHOSEN = 500
REPLAYED_PER_SECOND = 10.0
#: The fields of the form of a job.
_ORDERED = ("portal", "mode", "operation", "type", "city", "limit")
#: What the template of the field coverage calls.
_COVERAGE: Mapping[str, Any] = {
    "coverage_fields": tuple(map(quality.word_of, COVERED)),
    "coverage_cells": quality.cells,
}
Chosen = Annotated[list[str] | None, Form(max_length=MOST_CHOSEN)]


@router.get("/operations")
async def show(request: Request, session: Operator, did: str = "", kind: str = "good") -> Response:
    web = web_of(request)
    found = await run_in_threadpool(lambda: model.read_operations(web.site, web.site.fleet.now()))
    with suppress(*REDIS_ERRORS):  # the page says then that Redis is not available
        found = replace(found, letters=await model.newest_letters(web.redis_url, found.fleet))
    return page(
        request,
        "operations.html",
        session,
        path="/operations",
        live="/live/operations",
        of=found,
        did=session.read(did),
        kind="bad" if kind == "bad" else "good",
        all_portals=all_portals(),
        modes=MODES,
        property_types=get_args(PropertyType),
        **_COVERAGE,
    )


@router.get("/live/operations")
def live(request: Request, session: Operator) -> Response:
    def parts() -> Mapping[str, str]:
        site = web_of(request).site
        found = model.read_operations(site, site.fleet.get())
        names = ("queues", "workers", "jobs", "timetable", "coverage")
        return {name: fragment(request, f"operations_{name}.html", session, of=found, **_COVERAGE) for name in names}

    return stream(request, parts)


@router.get("/operations/coverage/{portal}.csv")
def download_coverage(request: Request, portal: str, session: Operator) -> Response:
    headers = {"Content-Disposition": 'attachment; filename="coverage.csv"'}
    return Response(quality.as_csv(_days_of(request, portal)), headers=headers, media_type="text/csv; charset=utf-8")


@router.get("/operations/coverage/{portal}")
def show_coverage(request: Request, portal: str, session: Operator) -> Response:
    """The fields of one portal, day by day."""
    days = _days_of(request, portal)
    if not days:
        text = f"No page of {portal[:50]!r} was read in the last {quality.DAYS} days."
        return page(request, "problem.html", session, status=404, title="Nothing to count", text=text)
    return page(
        request,
        "coverage.html",
        session,
        path="/operations",
        portal=portal,
        days=days,
        fields=COVERED,
        charts=quality.charts(days),
    )


def _days_of(request: Request, portal: str) -> Sequence[FieldCoverage]:
    return quality.by_portal(web_of(request).site.coverage.get()).get(portal, ())


@router.post("/operations/portals/{portal}/pause")
async def pause(
    request: Request, portal: str, session: Actor, reason: Annotated[str, Form(max_length=200)] = ""
) -> Response:
    _check_portal(portal)
    who = session.name or "web"
    await model.with_queue(web_of(request).redis_url, portal, lambda queue: queue.pause(reason, who))
    log_act(session, "pause", portal=portal, reason=reason)
    return _back(session, f"{portal} is paused on all workers.", "queues")


@router.post("/operations/portals/{portal}/resume")
async def resume(request: Request, portal: str, session: Actor) -> Response:
    _check_portal(portal)
    await model.with_queue(web_of(request).redis_url, portal, lambda queue: queue.resume())
    log_act(session, "resume", portal=portal)
    return _back(session, f"{portal} goes on.", "queues")


@router.post("/operations/dead-letters/{act}")
async def act_on_letters(request: Request, act: str, session: Actor, chosen: Chosen = None) -> Response:
    """Replay or drop dead letters. Each is named as `<portal>/<id>`."""
    if act not in ("replay", "drop"):
        raise NotAllowed(f"dead letters can be replayed or dropped, not {act!r}")
    ids = _by_portal(chosen or [])
    count = 0
    for portal, own in ids.items():
        count += await model.with_queue(
            web_of(request).redis_url,
            portal,
            lambda queue, own=own: (  # type: ignore[misc]
                DeadLetters(queue).replay(own, REPLAYED_PER_SECOND) if act == "replay" else DeadLetters(queue).drop(own)
            ),
        )
    log_act(session, f"dead_letters/{act}", portals=sorted(ids), count=count)
    if not ids:
        return _back(session, "Nothing was chosen: tick dead letters first.", "letters", "bad")
    words = "in the queue again" if act == "replay" else "deleted"
    return _back(session, f"{count} {'dead letter is' if count == 1 else 'dead letters are'} {words}.", "letters")


@router.post("/operations/quarantine/{act}")
def act_on_entries(request: Request, act: str, session: Actor, chosen: Chosen = None) -> Response:
    """Fetch the pages of entries again, release entries as they are, or drop them."""
    if act not in ("replay", "release", "drop"):
        raise NotAllowed(f"entries can be replayed, released or dropped, not {act!r}")
    ask = web_of(request).site.ask
    if not chosen:
        return _back(session, "Nothing was chosen: tick entries first.", "quarantine", "bad")
    if act == "replay":
        return _replay(request, session, chosen)
    if act == "drop":
        count = ask(lambda store: store.drop_quarantined(chosen))
        message = f"{count} {'entry is' if count == 1 else 'entries are'} deleted."
        kind = "good"
    else:
        outcomes = ask(lambda store: release_entries(store, store.quarantined(ids=chosen, limit=len(chosen))))
        count = sum(each.stored for each in outcomes)
        refused = next((each.why for each in outcomes if not each.stored), "")
        message = f"{count} of {len(outcomes)} stored." + (f" Not stored: {refused}" if refused else "")
        kind = "bad" if refused else "good"
    log_act(session, f"quarantine/{act}", count=count)
    return _back(session, message, "quarantine", kind)


def _replay(request: Request, session: Session, chosen: Sequence[str]) -> Response:
    """Fetch the pages of the entries again: one job for each portal. The entries leave quarantine with it; a page that
    fails again comes back."""
    site = web_of(request).site
    server = site.server
    if server is None:
        return _back(session, "Not fetched: REDIS_URL is not set.", "quarantine", "bad")
    pages: dict[str, dict[str, str]] = {}
    problem = ""
    for entry in site.ask(lambda store: store.quarantined(ids=chosen, limit=len(chosen))):
        _check_portal(entry.portal)
        if why := why_refused(entry.portal, entry.url, site.simulator):
            problem = f" Not fetched: {entry.portal} {entry.ref}: {why}"
        else:
            pages.setdefault(entry.portal, {})[entry.id] = entry.url
    for portal, own in pages.items():
        push_job(server, portal, dict.fromkeys(own.values()))
    done = [id for own in pages.values() for id in own]
    count = site.ask(lambda store: store.drop_quarantined(done)) if done else 0
    log_act(session, "quarantine/replay", portals=sorted(pages), count=count)
    message = f"{count} {'page is' if count == 1 else 'pages are'} fetched again."
    return _back(session, message + problem, "quarantine", "bad" if problem else "good")


@router.post("/operations/jobs")
async def submit(request: Request, session: Actor) -> Response:
    """Submit a job from the form. What the portal cannot do is said above the form."""
    form = await request.form()
    given = {name: str(value).strip() for name, value in form.items() if name in _ORDERED and str(value).strip()}
    content: dict[str, object] = {**given}
    if "limit" in given:
        content["limit"] = int(given["limit"]) if given["limit"].isdecimal() else given["limit"]
    try:
        order = read_order(content)
        done = await run_in_threadpool(with_desk, web_of(request).site, lambda desk: desk.submit(order))
    except (BadOrder, JobConflict, NoRedis) as error:
        return _back(session, f"Not submitted: {error}", "submit", "bad")
    log_act(session, "submit", job=done.job, **given)
    later = f" {' and '.join(done.checked_later)} is checked on each result." if done.checked_later else ""
    return _back(session, f"Job {done.job} of {done.portal} is submitted.{later}", "jobs")


@router.post("/operations/jobs/{portal}/{job}/cancel")
def cancel(request: Request, portal: str, job: str, session: Actor) -> Response:
    reason = f"cancelled on the web page by {session.name}" if session.name else "cancelled on the web page"
    try:
        with_desk(web_of(request).site, lambda desk: desk.cancel(job, reason, portal=portal))
    except (NoSuchJobId, JobConflict, NoRedis) as error:
        return _back(session, f"Not cancelled: {error}", "jobs", "bad")
    log_act(session, "cancel", job=job, portal=portal)
    return _back(session, f"Job {job} of {portal} is cancelled.", "jobs")


def _check_portal(portal: str) -> None:
    if portal not in all_portals():
        raise NotAllowed(f"there is no portal {portal[:50]!r}")


def _by_portal(chosen: Sequence[str]) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for each in chosen:
        portal, _, id = each.partition("/")
        _check_portal(portal)
        try:
            found.setdefault(portal, []).append(bytes.fromhex(id))
        except ValueError:
            raise NotAllowed(f"{each[:80]!r} is not a dead letter") from None
    return found


def _back(session: Session, message: str, section: str, kind: str = "good") -> Response:
    """To the page again, which says what was done."""
    return RedirectResponse(f"/operations?did={session.write(message)}&kind={kind}#{section}", 303)
