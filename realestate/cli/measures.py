"""How measures look on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.table import Table

from realestate.bench import Measure


@contextmanager
def table() -> Iterator[Callable[[Measure], None]]:
    """A line as soon as each is measured, a table of all at the end."""
    console, found = Console(), Table()
    found.add_column("measure")
    for name in ("ours", "peer", "ratio"):
        found.add_column(name, justify="right")
    found.add_column("goal")
    found.add_column("")

    def show(measure: Measure) -> None:
        console.print(f"{measure.name}: {measure.value:,.3g} {measure.unit}", highlight=False)
        ours = f"{measure.value:,.4g} {measure.unit} ±{measure.spread / 2:.0%}"
        peer = f"{measure.peer_value:,.4g} {measure.peer}" if measure.peer_value is not None else ""
        ratio = f"{measure.ratio:.2f} ×" if measure.ratio is not None else ""
        found.add_row(measure.name, ours, peer, ratio, str(measure.goal), "ok" if measure.ok else "MISSED")

    yield show
    console.print(found)
