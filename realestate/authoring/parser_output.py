"""What a portal's parser returns for one document, as plain JSON."""

from dataclasses import asdict
from typing import Any, Literal

from scrapy.http import HtmlResponse, JsonResponse, Response, TextResponse, XmlResponse

from realestate.crawling import BrokenPage, Found, Link, ListingGone, Results
from realestate.crawling.results import Result
from realestate.crawling.seeds import Seed
from realestate.crawling.watermark import SearchProgress
from realestate.items import Listing, as_record
from realestate.items.others import OTHERS, other_record
from realestate.jobs.work import project_settings, without_crawl

Stage = Literal["discover", "extract"]

_DEFAULTS = as_record(Listing(portal="", ref="", url="", country=""))


def spider(portal: str) -> Any:
    """The portal's spider at its own address, even if a simulator runs."""
    settings = project_settings()
    settings.set("SIMULATOR_URL", None, priority="cmdline")
    return without_crawl(portal, settings).spider


def response(spider: Any, url: str, body: bytes, stage: Stage) -> TextResponse:
    """The document as the response to the request that the portal would send for this URL."""
    request = spider.check(url, "", "full") if stage == "extract" else spider.seed_request(Seed(url=url))
    return _response_class(body)(request.url, body=body, encoding=_encoding(body), request=request)


def read(spider: Any, response: Response, stage: Stage, hints: dict[str, Any] | None = None) -> dict[str, Any]:
    """The `listing` and, of a project, its `units`; `gone` with the reason; or what is `found`.

    Raises what the parser raises for any other document."""
    if stage == "extract":
        return read_with_item(spider, response, hints)[0]
    (results,) = spider.parsed(response, stage)
    return _search_record(spider, response, results)


def read_with_item(
    spider: Any, response: Response, hints: dict[str, Any] | None = None
) -> tuple[dict[str, Any], Any | None]:
    """What `read` returns for a listing's page, and the item itself; None if it is gone."""
    try:
        made = list(spider.parsed(response, "extract", **(hints or {})))
    except ListingGone as gone:
        return {"gone": f"{gone.evidence}: {gone}"}, None
    if not made:
        raise BrokenPage("no listing")
    item, *units = made
    values: dict[str, Any] = {spider.kind: as_record(item) if isinstance(item, Listing) else other_record(item)}
    if units:
        values["units"] = [_found_record(unit) for unit in units]
    return values, item


def without_defaults(values: dict[str, Any]) -> dict[str, Any]:
    """The form that is saved beside a recorded page: values that are missing or have their default are left out."""
    kept: dict[str, Any] = {}
    for kind in values.keys() & {"listing", *OTHERS}:
        kept[kind] = _without_defaults(values[kind])
    if "found" in values:
        kept["found"] = [_without_defaults(each) for each in values["found"]]
    return values | kept


def _without_defaults(record: dict[str, Any]) -> dict[str, Any]:
    defaults = _DEFAULTS if record.keys() == _DEFAULTS.keys() else {}
    return {name: value for name, value in record.items() if value != defaults.get(name)}


def is_json(body: bytes) -> bool:
    return body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")


def _search_record(spider: Any, response: Response, results: Results) -> dict[str, Any]:
    search = response.meta.get("search", response.url)
    further = SearchProgress().next_pages(spider.paging, spider.newest_first, search, results)
    return {
        "found": [_result_record(each) for each in results.found],
        "total": results.total,
        "searches": [*further, *results.searches],
    }


def _result_record(each: Result) -> dict[str, Any]:
    if isinstance(each, Link):
        return {"ref": each.ref, "url": each.url}
    if isinstance(each, Found):
        return _found_record(each)
    return as_record(each) if isinstance(each, Listing) else other_record(each)


def _found_record(found: Found) -> dict[str, Any]:
    values = asdict(found.sighting)
    if found.hints:
        values["hints"] = found.hints
    if found.dated:
        values["dated"] = found.dated.isoformat()
    price = values.pop("price")
    record = {name: value for name, value in values.items() if value is not None and name not in ("portal", "is_read")}
    if price is not None:
        record["price"] = float(price)
    return record


def _response_class(body: bytes) -> type[TextResponse]:
    if is_json(body):
        return JsonResponse
    return XmlResponse if body.lstrip()[:5] == b"<?xml" else HtmlResponse


def _encoding(body: bytes) -> str | None:
    """UTF-8 if it is valid. Otherwise None: Scrapy reads what the page declares."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return "utf-8"
