"""Makes pages out of templates: with the reader's numbers, the session, and the headers of `policy`."""

import gzip
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from realestate import __version__
from realestate.web.pages import formats
from realestate.web.pages.policy import headers, policy
from realestate.web.pages.sessions import CSRF_FIELD, Session
from realestate.web.pages.static import static

TEMPLATES = Path(__file__).parents[1] / "templates"
#: The pages of the navigation, in its order.
PAGES = (("/", "Overview"), ("/listings", "Listings"), ("/market", "Market"), ("/operations", "Operations"))
#: Smaller answers are not worth compressing.
_WORTH_COMPRESSING = 1000


@cache
def environment() -> Environment:
    """All texts are escaped: a title that contains markup is shown as text."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals.update(static=static, version=__version__, pages=PAGES)
    made.filters.update(
        when=formats.when,
        day=formats.day,
        duration=formats.duration,
        words=formats.words,
        sentence=formats.sentence,
        iso=_iso,
        weblink=weblink,
        date_of=_date_of,
        with_code=_with_code,
    )
    return made


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _date_of(seconds: float) -> str:
    return formats.day(datetime.fromtimestamp(seconds, UTC))


def _with_code(text: str) -> Markup:
    """A text in which commands stand between backticks."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in enumerate(parts)
    )


def weblink(address: str | None) -> str:
    """The address if a browser may follow it: never `javascript:` and the like. Empty otherwise."""
    try:
        scheme = urlsplit(address or "").scheme.lower()
    except ValueError:
        return ""
    return address or "" if scheme in ("http", "https") else ""


def formats_of(request: Request) -> formats.Formats:
    """How the reader of a page writes numbers."""
    return formats.Formats.of(request.headers.get("accept-language", ""))


def fragment(request: Request, template: str, session: Session, **values: Any) -> str:
    """A part of a page."""
    return environment().get_template(template).render(**_context(request, session), **values)


def page(
    request: Request,
    template: str,
    session: Session | None,
    *,
    path: str = "",
    live: str = "",
    status: int = 200,
    content_security_policy: str | None = None,
    **values: Any,
) -> Response:
    """A whole page. `path` is its entry in the navigation, `live` the address of its events."""
    context = _context(request, session)
    html = environment().get_template(template).render(**context, page=path, live=live, **values)
    return html_response(request, html, status, content_security_policy or policy())


def is_page(request: Request) -> bool:
    """Whether a person asks for a page, not a program or a script of a page for data."""
    is_wanted = "text/html" in request.headers.get("accept", "") or "hx-request" in request.headers
    return is_wanted and not request.url.path.startswith("/api/")


def problem(request: Request, status: int, title: str, text: str) -> Response:
    """A page that says what is wrong. A script that asked for a part of a page loads the whole page, which says it."""
    if "hx-request" in request.headers:
        query = f"?{request.url.query}" if request.url.query else ""
        path = request.url.path.lstrip("/")  # never another host
        return Response(status_code=status, headers={"HX-Redirect": f"/{path}{query}"})
    return page(request, "problem.html", None, status=status, title=title, text=text)


def sentence_of(error: Exception) -> str:
    """What an error says, as a sentence."""
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def html_response(request: Request, html: str, status: int, content_security_policy: str) -> Response:
    sent = headers(content_security_policy)
    if cookie := getattr(request.state, "new_cookie", ""):
        sent["Set-Cookie"] = cookie
    return compressed(request, html.encode("utf-8", "replace"), status, sent, "text/html; charset=utf-8")


def compressed(request: Request, body: bytes, status: int, sent: Mapping[str, str], media_type: str) -> Response:
    """The response, compressed if that is worth it and the browser takes it."""
    all_sent = {**sent, "Vary": "Accept-Encoding, Cookie"}
    if len(body) > _WORTH_COMPRESSING and "gzip" in request.headers.get("accept-encoding", ""):
        body = gzip.compress(body, 5, mtime=0)
        all_sent["Content-Encoding"] = "gzip"
    return Response(body, status, all_sent, media_type)


def _context(request: Request, session: Session | None) -> dict[str, Any]:
    shown = formats_of(request)
    now = datetime.now(UTC)

    def ago(at: datetime | None) -> str:
        return formats.ago(at, now)

    return {
        "fmt": shown,
        "locale": shown.locale,
        "ago": ago,
        "now": now,
        "session": session,
        "csrf": _csrf_field(request, session),
        "request_path": request.url.path,
    }


def _csrf_field(request: Request, session: Session | None) -> Callable[[], Markup]:
    """Makes the hidden field that each form needs. One request has one token, so that a live part that is made again is
    the same text."""

    def field() -> Markup:
        if session is not None and not hasattr(request.state, "csrf"):
            request.state.csrf = session.csrf()
        token = request.state.csrf if session else ""
        return Markup('<input type="hidden" name="{}" value="{}">').format(CSRF_FIELD, token)

    return field
