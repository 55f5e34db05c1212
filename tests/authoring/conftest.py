"""A copy of the checkout, so that the tools do not write into the project."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from realestate.authoring import project_files
from realestate.cli import app, errors

ROOT = Path(__file__).parents[2]
#: A busy machine is slow; a command that takes longer is broken.
TIMEOUT_SECONDS = 120


class Done(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


def copy_of_the_project(folder: Path) -> Path:
    """Copy the checkout with its compiled files: compiling takes longer than most commands."""
    shutil.copytree(ROOT / "realestate", folder / "realestate")
    shutil.copytree(ROOT / "tests" / "portals", folder / "tests" / "portals")
    (folder / "tests" / "web").mkdir()  # tests/conftest.py imports it
    for path in (*(ROOT / "tests").glob("*.py"), *(ROOT / "tests" / "web").glob("*.py")):
        shutil.copy(path, folder / path.relative_to(ROOT))
    for name in ("scrapy.cfg", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def shared_checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout shared by tests that only add files, each under its own name."""
    return copy_of_the_project(tmp_path_factory.mktemp("shared") / "checkout")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout for one test that changes files."""
    return copy_of_the_project(tmp_path / "checkout")


def run_in(folder: Path, *arguments: str, **env: str) -> Done:
    """Run `python -m …` in a checkout."""
    kept = {name: value for name, value in os.environ.items() if name != "SIMULATOR_URL"}
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        env={**kept, "PYTHONPATH": str(folder), "REALESTATE_HOME": str(folder / "home"), **env},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        cwd=folder,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def command(
    shared_checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    """`realestate …` in this process, for commands that fetch nothing. They write into the shared checkout."""
    monkeypatch.setattr(project_files, "root", lambda: shared_checkout)
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGALRM)}

    def command(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["realestate", *arguments])
        capsys.readouterr()
        code = errors.run(app)
        return Done(code, *capsys.readouterr())

    yield command
    for number, handler in handlers.items():
        signal.signal(number, handler)
