"""`realestate portals`: which portals there are, and what each can be asked for."""

from dataclasses import asdict, dataclass

from realestate.cli.options import JsonFlag


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
