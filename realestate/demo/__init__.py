"""The demo: a whole crawl of simulated portals, and the proof that what is stored is the truth.

PostgreSQL and the simulator need a second or two to start. This module imports little, so that they start at once.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from realestate import embedded
from realestate.demo.simulators import starting_simulator

if TYPE_CHECKING:
    from realestate.demo.crawl import Outcome, Show


@contextmanager
def starting(*, listings: int, workers: int, seed: int) -> "Iterator[Callable[[Show], Outcome]]":
    """Start everything in a temporary folder and yield the function that runs the demo, with the code of production."""
    with (
        tempfile.TemporaryDirectory(prefix="realestate-demo-", ignore_cleanup_errors=True) as folder,
        embedded.starting(home := Path(folder, "services")) as services,
        starting_simulator(Path(folder, "simulator.log"), listings, seed) as simulator,
    ):
        from realestate.demo import crawl

        with crawl.beginning(services, home, simulator(), workers, logs=Path(folder)) as run:
            yield run
