"""How results look on a terminal."""

import reprlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import msgspec
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from realestate.cli.local import CrawlOutcome, Status, Submitted
from realestate.demo.crawl import Outcome
from realestate.doctor import Finding
from realestate.jobs.local import Progress
from realestate.jobs.reparse import Reparsed
from realestate.queue.deadletters import DeadLetter

#: Progress goes where it disturbs no pipe.
_progress = Console(stderr=True)
_console = Console()
#: Without a terminal a line now and then is enough.
_LINE_SECONDS = 5.0
#: The demo names so many wrong fields and places of a market; its file has all.
_FAULTS_SHOWN = 15
_MARKETS_SHOWN = 4
#: Corrections and pages still broken; `--json` has more.
_CHANGES_SHOWN = 20


@contextmanager
def live(quiet: bool = False) -> Iterator[Callable[[Progress], None]]:
    """A table that moves, on a terminal; a line every few seconds elsewhere."""
    if quiet:
        yield lambda progress: None
    elif _progress.is_terminal:
        with Live("starting …", console=_progress, refresh_per_second=4, transient=True) as display:
            yield lambda progress: display.update(_progress_table(progress))
    else:
        yield _lines()


def _lines() -> Callable[[Progress], None]:
    last = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= _LINE_SECONDS:
            last = time.monotonic()
            told = (
                f"{portal} {progress.total(portal, 'pages')} pages, {progress.total(portal, 'stored')} stored,"
                f" {state.waiting} waiting"
                for portal, state in progress.states.items()
            )
            _progress.print(f"{progress.seconds:4.0f} s  " + " · ".join(told), highlight=False)

    return show


def _progress_table(progress: Progress) -> Table:
    table = _table("portal", *("workers", "waiting", "in flight", "pages", "pages/s", "listings", "dead"))
    for portal, state in progress.states.items():
        pages = progress.total(portal, "pages")
        table.add_row(
            portal,
            *_numbers(
                len(state.workers),
                state.waiting,
                state.in_flight,
                pages,
                round(pages / progress.seconds) if progress.seconds > 1 else None,
                progress.total(portal, "stored"),
                state.dead,
            ),
        )
    table.caption = f"{progress.seconds:.0f} s"
    return table


def demo(outcome: Outcome) -> None:
    _console.print(_market_table(outcome))
    table = _table("portal", "stored", "expected", "missing", "surplus", "fields wrong", "quarantine")
    for portal, found in outcome.portals.items():
        faults = (found.missing, found.unexpected, found.wrong)
        table.add_row(portal, *_numbers(found.stored, found.expected, *map(len, faults), found.quarantined))
    _console.print(table)
    for found in outcome.portals.values():
        for fault in found.wrong[:_FAULTS_SHOWN]:
            _console.print(f"wrong: {fault}", highlight=False, markup=False)
    rate = outcome.pages / outcome.seconds if outcome.seconds else 0
    told = f"{outcome.pages} pages in {outcome.seconds:.1f} s by {outcome.workers} workers: {rate:.0f} pages/s"
    _console.print(told, highlight=False)
    print(outcome.last_line)


def _market_table(outcome: Outcome) -> Table:
    table = Table(title="The market: median asking prices", title_justify="left")
    for name in ("city", "district", "operation"):
        table.add_column(name)
    for name in ("listings", "price", "per m²"):
        table.add_column(name, justify="right")
    groups = sorted({(row.country, row.operation) for row in outcome.market}, reverse=True)
    for group in groups:
        rows = [row for row in outcome.market if (row.country, row.operation) == group]
        for row in rows[:_MARKETS_SHOWN]:
            price, per_m2 = f"{row.median_price:,.0f} {row.currency}", row.median_price_per_m2
            table.add_row(row.city, row.district, row.operation, *_numbers(row.listings), price, f"{per_m2 or 0:,.2f}")
        table.add_section()
    return table


