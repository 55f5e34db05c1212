"""The command `python -m bench`: measures the chosen suites, prints a table, compares, writes the page.

It runs from a checkout only: the package that users install does not contain it.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import bench
from bench import Measure
from bench.results import comparing, page
from bench.results.wording import amount, number
from realestate.cli import errors as cli_errors

STDOUT = Path("-")

app = typer.Typer(
    name="bench",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(epilog="Example: python -m bench crawl --compare docs/performance.json")
def measure(
    suites: Annotated[
        list[str] | None,
        typer.Argument(
            help="What to measure: adversary, crawl, growth, homes, operations, out, parse, queue, scale, startup,"
            " store, web; all by default."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: shows that it works, not how fast.")] = False,
    json: Annotated[Path | None, typer.Option(help="Write the measures to this file too; - prints them.")] = None,
    compare: Annotated[
        Path | None, typer.Option(help="Fail if a ratio fell by more than 15 % since this file.")
    ] = None,
    write: Annotated[
        Path | None, typer.Option(help="Put table and picture into performance.md of this folder.")
    ] = None,
) -> None:
    """Measure beside peers in the same run; success only if every goal holds.

    All suites together take an hour or two on two cores. Nothing else should run on the machine meanwhile. The ratios
    are what counts: both sides of a ratio were measured in turns. The peers come with `pip install -e '.[bench]'`; a
    peer that is not installed is left out.
    """
    raise typer.Exit(measure_and_report(suites or [], quick=quick, json=json, compare=compare, write=write))


def measure_and_report(
    suites: Sequence[str], *, quick: bool, json: Path | None, compare: Path | None, write: Path | None
) -> int:
    """Measure the suites and return the exit code. Wrong arguments raise UsageError before anything is measured."""
    try:
        names = bench.chosen(suites)
        recorded = comparing.read(compare) if compare else []
        if write:
            page.check(write)
    except (bench.NoSuchSuite, comparing.NoRecord, page.NoPage) as error:
        raise cli_errors.UsageError(str(error)) from error
    measures, errors = _measure_all(names, quick, Console(stderr=json == STDOUT), write)
    if json == STDOUT:
        print(bench.as_json(measures))
    elif json:
        json.write_text(bench.as_json(measures))
    if compare:
        errors += _compare(measures, recorded, compare)
    for line in errors:
        print(line, file=sys.stderr)
    return 0 if not errors and all(each.ok for each in measures) else 1


def _measure_all(
    names: Sequence[str], quick: bool, console: Console, write: Path | None
) -> tuple[list[Measure], list[str]]:
    """Return the measures of all suites, and one line for each suite that failed.

    A suite that fails does not stop the others. Each suite is written to the page before the next one begins: all of
    them take hours, and somebody may stop them.
    """
    measures: list[Measure] = []
    errors = []
    with table(console) as show:
        for name in names:
            try:
                measured = bench.run(name, show, quick=quick)
            except bench.DoesNotCount as error:
                errors.append(f"{name} does not count: {error}")
                continue
            measures += measured
            if write:
                page.write(write, measured)
    return measures, errors


def _compare(measures: Sequence[Measure], recorded: Sequence[comparing.Recorded], file: Path) -> list[str]:
    """Return one line for each ratio that fell since the file was written."""
    count = comparing.compared(measures, recorded)
    print(f"{count} ratios compared with {file}", file=sys.stderr)
    if comparing.held(measures) and not count:
        return [f"nothing measured is in {file}"]
    return comparing.fallen(measures, recorded)


@contextmanager
def table(console: Console) -> Iterator[Callable[[Measure], None]]:
    """Print one line as soon as a measure is there, and a table of all measures at the end."""
    rows = Table()
    rows.add_column("suite")
    rows.add_column("measure")
    rows.add_column("value", justify="right")
    rows.add_column("beside", justify="right")
    rows.add_column("ratio", justify="right")
    rows.add_column("goal")
    rows.add_column("")

    def show(each: Measure) -> None:
        value = amount(each.value, each.unit, each.spread)
        console.print(f"{each.suite}: {each.name}: {value}", highlight=False)
        peer = f"{number(each.peer_value)} {each.peer}" if each.peer_value is not None else ""
        ratio = f"{each.ratio:.2f} ×" if each.ratio is not None else ""
        goal = str(each.goal)
        verdict = ""
        if goal:
            verdict = "ok" if each.ok else "MISSED"
        rows.add_row(each.suite, each.name, value, peer, ratio, goal, verdict)

    yield show
    console.print(rows)


if __name__ == "__main__":
    sys.exit(cli_errors.run(app))
