"""Saves a live page among the recorded ones, with what the parser returns for it today. A person checks both."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrapy.http import Response, TextResponse

from realestate.authoring import AuthoringError, page_scrubber, parser_output, project_files
from realestate.authoring.live_pages import LivePages, with_live_pages
from realestate.authoring.parser_output import Stage

_NAME = re.compile(r"(?:listing|search)(?:-[a-z0-9]+)*")


@dataclass(frozen=True)
class Recorded:
    """The files of a recorded page."""

    page: Path
    expectation: Path
    why_unread: str | None
    """Why the parser cannot read the page yet; then the expectation is empty. None if it can."""


def record(portal: str, url: str, name: str, *, overwrite: bool = False) -> Recorded:
    """Fetch one page and save it as `name`, such as "listing-flat". `overwrite` replaces a page of this name."""
    spider = parser_output.spider(portal)
    folder = project_files.pages_folder(portal)
    stage: Stage = "discover" if name.startswith("search") else "extract"
    _check_name(spider, name, folder, overwrite=overwrite)
    fetched, shown_at = with_live_pages(portal, lambda site: _fetch(site, url, stage))
    body = page_scrubber.scrub_page(fetched, spider.country)
    values, why_unread = _expected(spider, shown_at, body, stage)
    is_json = parser_output.is_json(body.encode())
    page = folder / (f"{name}.page.json" if is_json else f"{name}.html")
    expectation = folder / f"{name}.json"
    text = json.dumps({"url": shown_at, **values}, ensure_ascii=False, indent=1) + "\n"
    if overwrite:
        for old in (folder / f"{name}.html", folder / f"{name}.page.json"):
            old.unlink(missing_ok=True)  # the page may have had the other form
    project_files.write({page: body, expectation: text}, overwrite=overwrite)
    return Recorded(page, expectation, why_unread)


def _check_name(spider: Any, name: str, folder: Path, *, overwrite: bool) -> None:
    if not _NAME.fullmatch(name):
        raise AuthoringError(f"{name!r}: use a name such as listing-flat or search-last-page")
    if (folder / f"{name}.json").exists() and not overwrite:
        raise AuthoringError(f"{name} of {spider.name} exists already; --force replaces it")


async def _fetch(site: LivePages, url: str, stage: Stage) -> tuple[str, str]:
    """The page and its URL. If a simulator serves the portal, both are changed to the real site."""
    if bool(site.spider.ref_of(url)) != (stage == "extract"):
        kind = "a search" if stage == "extract" else "a listing"
        raise AuthoringError(f"{url} is {kind}: use another name")
    response = await site.fetch(url)
    if not isinstance(response, TextResponse):
        raise AuthoringError(f"{response.url}: not a text document")
    here = site.spider.site
    real = type(site.spider).site
    return response.text.replace(here, real), _shown_at(response).replace(here, real)


def _shown_at(response: Response) -> str:
    """The URL that a person would write: of the page or the search, wherever its data was fetched."""
    meta = response.meta
    return str(meta.get("shown_at") or meta.get("search") or response.url)


def _expected(spider: Any, url: str, body: str, stage: Stage) -> tuple[dict[str, Any], str | None]:
    """The values of the page, and why it could not be parsed."""
    try:
        response = parser_output.response(spider, url, body.encode(), stage)
        return parser_output.without_defaults(parser_output.read(spider, response, stage)), None
    except Exception as error:  # a parser that is half written raises anything
        empty: dict[str, Any] = {"listing": {}} if stage == "extract" else {"found": [], "searches": []}
        return empty, str(error)
