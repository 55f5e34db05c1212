"""`realestate portal` and `init`: tools for the author of a portal; `realestate portals`: which portals there are.

They need no Redis and no store.
"""

import sys
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from realestate.cli.help_page import command_group
from realestate.cli.options import JsonFlag, PortalArgument

if TYPE_CHECKING:
    from realestate.authoring.field_coverage import Coverage

app = command_group("Write a portal, record its pages, test its parser.")


class Kind(StrEnum):
    """Where the data of a portal is in its pages."""

    html = "html"
    jsonld = "jsonld"
    next = "next"
    script = "script"
    api = "api"


class Stage(StrEnum):
    """What a document is parsed as."""

    discover = "discover"
    extract = "extract"


@app.command(epilog="Example: realestate portal new example --kind jsonld --site https://www.example.com")
def new(
    name: Annotated[str, typer.Argument(help="Its name: a word in lower case.")],
    kind: Annotated[
        Kind,
        typer.Option(
            help="Where its data is: html in the page; jsonld in its JSON-LD; next in __NEXT_DATA__; "
            "script in `window.x = {…}`; api at a JSON address."
        ),
    ] = Kind.html,
    site: Annotated[str | None, typer.Option(help="Its address; an invented one by default.")] = None,
    country: Annotated[str, typer.Option(help="ISO 3166 code.")] = "BE",
    currency: Annotated[str, typer.Option(help="ISO 4217 code.")] = "EUR",
    timezone: Annotated[str, typer.Option(help="Its time zone.")] = "Europe/Brussels",
) -> None:
    """Write the spider of a new portal and its first recorded pages. They pass `portal test`; then edit them."""
    from datetime import UTC, datetime

    from realestate.authoring import new_portal, project_files

    today = datetime.now(UTC).date()
    written = new_portal.create(name, kind, today, site=site, country=country, currency=currency, timezone=timezone)
    for path in written:
        print(project_files.shown(path))
    print(f"next: realestate portal test {name}")


@app.command(epilog="Example: realestate portal record emlak https://emlak.az/840001-satilir.html --as listing-flat")
def record(
    portal: PortalArgument,
    url: Annotated[str, typer.Argument(help="The address of a listing or of a search.")],
    name: Annotated[str, typer.Option("--as", help="The name of the recorded page: listing-… or search-….")],
    force: Annotated[bool, typer.Option("--force", help="Replace a recorded page of this name.")] = False,
) -> None:
    """Fetch one page, remove personal data, and save it with the values the parser reads. Check both files."""
    from realestate.authoring import page_recorder, project_files
    from realestate.cli.connections import check_portals, check_urls

    check_portals([portal])
    check_urls(portal, [url], any_page=True)
    recorded = page_recorder.record(portal, url, name, overwrite=force)
    for path in (recorded.page, recorded.expectation):
        print(project_files.shown(path))
    if recorded.why_unread:
        print(f"the parser cannot read the page yet: {recorded.why_unread}")
    print("check both files: names of persons in texts are not found automatically")


@app.command(epilog="Example: realestate portal parse immoweb classified.json --stage extract")
def parse(
    portal: PortalArgument,
    file: Annotated[
        Path, typer.Argument(help="A page, a JSON response, or only the object from the script of a page.")
    ],
    url: Annotated[str | None, typer.Option(help="Its address; by default derived from the document.")] = None,
    stage: Annotated[
        Stage | None, typer.Option(help="extract: a listing; discover: a search. By default whichever can be parsed.")
    ] = None,
    hints: Annotated[
        str | None, typer.Option(help='Values from the search page, as JSON, such as {"rent_period": "day"}.')
    ] = None,
) -> None:
    """Print the values that the parser reads from a saved document, as JSON; then what a crawl would do with it.

    The second part goes to the error output: whether the document is a ban page, whether the listing would be
    quarantined and why, and which values are made up."""
    from realestate.authoring import document_parser
    from realestate.cli.connections import check_portals

    check_portals([portal])
    parsed = document_parser.parse(
        portal,
        file.read_bytes(),
        url=url,
        stage=None if stage is None else stage.value,
        hints=_hints(hints),
        file_name=file.name,
    )
    _print_json(parsed.values)
    for note in parsed.notes:
        print(f"realestate: {note}", file=sys.stderr)


