"""The Atom feeds of saved searches. The address of a feed has the id of its search, 128 random bits: whoever knows it
may read the feed, as readers of feeds send no keys."""

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from realestate.searches.feed import MEDIA_TYPE, feed_of
from realestate.storage.errors import StoreAway
from realestate.web.stores import Stores


def add_feeds(app: FastAPI, stores: Stores) -> None:
    """Serve /feeds/<id>.atom."""

    def read(id: str, address: str) -> bytes | None:
        with stores.lent() as store:
            search = next((each for each in store.searches() if each.id == id), None)
            return None if search is None else feed_of(store, search, address)

    async def feed(id: str, request: Request) -> Response:
        try:
            text = await run_in_threadpool(read, id, str(request.url))
        except StoreAway:
            return Response("the store does not respond\n", 503, media_type="text/plain")
        if text is None:
            return Response("there is no such feed\n", 404, media_type="text/plain")
        return Response(text, media_type=MEDIA_TYPE, headers={"Cache-Control": "private, max-age=60"})

    app.add_api_route("/feeds/{id}.atom", feed, methods=["GET"], include_in_schema=False)
