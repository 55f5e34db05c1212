"""How measures look on a terminal, and what becomes of them."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

import bench as room
from bench import Measure
from bench.results import comparing, page
from bench.results.wording import amount, number
from realestate.cli.failures import UsageError

STDOUT = Path("-")


def bench(suites: Sequence[str], *, quick: bool, json: Path | None, compare: Path | None, write: Path | None) -> int:
    """The exit code. What can be wrong with the arguments is said before anything is measured."""
    try:
        names = room.chosen(suites)
        recorded = comparing.read(compare) if compare else []
        if write:
            page.check(write)
    except (room.NoSuchSuite, comparing.NoRecord, page.NoPage) as error:
        raise UsageError(str(error)) from error
    found, failures = _measured(names, quick, Console(stderr=json == STDOUT), write)
    if json == STDOUT:
        print(room.as_json(found))
    elif json:
        json.write_text(room.as_json(found))
    if compare:
        failures += _compared(found, recorded, compare)
    for line in failures:
        print(line, file=sys.stderr)
    return 0 if not failures and all(measure.ok for measure in found) else 1


def _measured(
    names: Sequence[str], quick: bool, console: Console, write: Path | None
) -> tuple[list[Measure], list[str]]:
    """One suite that fails leaves the others their turn, and one that was measured is written before the next begins:
    all together take hours, and somebody may stop them."""
    found: list[Measure] = []
    failures = []
    with table(console) as show:
        for name in names:
            try:
                measured = room.run(name, show, quick=quick)
            except room.DoesNotCount as error:
                failures.append(f"{name} does not count: {error}")
                continue
            found += measured
            if write:
                page.write(write, measured)
    return found, failures


def _compared(found: Sequence[Measure], recorded: Sequence[comparing.Recorded], file: Path) -> list[str]:
    count = comparing.compared(found, recorded)
    print(f"{count} ratios compared with {file}", file=sys.stderr)
    if comparing.held(found) and not count:
        return [f"nothing measured is in {file}"]
    return comparing.fallen(found, recorded)


@contextmanager
def table(console: Console) -> Iterator[Callable[[Measure], None]]:
    """A line as soon as each is measured, a table of all at the end."""
    found = Table()
    for name in ("suite", "measure"):
        found.add_column(name)
    for name in ("value", "beside", "ratio"):
        found.add_column(name, justify="right")
    found.add_column("goal")
    found.add_column("")

    def show(measure: Measure) -> None:
        value = amount(measure.value, measure.unit, measure.spread)
        console.print(f"{measure.suite}: {measure.name}: {value}", highlight=False)
        peer = f"{number(measure.peer_value)} {measure.peer}" if measure.peer_value is not None else ""
        ratio = f"{measure.ratio:.2f} ×" if measure.ratio is not None else ""
        goal = str(measure.goal)
        verdict = "" if not goal else "ok" if measure.ok else "MISSED"
        found.add_row(measure.suite, measure.name, value, peer, ratio, goal, verdict)

    yield show
    console.print(found)
