"""`realestate portal`: tools for who writes a portal, or looks after one."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Write a portal, record its pages, see what its parser makes of them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class Kind(StrEnum):
    """Where a portal's data sits."""

    html = "html"
    jsonld = "jsonld"
    next = "next"
    script = "script"
    api = "api"


class Stage(StrEnum):
    """What a document is read as."""

    discover = "discover"
    extract = "extract"


Portal = Annotated[str, typer.Argument(help="The portal's name; `scrapy list` names all.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


@app.command(epilog="Example: realestate portal new example --kind jsonld --site https://www.example.com")
def new(
    name: Annotated[str, typer.Argument(help="Its name: a word in lower case.")],
    kind: Annotated[
        Kind,
        typer.Option(
            help="Where its data sits: html in the page; jsonld in its JSON-LD; next in __NEXT_DATA__; "
            "script in `window.x = {…}`; api at a JSON address."
        ),
    ] = Kind.html,
    site: Annotated[str | None, typer.Option(help="Its address; invented by default.")] = None,
    country: Annotated[str, typer.Option(help="ISO 3166 code.")] = "BE",
    currency: Annotated[str, typer.Option(help="ISO 4217 code.")] = "EUR",
    timezone: Annotated[str, typer.Option(help="Its time zone.")] = "Europe/Brussels",
) -> None:
    """Write a portal's spider and its first test pages, which pass the tests as they are; then fill in."""
    from realestate.cli import authors

    authors.new(name, kind, site=site, country=country, currency=currency, timezone=timezone)


@app.command(epilog="Example: realestate portal record emlak https://emlak.az/840001-satilir.html --as listing-flat")
def record(
    portal: Portal,
    url: Annotated[str, typer.Argument(help="A listing's address, or a search's.")],
    name: Annotated[str, typer.Option("--as", help="listing-… or search-…: what to call it.")],
) -> None:
    """Fetch one page politely and keep it, persons scrubbed, with what is expected of it: look through both."""
    from realestate.cli import authors

    authors.record(portal, url, name)


@app.command(epilog="Example: realestate portal parse immoweb classified.json --stage extract")
def parse(
    portal: Portal,
    file: Annotated[Path, typer.Argument(help="A page, an API's answer, or the bare object behind a page's script.")],
    url: Annotated[str | None, typer.Option(help="Its address; made from the document by default.")] = None,
    stage: Annotated[
        Stage | None, typer.Option(help="extract: a listing; discover: a search. By default what it can be read as.")
    ] = None,
    hints: Annotated[
        str | None, typer.Option(help='What a search page told of it, such as {"rent_period": "day"}.')
    ] = None,
) -> None:
    """Print what the portal's parser makes of a saved document, as JSON."""
    from realestate.cli import authors

    authors.parse(portal, file, url=url, stage=None if stage is None else stage.value, hints=hints)


@app.command(epilog="Example: realestate portal check immoweb --pages 3")
def check(
    portal: Portal,
    pages: Annotated[int, typer.Option(min=1, max=50, help="So many listings.")] = 3,
    json: JsonFlag = False,
) -> None:
    """Fetch a few live pages politely, and compare which fields they tell with the recorded ones."""
    from realestate.cli import authors

    raise typer.Exit(0 if authors.check(portal, pages, as_json=json) else 1)
