"""Adds the pages to the server."""

from fastapi import FastAPI

from realestate.web.pages import access, routes_listing, routes_listings, routes_operations, routes_overview, static
from realestate.web.pages.web import Web


def add_pages(app: FastAPI, web: Web) -> None:
    """Add all pages, the sign-in and the static files."""
    app.state.web = web
    for each in (static.router, access.router, routes_overview.router, routes_listings.router, routes_listing.router, routes_operations.router):
        app.include_router(each)
    app.add_exception_handler(access.SignInNeeded, access.to_sign_in)
    app.add_exception_handler(access.NotAllowed, access.refuse)
