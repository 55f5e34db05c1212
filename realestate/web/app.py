"""The server: `create_app` puts the API and the pages together."""

import copy
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from realestate import __version__
from realestate.queue.redis_client import REDIS_ERRORS, error_text
from realestate.searches.check import PUBLIC_RECEIVERS, Receivers
from realestate.storage import FullStore
from realestate.storage.errors import StoreError
from realestate.storage.query import QueryError
from realestate.web import api
from realestate.web.feeds import add_feeds
from realestate.web.json_response import JsonResponse, Refusal, refusal
from realestate.web.keys import Key
from realestate.web.pages.app import add_pages
from realestate.web.pages.render import is_page, problem, sentence_of
from realestate.web.pages.web import Tiles, web_of
from realestate.web.security import Limits, Principal, Security
from realestate.web.stores import Stores

DESCRIPTION = "Property listings of many portals, with their history. Filters: docs/query.md; the API: docs/api.md."


@dataclass(frozen=True, slots=True)
class Services:
    """What requests use; it is `request.app.state.services`."""

    stores: Stores
    redis_url: str | None = None
    simulator: str | None = None
    """The control address of `realestate simulate`, if its portals are crawled."""


def create_app(
    open_store: Callable[[], FullStore],
    redis_url: str | None = None,
    *,
    api_keys: Mapping[str, Key] | None = None,
    rate_limit: str = "",
    tiles: Tiles | None = None,
    simulator: str | None = None,
    timetable: Path | None = None,
    receivers: Receivers = PUBLIC_RECEIVERS,
) -> FastAPI:
    """Return the application. It connects to the store when a request first needs it.

    Without keys everybody who can reach it may read and operate, so it must be reachable from this machine only."""
    services = Services(Stores(open_store), redis_url, simulator)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        services.stores.close()

    app = FastAPI(
        title="realestate",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
    )
    app.state.services = services
    add_feeds(app, services.stores)
    app.state.security = Security(api_keys or {}, rate_limit, redis_url, [_signed_in])
    add_pages(
        app,
        services.stores.ask,
        redis_url,
        keys=api_keys,
        tiles=tiles,
        simulator=simulator,
        timetable=timetable,
        receivers=receivers,
    )
    app.add_api_route("/healthz", healthz, methods=["GET"], include_in_schema=False)
    app.include_router(api.router)
    app.add_middleware(Limits)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(QueryError, _wrong_question)
    app.add_exception_handler(RequestValidationError, _wrong_parameter)
    app.add_exception_handler(HTTPException, _not_found)
    app.add_exception_handler(StoreError, _store_away)
    app.add_exception_handler(Exception, _unexpected)
    for error in REDIS_ERRORS:
        app.add_exception_handler(error, _redis_away)
    return app


async def healthz(request: Request) -> Response:
    """200 if the store responds, 503 otherwise. It says nothing about the data."""
    services: Services = request.app.state.services

    def ask() -> None:
        with services.stores.lent() as store:
            store.server_state()

    try:
        await run_in_threadpool(ask)
    except StoreError:
        return Response("the store does not respond\n", 503, media_type="text/plain")
    return Response("ok\n", media_type="text/plain")


def _signed_in(request: Request) -> Principal | None:
    """Whoever is signed in to the web app may read, also feeds. To change something, a page has a form with a token."""
    sessions = web_of(request).sessions
    session = sessions.of(request) if sessions.are_needed else None
    return None if session is None else Principal(session.name, session.scopes & {"read"})


def openapi_of(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI 3.1 description of the API. docs/openapi.json is this; a test keeps it true."""
    described = copy.deepcopy(app.openapi())
    components = described.setdefault("components", {})
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    components.get("schemas", {}).pop("HTTPValidationError", None)
    components.get("schemas", {}).pop("ValidationError", None)
    if not components.get("schemas"):
        components.pop("schemas", None)
    described["paths"] = {path: each for path, each in described["paths"].items() if path.startswith("/api/")}
    described["security"] = [{"key": []}]
    return described


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return refusal(error)


def _wrong_question(request: Request, error: Exception) -> Response:
    if is_page(request):
        return problem(request, 422, "This cannot be shown", sentence_of(error))
    return JsonResponse({"error": str(error)}, 422)


async def _wrong_parameter(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or "the body"
    why = f"{where}: {first['msg']}"[:500]
    if is_page(request):
        return problem(request, 422, "This address cannot be read", f"{why}.")
    return JsonResponse({"error": why}, 422)


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if is_page(request):
        return problem(request, error.status_code, "There is no such page", "The address may be old, or misspelled.")
    status = 422 if error.status_code == 400 else error.status_code  # a body that cannot be read
    return JsonResponse({"error": str(error.detail)}, status, error.headers)


def _store_away(request: Request, error: Exception) -> Response:
    if is_page(request):
        text = "It is asked again when this page is loaded again. Workers keep what they fetch until it is back."
        return problem(request, 503, "The database is not available", text)
    return JsonResponse({"error": "the store does not respond; try again later"}, 503, {"retry-after": "5"})


def _unexpected(request: Request, error: Exception) -> Response:
    """A fault of ours. The server logs where it happened."""
    if is_page(request):
        return problem(request, 500, "This page cannot be made", "The log of the server says why.")
    return JsonResponse({"error": "internal error: the log of the server says why"}, 500)


def _redis_away(request: Request, error: Exception) -> Response:
    if is_page(request):
        text = f"{error_text(error)[:200]}. Load the page again when it is back."
        return problem(request, 503, "Redis is not available", text)
    return JsonResponse({"error": f"Redis does not respond: {error_text(error)}"[:200]}, 503, {"retry-after": "5"})
