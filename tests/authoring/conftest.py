"""A checkout of one's own: what the tools write must not land among the project's files."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Nothing here takes so long unless it is broken; a busy machine is slow.
PATIENCE = 120

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "realestate", folder / "realestate", ignore=ignored)
    (folder / "tests").mkdir()
    shutil.copytree(ROOT / "tests" / "portals", folder / "tests" / "portals")
    for name in (
        "__init__.py",
        "conftest.py",
        "recorded.py",
        "mutations.py",
        "mongodb.py",
        "redis_process.py",
        "test_portals.py",
        "test_spiders.py",
        "test_mutations.py",
    ):
        shutil.copy(ROOT / "tests" / name, folder / "tests" / name)
    for name in ("scrapy.cfg", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture
def run(checkout: Path) -> Run:
    """`python -m …` in it, as its author would."""

    def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if name != "SIMULATOR_URL"}
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            env={**kept, "PYTHONPATH": str(checkout), "REALESTATE_HOME": str(checkout / "home"), **env},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            cwd=checkout,
            check=False,
        )

    return run
