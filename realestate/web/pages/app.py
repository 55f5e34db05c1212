"""Adds the pages to the server."""

from collections.abc import Mapping
from pathlib import Path

from fastapi import FastAPI

from realestate.queue.connection import connect_blocking
from realestate.searches.check import PUBLIC_RECEIVERS, Receivers
from realestate.web.keys import Key
from realestate.web.pages import (
    access,
    routes_listing,
    routes_listings,
    routes_market,
    routes_operations,
    routes_overview,
    routes_searches,
    static,
)
from realestate.web.pages.sessions import Sessions, signers_of
from realestate.web.pages.site import Ask, Site
from realestate.web.pages.web import Tiles, Web

ROUTERS = (
    static.router,
    access.router,
    routes_overview.router,
    routes_listings.router,
    routes_searches.router,
    routes_listing.router,
    routes_market.router,
    routes_operations.router,
)


def add_pages(
    app: FastAPI,
    ask: Ask,
    redis_url: str | None,
    *,
    keys: Mapping[str, Key] | None = None,
    tiles: Tiles | None = None,
    simulator: str | None = None,
    timetable: Path | None = None,
    receivers: Receivers = PUBLIC_RECEIVERS,
) -> None:
    """Add all pages, the sign-in and the static files. Without keys everybody is signed in."""
    server = connect_blocking(redis_url) if redis_url else None
    site = Site(ask, server, simulator, timetable)
    app.state.web = Web(site, redis_url or "", Sessions(signers_of(keys or {})), keys or {}, tiles, receivers)
    for each in ROUTERS:
        app.include_router(each)
    app.add_exception_handler(access.SignInNeeded, access.to_sign_in)
    app.add_exception_handler(access.NotAllowed, access.refuse)