def crawl(outcome: CrawlOutcome, *, as_json: bool) -> None:
    if as_json:
        _print_json({**asdict(outcome), "logs": str(outcome.logs)})
        return
    if outcome.resumed:
        print(f"resumed: {outcome.resumed} requests were waiting")
    rest = "" if outcome.finished else "; the rest waits, run it again to go on"
    print(
        f"{outcome.portal}: {outcome.new} new listings, {outcome.kept} in all; {outcome.pages} pages in"
        f" {outcome.seconds:.0f} s, {outcome.quarantined} to quarantine, {outcome.dead} given up{rest}"
    )
    print(f"what the workers said: {outcome.logs}")


def submitted(told: Submitted, *, as_json: bool) -> None:
    if as_json:
        _print_json(asdict(told))
    else:
        print(f"job {told.job}: {told.seeds} seeds for {told.portal}; `realestate status` shows how it goes")


def status(found: Status, *, as_json: bool) -> None:
    if as_json:
        _print_json(
            {
                "running": found.redis_url is not None,
                "portals": {
                    name: {
                        "seeds": portal.state.seeds,
                        "ready": portal.state.ready,
                        "delayed": portal.state.delayed,
                        "in_flight": portal.state.in_flight,
                        "workers": len(portal.state.workers),
                        "pace": str(portal.state.pace),
                        "dead_letters": portal.state.dead,
                        "listings": portal.listings,
                        "quarantined": portal.quarantined,
                    }
                    for name, portal in found.portals.items()
                },
            }
        )
    elif found.redis_url is None:
        print("nothing is running here: start with `realestate crawl <portal>`, or set REDIS_URL and STORE_URL")
    else:
        _console.print(_status_table(found))


def letters(found: Sequence[DeadLetter], *, as_json: bool) -> None:
    if as_json:
        _print_json([{"id": each.id.hex(), "at": each.at.isoformat(), **each.told} for each in found])
        return
    table = Table()
    for name in ("id", "at", "reason", "error", "what"):
        table.add_column(name, overflow="fold")
    for each in found:
        what = each.told.get("url") or each.told.get("seed") or each.told.get("value") or ""
        at = each.at.isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
        table.add_row(each.id.hex(), at, each.told["reason"], escape(each.told["error"]), escape(what))
    _console.print(table)


def reparsed(told: Reparsed, *, dry_run: bool, as_json: bool) -> None:
    pages, listings, fields = dict(told.pages), dict(told.listings), dict(told.fields)
    if as_json:
        counted = {"dry_run": dry_run, "pages": pages, "listings": listings, "fields": fields}
        _print_json({"portal": told.portal, "job": told.job, **counted, "changes": told.changes, "broken": told.broken})
        return
    for change in told.changes[:_CHANGES_SHOWN]:
        print(f"{change.ref}: {change.name}: {reprlib.repr(change.old)} -> {reprlib.repr(change.new)}")
    for url, reason in told.broken[:_CHANGES_SHOWN]:
        print(f"still broken: {url}: {reason}")
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in told.pages.most_common()) or "none"
    print(f"{told.portal}: {told.pages.total()} pages: {outcomes}")
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in told.listings.most_common()) or "none"
    print(f"listings{', if it were not a dry run' if dry_run else ''}: {outcomes}")
    if fields:
        print(f"fields: {', '.join(f'{name} {count}' for name, count in told.fields.most_common())}")


def _status_table(found: Status) -> Table:
    names = ("workers", "seeds", "ready", "delayed", "in flight", "dead", "listings", "quarantine")
    table = _table("portal", *names)
    table.add_column("pace")
    for name, portal in found.portals.items():
        state = portal.state
        counts = (len(state.workers), state.seeds, state.ready, state.delayed, state.in_flight, state.dead)
        table.add_row(name, *_numbers(*counts, portal.listings, portal.quarantined), str(state.pace))
    return table


def doctor(findings: Sequence[Finding], *, as_json: bool) -> None:
    if as_json:
        _print_json([asdict(finding) for finding in findings])
        return
    for finding in findings:
        print(f"{'ok ' if finding.ok else 'BAD'}  {finding.what:<8} {finding.found}")
        if finding.remedy:
            print(f"     {'':<8} -> {finding.remedy}")


def _table(first: str, *numbers: str) -> Table:
    table = Table()
    table.add_column(first)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def _numbers(*values: int | None) -> list[str]:
    return ["" if value is None else f"{value:,}" for value in values]


def _print_json(value: Any) -> None:
    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
