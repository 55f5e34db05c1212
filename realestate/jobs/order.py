"""What somebody may order: a `JobOrder`, its JSON Schema, and the check of an order against its portal.

All orders come through `read_order`: the command line, the timetable and the API all send what they got through it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from hashlib import blake2b
from typing import Annotated, Any, Literal

import msgspec
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from msgspec import Meta

from realestate.crawling.paging import MOST_PAGES, Numbers, page_range
from realestate.crawling.scope import OPERATIONS, PROPERTY_TYPES, Scope
from realestate.items import Operation, PropertyType
from realestate.jobs.work import all_portals, scoped_urls, seed_urls, spider_class, why_refused, why_unknown

Mode = Literal["full", "sweep", "incremental", "refresh"]

_KEY = r"^[\w.:@-]{1,128}$"
_DURATION = r"^[0-9]{1,6}[smhd]$"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_PAGES = r"^[0-9]{1,6}-[0-9]{1,6}$"
#: Lists and objects within one another: some ten jobs that follow one another.
_DEEPEST = 32


class BadOrder(ValueError):
    """An order that cannot be accepted. The text says what is wrong, and what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOrder:
    """A job, as somebody orders it. Only the portal is needed."""

    portal: Annotated[str, Meta(description="Name of the portal.", min_length=1, max_length=64)]
    operation: Annotated[Operation | None, Meta(description="Only homes for sale, or only for rent.")] = None
    type: Annotated[PropertyType | None, Meta(description="Only homes of this type.")] = None
    city: Annotated[
        Annotated[str, Meta(min_length=1, max_length=100)] | None,
        Meta(description="Only homes in this city, in the portal's spelling or in English."),
    ] = None
    urls: Annotated[
        tuple[Annotated[str, Meta(max_length=4000)], ...],
        Meta(description="Start URLs instead of the portal's own searches.", max_length=10_000),
    ] = ()
    mode: Annotated[
        Mode,
        Meta(
            description="full: every listing; sweep: all search pages, and the listings that are new, changed or"
            " missing; incremental: what is new since the last time; refresh: known listings that are due."
        ),
    ] = "full"
    priority: Annotated[int, Meta(description="A higher number comes sooner.", ge=-1000, le=1000)] = 0
    limit: Annotated[int, Meta(description="Fetch at most this many listings; 0: all.", ge=0, le=1_000_000_000)] = 0
    deadline: Annotated[
        Annotated[str, Meta(pattern=_DURATION)] | None,
        Meta(description="Cancel the job after this time: a number and s, m, h or d."),
    ] = None
    key: Annotated[
        Annotated[str, Meta(pattern=_KEY)] | None,
        Meta(description="A name for the job: orders with the same key are one job."),
    ] = None
    pages: Annotated[
        Annotated[str, Meta(pattern=_PAGES)] | None,
        Meta(description="Only these pages of each search, such as 1-50."),
    ] = None
    page_size: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="How many results a page must have; refused if the portal cannot."),
    ] = None
    then: Annotated[
        tuple[dict[str, Any], ...],
        Meta(
            description='What follows when the job has finished: {"submit": {…}} is another job, {"report": true} a'
            " report.",
            max_length=10,
        ),
    ] = ()

    @property
    def deadline_seconds(self) -> float | None:
        return None if self.deadline is None else float(int(self.deadline[:-1]) * _UNITS[self.deadline[-1]])

    @property
    def scope(self) -> Scope:
        return Scope(operation=self.operation, type=self.type, city=self.city)

    def as_json(self) -> dict[str, Any]:
        """The order without what is not set: the same order always gives the same value."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if value not in (None, (), "") and (name != "limit" or value) and (name != "priority" or value)
        }


@dataclass(frozen=True, slots=True)
class CheckedOrder:
    """An order that its portal can fulfil."""

    order: JobOrder
    urls: Sequence[str]
    is_everything: bool
    """The URLs are all searches of the portal, so the job can find out which listings are gone."""
    checked_later: Sequence[str] = field(default=())
    """The parts of the scope that the site's searches cannot apply: they are checked on each result."""


