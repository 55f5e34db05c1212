"""Output of the commands: tables, progress and JSON. Progress goes to stderr, so that it never mixes with a result."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table

if TYPE_CHECKING:
    from realestate.jobs.fleet import State
    from realestate.jobs.local import Progress as CrawlProgress
    from realestate.jobs.state import JobState

#: Wide enough for any table: what is not a terminal has no width, and nothing may be cut there.
_WIDTH_OF_A_PIPE = 10_000

console = Console(width=None if sys.stdout.isatty() else _WIDTH_OF_A_PIPE)
_progress_console = Console(stderr=True, width=None if sys.stderr.isatty() else _WIDTH_OF_A_PIPE)
#: Between two columns.
_GAP = "  "
#: If the other columns take at most this share of a line, a long last column stays beside them.
_NARROW = 0.4
#: Before the columns that follow below their row.
_BELOW = "    "
#: How often progress is printed where stderr is no terminal.
_LINE_SECONDS = 5.0
_ENCODER = msgspec.json.Encoder(decimal_format="number", enc_hook=str)


def print_json(value: Any, *, indent: int = 2) -> None:
    """Print a value as JSON; with an indent of 0 on one line."""
    text = _ENCODER.encode(value)
    print((msgspec.json.format(text, indent=indent) if indent else text).decode())


def print_columns(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: int = 1,
    last_is_text: bool = True,
    empty: str = "",
) -> None:
    """Print columns of text, or if there are no rows the text `empty`, on stderr.

    The first `left` columns and a last one with text are aligned at the left. Nothing is ever cut, because a text that
    was cut could not be copied. On a terminal that is too narrow, the columns that do not fit follow below each row."""
    if not rows and empty:
        print(empty, file=sys.stderr)
        return
    for line in columns(header, rows, left=left, last_is_text=last_is_text, width=console.width):
        print(line)


def columns(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int, width: int, last_is_text: bool = True
) -> list[str]:
    """The lines of `print_columns` for a terminal of this width."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    last = len(widths) - 1
    ends = list(accumulate(widths, lambda end, each: end + len(_GAP) + each))
    beside = max(1, sum(end <= width for end in ends))
    if last_is_text and beside == last and ends[last - 1] <= width * _NARROW:
        beside = len(widths)  # the terminal breaks the long text
    lines = []
    for row in (header, *rows):
        cells = [
            cell.ljust(size) if place < left or (place == last and last_is_text) else cell.rjust(size)
            for place, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(_GAP.join(cells[:beside]).rstrip())
        if row is not header and beside <= last:
            # A text needs no name, a number does.
            below = [
                cell if place == last and last_is_text else f"{header[place]} {cell}"
                for place, cell in enumerate(row)
                if place >= beside and cell
            ]
            lines += [_BELOW + ", ".join(below)] if below else []
    return lines


def counted(number: int, noun: str) -> str:
    """`1 page`, `1,200 pages`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def number_table(first: str, *numbers: str) -> Table:
    """A table whose first column is text, and whose other columns are numbers."""
    table = Table()
    table.add_column(first, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", overflow="fold")
    return table


def number_cells(*values: int | None) -> list[str]:
    """One cell per number; None is an empty cell."""
    return ["" if value is None else f"{value:,}" for value in values]


@contextmanager
def crawl_progress(*, quiet: bool = False) -> Iterator[Callable[["CrawlProgress"], None]]:
    """A function that shows the progress of a crawl: a live table on a terminal, else a line every few seconds."""
    if quiet:
        yield lambda progress: None
    elif _progress_console.is_terminal:
        with Live("starting …", console=_progress_console, refresh_per_second=4, transient=True) as display:
            yield lambda progress: display.update(_progress_table(progress))
    else:
        yield _progress_lines()


def _progress_lines() -> Callable[["CrawlProgress"], None]:
    last = time.monotonic()

    def show(progress: "CrawlProgress") -> None:
        nonlocal last
        if time.monotonic() - last < _LINE_SECONDS:
            return
        last = time.monotonic()
        portals = (
            f"{portal} {counted(progress.total(portal, 'pages'), 'page')}, {progress.total(portal, 'stored')} stored,"
            f" {state.waiting} waiting{_slowed(state, '; ')}"
            for portal, state in progress.states.items()
        )
        _progress_console.print(f"{progress.seconds:4.0f} s  " + " · ".join(portals), highlight=False, markup=False)

    return show


def _slowed(state: "State", before: str) -> str:
    """Why a portal sends less than it may, such as a ban page."""
    if not state.workers and not state.finished:
        return f"{before}no worker yet"
    limit = str(state.rate_limit)
    return f"{before}{limit}" if ": " in limit else ""


def _progress_table(progress: "CrawlProgress") -> Table:
    table = number_table("portal", "workers", "waiting", "in flight", "pages", "pages/s", "listings", "dead")
    for portal, state in progress.states.items():
        pages = progress.total(portal, "pages")
        numbers = number_cells(
            len(state.workers),
            state.waiting,
            state.in_flight,
            pages,
            round(pages / progress.seconds) if progress.seconds > 1 else None,
            progress.total(portal, "stored"),
            state.dead,
        )
        table.add_row(portal, *numbers)
    why = "".join(_slowed(state, f"\n{portal}: ") for portal, state in progress.states.items())
    table.caption = escape(f"{progress.seconds:.0f} s{why}")
    return table


@contextmanager
def job_progress(*, quiet: bool = False) -> "Iterator[Callable[[JobState], None]]":
    """A function that shows the progress of one job: a bar on a terminal, else a line every few seconds."""
    if quiet:
        yield lambda state: None
    elif _progress_console.is_terminal:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rest]}"),
        )
        with Bar(*columns, console=_progress_console, transient=True) as bar:
            task = bar.add_task("queued", total=None, rest="")

            def show(state: "JobState") -> None:
                found = sum(each.found for each in state.pages.values()) or None
                bar.update(
                    task,
                    description=state.state,
                    total=found,
                    completed=state.done + state.failed,
                    rest=_job_line(state),
                )

            yield show
    else:
        last = 0.0

        def print_line(state: "JobState") -> None:
            nonlocal last
            if time.monotonic() - last >= _LINE_SECONDS:
                last = time.monotonic()
                _progress_console.print(f"{state.state}: {state.done:,} pages; {_job_line(state)}", highlight=False)

        yield print_line


def _job_line(state: "JobState") -> str:
    rate = f"{state.rate:.1f} pages/s, " if state.rate else ""
    return f"{rate}{state.new:,} new, {state.changed:,} changed, {state.gone:,} gone, {state.failed:,} failed"


@contextmanager
def counter(unit: str) -> Iterator[Callable[[str, int], None]]:
    """A function that shows how many units of a part are done, such as `listings: 1,200 records`."""
    last = time.monotonic()

    def show(part: str, count: int) -> None:
        nonlocal last
        if status is not None:
            status.update(f"{part}: {count:,} {unit}s")
        elif time.monotonic() - last >= _LINE_SECONDS:
            last = time.monotonic()
            print(f"{part}: {count:,} {unit}s", file=sys.stderr)

    if not _progress_console.is_terminal:
        status = None
        yield show
        return
    with _progress_console.status("…") as status:
        yield show


@contextmanager
def row_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function that shows how many rows of all are done: a bar on a terminal, else a line every few seconds."""
    if not _progress_console.is_terminal:
        yield _row_lines(what)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=_progress_console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, all: bar.update(task, completed=done, total=all)


def _row_lines(what: str) -> Callable[[int, int], None]:
    last = time.monotonic()

    def show(done: int, all: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _LINE_SECONDS:
            last = time.monotonic()
            print(f"{what}: {done:,} of {all:,} rows", file=sys.stderr)

    return show
