"""The demo: a whole crawl of simulated portals, and the proof that what is stored is the truth.

PostgreSQL and the simulator need a second or two to start. This module imports little, so that they start at once.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from realestate import embedded
from realestate.demo.simulators import starting_simulator

if TYPE_CHECKING:
    from realestate.demo.crawl import Outcome, Show


class DemoRuns(RuntimeError):
    """Another command uses the data of the last demo."""


@contextmanager
def starting(home: Path, *, listings: int, workers: int, seed: int) -> "Iterator[Callable[[Show], Outcome]]":
    """Start everything in `home` and yield the function that runs the demo, with the code of production.

    What an earlier demo stored there is deleted first. What this one stores stays."""
    _empty(home)
    with (
        embedded.starting(home) as services,
        starting_simulator(home / "simulator.log", listings, seed) as simulator,
    ):
        from realestate.demo import crawl

        with crawl.beginning(services, home, simulator(), workers, logs=home / "logs") as run:
            yield run


def _empty(home: Path) -> None:
    if embedded.running(home) is not None:
        raise DemoRuns(f"another command uses {home}: end it first")
    if home.exists() and not embedded.is_used(home):
        raise DemoRuns(f"{home} is not a folder of the demo: move it away")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
