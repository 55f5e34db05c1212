"""The JavaScript of others is what `make vendor` copied, has its licences, and is in the wheel."""

import json
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from realestate.web.pages import static
from tests.web.vendor import SHIPPED, SUMS, TESTS, checksum

ROOT = Path(__file__).parents[2]
VENDOR = ROOT / "realestate" / "web" / "static" / "vendor"
AXE = Path(__file__).parent / "axe"


@pytest.mark.parametrize(("folder", "files"), [(VENDOR, SHIPPED), (AXE, TESTS)], ids=["shipped", "tests"])
def test_no_file_was_changed_by_hand(folder: Path, files: dict[str, str]) -> None:
    sums = json.loads((folder / SUMS).read_text("utf-8"))
    assert sorted(sums) == sorted(files.values())
    assert {name: checksum(folder / name) for name in sums} == sums


def test_versions_are_pinned_and_name_no_registry() -> None:
    packages = json.loads((VENDOR / "package.json").read_text("utf-8"))
    lock = (VENDOR / "package-lock.json").read_text("utf-8")
    for name, version in {**packages["dependencies"], **packages["devDependencies"]}.items():
        assert version[0].isdigit()
        assert json.loads(lock)["packages"][f"node_modules/{name}"]["version"] == version
    assert "resolved" not in lock


def test_each_package_has_its_licence() -> None:
    packages = {source.partition("/")[0] for source in SHIPPED}
    licences = "".join(path.read_text("utf-8") for path in (VENDOR / "licences").iterdir())
    assert len(list((VENDOR / "licences").iterdir())) == len(packages) - 1  # terra-draw and its adapter have one
    for holder in ("Bostock", "MapLibre", "Milner", "Leon Sorokin"):
        assert holder in licences


def test_all_files_are_in_the_wheel() -> None:
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    patterns = configuration["tool"]["setuptools"]["package-data"]["*"]
    for path in (ROOT / "realestate" / "web").rglob("*"):
        if path.is_file() and path.suffix not in (".py", ".pyc"):
            assert any(fnmatch(path.name, pattern) for pattern in patterns), path


def test_only_files_of_the_folder_are_served() -> None:
    assert "vendor/maplibre-gl.mjs" in static.files()
    assert static.static("pages.css") == f"/static/{static.version()}/pages.css"
    with pytest.raises(KeyError):
        static.static("../templates/base.html")
    assert all(".." not in name for name in static.files())
