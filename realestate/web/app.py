"""The server: `create_app` puts API and pages together."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from realestate import __version__
from realestate.storage import FullStore
from realestate.storage.errors import StoreError
from realestate.web.feeds import add_feeds
from realestate.web.keys import Key
from realestate.web.pages.app import add_pages
from realestate.web.pages.web import Tiles
from realestate.web.stores import Stores


@dataclass(frozen=True, slots=True)
class Services:
    """What requests use; it is `request.app.state.services`."""

    stores: Stores
    redis_url: str | None = None


def create_app(
    open_store: Callable[[], FullStore],
    redis_url: str | None = None,
    *,
    api_keys: Mapping[str, Key] | None = None,
    tiles: Tiles | None = None,
    simulator: str | None = None,
) -> FastAPI:
    """Return the application. It connects to the store when a request first needs it. Without keys everybody who can
    reach it may read and operate, so it must be reachable from this machine only."""
    services = Services(Stores(open_store), redis_url)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        services.stores.close()

    app = FastAPI(
        title="realestate",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        lifespan=lifespan,
    )
    app.state.services = services
    add_feeds(app, services.stores)
    add_pages(app, services.stores.ask, redis_url, keys=api_keys, tiles=tiles, simulator=simulator)
    app.add_api_route("/healthz", healthz, methods=["GET"], include_in_schema=False)
    return app


def services_of(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


async def healthz(request: Request) -> Response:
    """200 if the store responds, 503 otherwise. It says nothing about the data."""

    def ask() -> None:
        with services_of(request).stores.lent() as store:
            store.server_state()

    try:
        await run_in_threadpool(ask)
    except StoreError:
        return Response("the store does not respond\n", 503, media_type="text/plain")
    return Response("ok\n", media_type="text/plain")
