"""Services for all suites of a test process: starting them takes longer than a suite's small run."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench import Context
from realestate import embedded


@pytest.fixture(scope="session")
def bench_services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[embedded.Services]:
    with embedded.services(tmp_path_factory.mktemp("bench")) as services:
        yield services


@pytest.fixture(scope="module")
def small(
    bench_services: embedded.Services, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[float], Context]]:
    """A context of this scale, for one round."""
    with ExitStack() as stack:

        def make(scale: float) -> Context:
            folder: Path = tmp_path_factory.mktemp("suite")
            return stack.enter_context(Context(bench_services, folder, scale=scale, rounds=1))

        yield make