@app.command("test", epilog="Example: realestate portal test immoweb")
def compare_recorded(portal: PortalArgument, json: JsonFlag = False) -> None:
    """Parse the recorded pages of the portal and compare the values with what is expected. Fetches nothing."""
    from realestate.authoring import recorded_pages
    from realestate.cli.connections import check_portals

    check_portals([portal])
    tested = recorded_pages.compare_all(portal)
    failed = [each for each in tested if each.faults]
    if json:
        _print_json([asdict(each) for each in tested])
    else:
        for each in tested:
            print(f"{each.name}: {'failed' if each.faults else 'ok'}")
            for fault in each.faults:
                print(f"  {fault}")
        print(f"{portal}: {len(tested) - len(failed)} of {len(tested)} recorded pages are parsed as expected")
    raise typer.Exit(1 if failed else 0)


@app.command(epilog="Example: realestate portal check immoweb --pages 3")
def check(
    portal: PortalArgument,
    pages: Annotated[int, typer.Option(min=1, max=50, help="Number of listings to fetch.")] = 3,
    json: JsonFlag = False,
) -> None:
    """Fetch a few live listings and compare which fields they have with the recorded pages."""
    from realestate.authoring import field_coverage
    from realestate.cli.connections import check_portals

    check_portals([portal])
    found = field_coverage.check(portal, pages)
    if json:
        _print_json(asdict(found))
    else:
        _print_coverage(found)
    raise typer.Exit(0 if found.live and not found.unread else 1)


def init(
    folder: Annotated[Path, typer.Argument(help="The folder of the project; this one by default.")] = Path(),
) -> None:
    """Start a project of your own: a folder for your portals, in which `scrapy` works too."""
    from realestate.authoring import project_files

    written = project_files.create_project(folder.absolute())
    for path in written:
        print(folder / path.relative_to(folder.absolute()))
    if not written:
        print(f"{folder} is a project already")
    change = "" if folder.absolute() == Path.cwd() else f"cd {folder} && "
    print(f"next: {change}realestate portal new mysite --site https://www.example.com")


def _hints(text: str | None) -> dict[str, Any]:
    import msgspec

    from realestate.cli.errors import UsageError

    try:
        return msgspec.json.decode(text, type=dict[str, Any]) if text else {}
    except msgspec.MsgspecError as error:
        raise UsageError(f"--hints: a JSON object is needed: {error}") from error


def _print_json(value: Any) -> None:
    """Recorded pages use an indent of 1, so these can be pasted there."""
    from realestate.cli import terminal

    terminal.print_json(value, indent=1)


def _print_coverage(found: "Coverage") -> None:
    from realestate.cli import terminal

    rows = [
        [share.name, _percent(share.recorded), _percent(share.live), "lost?" if share.is_lost else ""]
        for share in found.shares
    ]
    terminal.print_columns(["field", "recorded %", "live %", ""], rows)
    for line in found.unread:
        print(f"could not be parsed: {line}")
    print(f"{found.portal}: {found.live} live listings, {found.recorded} recorded")


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0f}"


@dataclass(frozen=True)
class PortalRow:
    name: str
    site: str
    country: str
    collects: str
    filters: tuple[str, ...]
    """What the site's own searches can filter by."""


def portals(json: JsonFlag = False) -> None:
    """List the portals: name, site, country, and what the site can filter by."""
    from realestate.cli import terminal

    rows = _rows()
    if json:
        terminal.print_json([asdict(row) for row in rows])
        return
    cells = [
        [row.name, row.site.partition("://")[2], row.country or "–", row.collects, ", ".join(row.filters) or "–"]
        for row in rows
    ]
    terminal.print_columns(["portal", "site", "country", "collects", "filters at the site"], cells, left=4)
    print("Other filters of `crawl` (--operation, --type, --city) are checked on each result.")


def _rows() -> list[PortalRow]:
    from realestate.jobs.work import all_portals, spider_class

    rows = []
    for name in all_portals():
        spider = spider_class(name)
        filters = tuple(sorted(spider.site_filters()))
        rows.append(PortalRow(name, spider.site, getattr(spider, "country", ""), f"{spider.kind}s", filters))
    return rows
