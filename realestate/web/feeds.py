"""The Atom feeds of saved searches. Programs that read feeds cannot send the header of the API: they send a key as a
password. Without keys only this machine reads them."""

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from realestate.searches.feed import MEDIA_TYPE, feed_of
from realestate.storage.errors import StoreAway
from realestate.web.json_response import Refusal
from realestate.web.security import security_of
from realestate.web.stores import Stores

_ASKS_FOR_A_PASSWORD = {"www-authenticate": 'Basic realm="realestate", charset="UTF-8"'}


def add_feeds(app: FastAPI, stores: Stores) -> None:
    """Serve /feeds/<id>.atom."""

    def read(id: str, request: Request) -> bytes | None:
        security_of(request).demand(request, "read", takes_password=True)
        with stores.lent() as store:
            search = next((each for each in store.searches() if each.id == id), None)
            return None if search is None else feed_of(store, search, str(request.url))

    async def feed(id: str, request: Request) -> Response:
        try:
            text = await run_in_threadpool(read, id, request)
        except Refusal as error:
            headers = _ASKS_FOR_A_PASSWORD if error.status == 401 else None
            return Response(f"{error.why}\n", error.status, headers, media_type="text/plain")
        except StoreAway:
            return Response("the store does not respond\n", 503, media_type="text/plain")
        if text is None:
            return Response("there is no such feed\n", 404, media_type="text/plain")
        return Response(text, media_type=MEDIA_TYPE, headers={"Cache-Control": "private, max-age=60"})

    app.add_api_route("/feeds/{id}.atom", feed, methods=["GET"], include_in_schema=False)
