"""A live page into the folder of recorded ones, with what the parser makes of it today for a person to look through."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrapy.http import Response, TextResponse

from realestate.authoring import Unfit, project, reading, scrubbing
from realestate.authoring.reading import Stage
from realestate.authoring.visiting import Visit, visit

_NAME = re.compile(r"(?:listing|search)(?:-[a-z0-9]+)*")


@dataclass(frozen=True)
class Recorded:
    page: Path
    expectation: Path
    why_unread: str | None
    """What the parser says of it if it cannot read it yet: then the expectation is empty."""


def record(portal: str, url: str, name: str) -> Recorded:
    """Fetch one page and keep it as `name`, such as "listing-flat"."""
    spider = reading.spider(portal)
    stage: Stage = "discover" if name.startswith("search") else "extract"
    _check(spider, name, project.pages_folder(portal))
    body, shown_at = visit(portal, lambda at: _fetched(at, url, stage))
    body = scrubbing.page(body, spider.country)
    told, why = _told(spider, shown_at, body, stage)
    is_json = reading.is_json(body.encode())
    page = project.pages_folder(portal) / (f"{name}.page.json" if is_json else f"{name}.html")
    expectation = project.pages_folder(portal) / f"{name}.json"
    project.write({page: body, expectation: json.dumps({"url": shown_at, **told}, ensure_ascii=False, indent=1) + "\n"})
    return Recorded(page, expectation, why)


def _check(spider: Any, name: str, folder: Path) -> None:
    if not _NAME.fullmatch(name):
        raise Unfit(f"{name!r}: a name such as listing-flat or search-last-page is needed")
    if (folder / f"{name}.json").exists():
        raise Unfit(f"{name} of {spider.name} is there already")


async def _fetched(at: Visit, url: str, stage: Stage) -> tuple[str, str]:
    """The page and its address, both as on the real site if a simulator stands in for it."""
    if bool(at.spider.ref_of(url)) != (stage == "extract"):
        raise Unfit(f"{url} is {'a search' if stage == 'extract' else 'a listing'}: another name is needed")
    response = await at.page(url)
    if not isinstance(response, TextResponse):
        raise Unfit(f"{response.url}: not a text document")
    here, real = at.spider.site, type(at.spider).site
    return response.text.replace(here, real), _shown_at(response).replace(here, real)


def _shown_at(response: Response) -> str:
    """The address a person would write: of the page or the search, wherever its data was fetched."""
    meta = response.meta
    return str(meta.get("shown_at") or meta.get("search") or response.url)


def _told(spider: Any, url: str, body: str, stage: Stage) -> tuple[dict[str, Any], str | None]:
    try:
        told = reading.read(spider, reading.response(spider, url, body.encode(), stage), stage)
        return reading.short(told), None
    except Exception as error:  # a parser that is not written yet does anything
        return ({"listing": {}} if stage == "extract" else {"found": [], "searches": []}), str(error)
