"""Who may see a page and who may act: sessions, forms that came from our own pages, and the sign-in page."""

import logging
from typing import Annotated
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.responses import RedirectResponse

from realestate.web.keys import find_key
from realestate.web.pages.render import page, sentence_of
from realestate.web.pages.sessions import CSRF_FIELD, CSRF_HEADER, Session
from realestate.web.pages.web import Web, web_of

logger = logging.getLogger(__name__)
router = APIRouter(include_in_schema=False)


#: The names by which a server without keys may be called.
_THIS_MACHINE = ("127.0.0.1", "localhost", "::1", "[::1]")


class SignInNeeded(Exception):
    """The page needs a session."""


class NotAllowed(Exception):
    """The session may not do this, or the form is not from our pages."""


def reader(request: Request) -> Session:
    """The session of a request. Raises SignInNeeded if keys are configured and there is none."""
    web = web_of(request)
    found = web.sessions.of(request)
    if found is None and web.sessions.are_needed:
        raise SignInNeeded
    if not web.sessions.are_needed and request.url.hostname not in _THIS_MACHINE:
        # Another site could have its name lead here, and its script would be signed in.
        raise NotAllowed("without API_KEYS this server answers only to 127.0.0.1 and localhost")
    if found is None:
        made = Response()
        found = web.sessions.begin(made, "", is_https=request.url.scheme == "https")
        request.state.new_cookie = made.headers["set-cookie"]
    if "read" not in found.scopes and not found.may_operate:
        raise NotAllowed("this key has no scope `read`")
    return found


def operator(session: Annotated[Session, Depends(reader)]) -> Session:
    """The session, if it may operate."""
    if not session.may_operate:
        raise NotAllowed("this key has no scope `operate`")
    return session


async def actor(request: Request, session: Annotated[Session, Depends(operator)]) -> Session:
    """The session, if it may operate and the form came from one of our pages."""
    await check_form(request, session)
    return session


async def check_form(request: Request, session: Session) -> None:
    """Raises NotAllowed unless the request comes from our own pages and carries the token of the session."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise NotAllowed("the form was sent by another site")
    token = request.headers.get(CSRF_HEADER) or str((await request.form()).get(CSRF_FIELD, ""))
    if not session.is_csrf(token):
        raise NotAllowed("the form is too old: load the page again")


Reader = Annotated[Session, Depends(reader)]
Operator = Annotated[Session, Depends(operator)]
Actor = Annotated[Session, Depends(actor)]


def log_act(session: Session, act: str, **what: object) -> None:
    """One line of the log for each thing somebody did here."""
    details = " ".join(f"{name}={value!r}" for name, value in what.items())
    logger.info("web/operate: by=%s act=%s %s", session.name or "local", act, details)


def safe_next(target: str) -> str:
    """The address to go to after signing in: one of our own pages."""
    parts = urlsplit(target)
    is_own = not parts.scheme and not parts.netloc and target.startswith("/") and not target.startswith(("//", "/\\"))
    return target if is_own and "\\" not in target and target.isprintable() else "/"


@router.get("/sign-in")
def show_sign_in(request: Request, next: str = "/") -> Response:
    web = web_of(request)
    if not web.sessions.are_needed or web.sessions.of(request):
        return RedirectResponse(safe_next(next), 303)
    return page(request, "sign_in.html", None, next=safe_next(next), error="")


@router.post("/sign-in")
def sign_in(
    request: Request, key: Annotated[str, Form(max_length=500)] = "", next: Annotated[str, Form()] = "/"
) -> Response:
    """Exchange a key for a session. The form of another site cannot: its request would be refused."""
    web: Web = web_of(request)
    error = ""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise NotAllowed("the form was sent by another site")
    if web.wrong_keys.are_too_many:
        error = "Too many wrong keys. Wait a minute and try again."
    else:
        found = find_key(web.keys, key.strip())
        if found is not None:
            response = RedirectResponse(safe_next(next), 303)
            web.sessions.begin(response, found.name, is_https=request.url.scheme == "https")
            logger.info("web/signed_in: by=%s", found.name)
            return response
        web.wrong_keys.add()
        logger.warning("web/wrong_key: from=%s", request.client.host if request.client else "?")
        error = "This is not one of the keys in API_KEYS."
    return page(request, "sign_in.html", None, status=403, next=safe_next(next), error=error)


@router.post("/sign-out")
async def sign_out(request: Request, session: Reader) -> Response:
    await check_form(request, session)
    response = RedirectResponse("/sign-in", 303)
    web_of(request).sessions.end(response)
    return response


def to_sign_in(request: Request, error: Exception) -> Response:
    """The answer where a session is needed: a page is shown after signing in, a part of a page is loaded anew."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    target = f"/sign-in?next={quote(wanted if request.method == 'GET' else '/', safe='')}"
    if request.headers.get("hx-request"):
        return Response(status_code=401, headers={"HX-Redirect": target})
    return RedirectResponse(target, 303)


def refuse(request: Request, error: Exception) -> Response:
    return page(request, "problem.html", None, status=403, title="Not allowed", text=sentence_of(error))
