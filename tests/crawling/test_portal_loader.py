"""Load one portal's spider without the others, or all of them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from scrapy import Request

from realestate.crawling.portal_loader import BrokenPortal, PortalLoader
from realestate.jobs.work import all_portals, project_settings

ONE = """
import json, sys
from realestate.jobs.work import spider_class
print(json.dumps([spider_class("immoweb").name, *sys.modules]))
"""
MISNAMED = """
from scrapy import Spider

class Other(Spider):
    name = "other"
"""


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of spiders. One of them is not in the file of its name."""
    package = tmp_path / f"spiders_of_{tmp_path.name}"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "misnamed.py").write_text(MISNAMED)
    monkeypatch.syspath_prepend(tmp_path)
    return package


def loader_of(package: Path) -> PortalLoader:
    return PortalLoader([package.name])


def test_one_portal_is_loaded_without_the_others() -> None:
    done = subprocess.run([sys.executable, "-c", ONE], capture_output=True, text=True, check=True)
    name, *modules = json.loads(done.stdout)
    assert name == "immoweb"
    assert "realestate.spiders.immoweb" in modules
    assert "realestate.spiders.bina" not in modules


def test_all_spiders_can_be_listed() -> None:
    loader = PortalLoader.from_settings(project_settings())
    assert loader.load("tap").name == "tap"
    assert sorted(loader.list()) == all_portals()
    assert loader.find_by_request(Request("https://www.immoweb.be/en")) == ["immoweb"]


def test_a_spider_in_another_file_is_found(elsewhere: Path) -> None:
    assert loader_of(elsewhere).load("other").__name__ == "Other"


@pytest.mark.parametrize("name", ["nobody", "", ".", "words", "words.bina", "engine", "../immoweb", "a\nb", "os"])
def test_an_unknown_spider_is_an_error(name: str) -> None:
    with pytest.raises(KeyError, match="Spider not found"):
        PortalLoader.from_settings(project_settings()).load(name)


def test_a_broken_spider_is_not_hidden(elsewhere: Path) -> None:
    (elsewhere / "broken.py").write_text("import nothing_of_this_name")
    with pytest.raises(BrokenPortal, match="line 1: ModuleNotFoundError: No module named 'nothing_of_this_name'"):
        loader_of(elsewhere).load("broken")


def test_a_broken_spider_is_reported_once_and_does_not_hide_the_others(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (elsewhere / "broken.py").write_text("x = 1\ny = (\n")
    loader = loader_of(elsewhere)
    assert loader.list() == loader.list() == ["other"]
    assert loader_of(elsewhere).list() == ["other"]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("realestate: warning: the portal file ")
    assert line.endswith("broken.py cannot be loaded, line 2: SyntaxError: '(' was never closed")