@cache
def order_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a `JobOrder`."""
    (reference,), components = msgspec.json.schema_components([JobOrder])
    schema = components[reference["$ref"].rpartition("/")[2]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "description": JobOrder.__doc__,
        "additionalProperties": False,
    }


def read_order(value: Mapping[str, Any]) -> JobOrder:
    """The order in a JSON value. Raises BadOrder with one line that names the field and what is allowed."""
    _demand_storable(value)
    given = {name: each for name, each in value.items() if each is not None}
    error = best_match(Draft202012Validator(order_schema()).iter_errors(given))
    if error is not None:
        raise BadOrder(_explained(error))
    try:
        order = msgspec.convert(given, JobOrder)
    except msgspec.ValidationError as reason:
        raise BadOrder(str(reason)) from reason
    for each in order.then:
        _check_follower(each)
    return order


def _demand_storable(value: Any) -> None:
    """Raises BadOrder if the value is nested too deeply, or contains a text that no database can store."""
    level = [value]
    for _ in range(_DEEPEST):
        within: list[Any] = []
        for each in level:
            if isinstance(each, Mapping):
                within += (*each, *each.values())
            elif isinstance(each, list | tuple):
                within += each
            elif isinstance(each, str) and ("\0" in each or not _is_utf8(each)):
                raise BadOrder("the order contains the character NUL, or a text that is not valid Unicode")
        if not within:
            return
        level = within
    raise BadOrder(f"the order has more than {_DEEPEST} lists and objects within one another")


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _explained(error: Any) -> str:
    where = ".".join(str(part) for part in error.absolute_path)
    if error.validator == "additionalProperties":
        unknown = sorted(set(error.instance) - set(order_schema()["properties"]))
        return f"unknown field {', '.join(unknown)}; allowed are {', '.join(order_schema()['properties'])}"
    if error.validator == "required":
        return str(error.message).replace("'", "")
    shown = repr(error.instance)[:80]
    schema = order_schema()["properties"].get(where.partition(".")[0], {})
    if where == "deadline":
        return f"deadline {shown} is not a duration: write a number and s, m, h or d, such as 2h"
    if where == "key":
        return f"key {shown} is not a name: 1 to 128 letters, digits and any of _ . : @ -"
    if where == "pages":
        return f"pages {shown} is not a range: write the first and the last page, such as 1-50"
    # The schema sorts its values; people get the most common first.
    in_order = {"operation": OPERATIONS, "type": PROPERTY_TYPES}
    enums = [name for each in schema.get("anyOf", [schema]) for name in each.get("enum", ()) if name is not None]
    allowed = in_order.get(where, enums)
    if allowed:
        return f"{where} {shown} is not known: one of {', '.join(map(str, allowed))}"
    return f"{where}: {error.message[:200]}"


def _check_follower(value: Mapping[str, Any]) -> None:
    """Raises BadOrder if this cannot follow a job."""
    if list(value) == ["submit"] and isinstance(value["submit"], dict):
        read_order(value["submit"])
    elif value != {"report": True}:
        raise BadOrder(f'then {dict(value)!r} is not known: one of {{"submit": {{…}}}}, {{"report": true}}')


def check_order(order: JobOrder, simulator: str | None) -> CheckedOrder:
    """Check the order against what its portal can do. Raises BadOrder: it names what the portal allows."""
    why = why_unknown(order.portal)
    if why is not None:
        raise BadOrder(why or f"no portal {order.portal!r}; the portals are: {', '.join(all_portals())}")
    _check_pages(order)
    for follower in order.then:
        if "submit" in follower:
            check_order(read_order(follower["submit"]), simulator)
    parts = order.scope.parts()
    spider = spider_class(order.portal)
    if order.urls:
        for url in order.urls:
            if reason := why_refused(order.portal, url, simulator):
                raise BadOrder(reason)
        return CheckedOrder(order, order.urls, is_everything=False, checked_later=sorted(parts))
    try:
        urls = scoped_urls(order.portal, order.scope, simulator) if parts else seed_urls(order.portal, simulator)
    except ValueError as error:
        raise BadOrder(f"{error}; {_allowed(order.portal)}") from error
    for url in urls[:1]:  # all searches are on the portal's site, which may be on this machine
        if reason := why_refused(order.portal, url, simulator, any_page=True):
            raise BadOrder(reason)
    is_everything = not parts and order.pages is None
    return CheckedOrder(order, urls, is_everything, sorted(parts.keys() - spider.site_filters()))


def allowed_scopes(portal: str) -> dict[str, list[str]]:
    """The values of `operation` and `type` for which the portal has a search."""
    spider = spider_class(portal)

    def has_search(**parts: Any) -> bool:
        try:
            return bool(spider.searches_for(Scope(**parts)))
        except ValueError:
            return False

    return {
        "operation": [each for each in OPERATIONS if has_search(operation=each)],
        "type": [each for each in PROPERTY_TYPES if has_search(type=each)],
    }


def _allowed(portal: str) -> str:
    allowed = "; ".join(f"{name}: {', '.join(values)}" for name, values in allowed_scopes(portal).items() if values)
    return f"{portal} allows {allowed}" if allowed else f"{portal} has no scopes"


def _check_pages(order: JobOrder) -> None:
    if order.pages is None and order.page_size is None:
        return
    paging = spider_class(order.portal).paging
    if not isinstance(paging, Numbers):
        raise BadOrder(f"{order.portal} has no numbered pages: leave out pages and page_size, or use limit")
    if order.page_size not in (None, paging.size):
        raise BadOrder(
            f"page_size {order.page_size} is not possible: {order.portal} shows {paging.size} results a page"
        )
    if order.pages is None:
        return
    first, last = page_range(order.pages)
    most = paging.most_pages
    if not 1 <= first <= last <= most:
        shown = f"; {order.portal} shows pages 1-{most}" if most < MOST_PAGES else ""
        raise BadOrder(f"pages {order.pages} is not a range: the first page is at least 1 and at most the last{shown}")
    if order.mode == "refresh":
        raise BadOrder("a refresh reads no search pages: leave out pages")


def is_same_crawl(order: JobOrder, other: JobOrder) -> bool:
    """Whether both fetch the same, whoever ordered it, how urgently, and whatever follows."""

    def crawled(order: JobOrder) -> JobOrder:
        return replace(order, priority=0, deadline=None, key=None, page_size=None, then=())

    return crawled(order) == crawled(other)


def job_id_of(key: str) -> str:
    """The id of the job with this key: the same key is the same job."""
    return blake2b(key.encode(), digest_size=8).hexdigest()
