"""The routes that save and delete searches, from the page of the listings. Who saves one may make us send messages, so
it needs the scope `operate`."""

from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from realestate.searches.check import BadSearch, check_search
from realestate.storage.query import QueryError, parse_filter
from realestate.storage.searches import NameTaken
from realestate.web.pages import filters as shown
from realestate.web.pages.access import Actor, log_act
from realestate.web.pages.sessions import Session
from realestate.web.pages.web import web_of

router = APIRouter(include_in_schema=False)
_FIELDS = {"name": "the name", "where": "the filter", "on": "the events", "notify": "the receiver"}


@router.post("/searches")
def save(
    request: Request,
    session: Actor,
    name: Annotated[str, Form(max_length=500)] = "",
    where: Annotated[str, Form(max_length=9000)] = "",
    notify: Annotated[str, Form(max_length=4000)] = "",
) -> Response:
    web = web_of(request)
    try:
        wanted = check_search(name.strip(), where, notify.split(), web.receivers)
        saved = web.site.ask(wanted.save)
    except BadSearch as error:
        return _back(session, where, f"Not saved: {_FIELDS[error.field]}: {error}", "bad")
    except NameTaken as error:
        return _back(session, where, f"Not saved: {error}", "bad")
    log_act(session, "search/save", name=saved.name, where=where)
    receivers = f"{len(saved.notify)} {'receiver' if len(saved.notify) == 1 else 'receivers'}"
    effect = f"`realestate search watch` sends messages to {receivers}" if saved.notify else "its feed has what changes"
    return _back(session, where, f"The search {saved.name!r} is saved: {effect}.")


@router.post("/searches/{id}/delete")
def delete(request: Request, id: str, session: Actor, where: Annotated[str, Form(max_length=9000)] = "") -> Response:
    is_deleted = web_of(request).site.ask(lambda store: store.delete_search(id))
    log_act(session, "search/delete", search=id, deleted=is_deleted)
    return _back(session, where, "The search is deleted." if is_deleted else "There is no such search any more.")


def _back(session: Session, where: str, message: str, kind: str = "good") -> Response:
    """To the listings again, which say what was done."""
    try:
        address = shown.address(parse_filter(where), did=session.write(message), kind=kind)
    except QueryError:
        address = f"{shown.PATH}?did={session.write(message)}&kind=bad"
    return RedirectResponse(address, 303)
