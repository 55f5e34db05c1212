"""What a portal's parser makes of one document, as plain JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from scrapy.http import HtmlResponse, JsonResponse, Response, TextResponse, XmlResponse

from realestate.crawling.page_outcomes import BrokenPage, ListingGone
from realestate.crawling.results import Found, Link, Result, Results
from realestate.crawling.seeds import Seed
from realestate.crawling.watermark import SearchProgress
from realestate.items import Listing, as_record
from realestate.items.others import OTHERS, other_record
from realestate.jobs.work import project_settings, without_crawl

Stage = Literal["discover", "extract"]

_NOTHING_TOLD = as_record(Listing(portal="", ref="", url="", country=""))


def spider(portal: str) -> Any:
    """The portal's spider at its own address, whatever simulator runs."""
    settings = project_settings()
    settings.set("SIMULATOR_URL", None, priority="cmdline")
    return without_crawl(portal, settings).spider


def response(spider: Any, url: str, body: bytes, stage: Stage) -> TextResponse:
    """The document as the answer to the request that the portal would send for this address."""
    asked = spider.check(url, "", "full") if stage == "extract" else spider.seed_request(Seed(url=url))
    return _kind(body)(asked.url, body=body, encoding=_encoding(body), request=asked)


def read(spider: Any, response: Response, stage: Stage, hints: dict[str, Any] | None = None) -> dict[str, Any]:
    """The `listing` and, of a project, its `units`; the word that it is `gone`; or what is `found`. Raises what the
    document is instead."""
    try:
        made = list(spider.parsed(response, stage, **(hints or {})))
    except ListingGone as gone:
        return {"gone": f"{gone.evidence}: {gone}"}
    if not made:
        raise BrokenPage("no listing")
    if isinstance(made[0], Results):
        return _found(spider, response, made[0])
    item, *units = made
    told = as_record(item) if isinstance(item, Listing) else other_record(item)
    return {spider.kind: told, **({"units": list(map(_sighted, units))} if units else {})}


def short(told: dict[str, Any]) -> dict[str, Any]:
    """As it is kept beside a recorded page: what is missing, empty or the default is left out."""
    kept: dict[str, Any] = {kind: _without_nothing(told[kind]) for kind in told.keys() & {"listing", *OTHERS}}
    if "found" in told:
        kept["found"] = list(map(_without_nothing, told["found"]))
    return told | kept


def _without_nothing(record: dict[str, Any]) -> dict[str, Any]:
    nothing = _NOTHING_TOLD if record.keys() == _NOTHING_TOLD.keys() else {}
    return {name: value for name, value in record.items() if value != nothing.get(name)}


def is_json(body: bytes) -> bool:
    return body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")


def _found(spider: Any, response: Response, results: Results) -> dict[str, Any]:
    asked = response.meta.get("search", response.url)
    further = SearchProgress().next_pages(spider.paging, spider.newest_first, asked, results)
    found = [_result(each) for each in results.found]
    return {"found": found, "total": results.total, "searches": _all(further, results.searches)}


def _all(*searches: Sequence[str]) -> list[str]:
    return [each for some in searches for each in some]


def _result(each: Result) -> dict[str, Any]:
    if isinstance(each, Link):
        return {"ref": each.ref, "url": each.url}
    if isinstance(each, Found):
        return _sighted(each)
    return as_record(each) if isinstance(each, Listing) else other_record(each)


def _sighted(found: Found) -> dict[str, Any]:
    told = asdict(found.sighting) | ({"hints": found.hints} if found.hints else {})
    told |= {"dated": found.dated.isoformat()} if found.dated else {}
    price = told.pop("price")
    told = {name: value for name, value in told.items() if value is not None and name not in ("portal", "is_read")}
    return told if price is None else {**told, "price": float(price)}


def _kind(body: bytes) -> type[TextResponse]:
    if is_json(body):
        return JsonResponse
    return XmlResponse if body.lstrip()[:5] == b"<?xml" else HtmlResponse


def _encoding(body: bytes) -> str | None:
    """Left to Scrapy, which reads what the page says of itself, if it is not the usual one."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return "utf-8"
