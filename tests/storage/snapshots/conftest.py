"""Writers that are closed at the end of their test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from realestate.storage.snapshots import SnapshotWriter
from tests.storage.snapshots.examples import a_writer


@pytest.fixture
def make_writer() -> Iterator[Callable[..., SnapshotWriter]]:
    """Make writers that are closed at the end of the test."""
    with ExitStack() as stack:

        def make(url: str | Path, **changes: Any) -> SnapshotWriter:
            return stack.enter_context(closing(a_writer(url, **changes)))

        yield make
