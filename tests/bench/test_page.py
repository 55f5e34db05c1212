"""What `bench --write` leaves in a folder."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import Goal, Measure
from bench.results import page

PROSE = f"# Performance\n\nWhy we measure.\n\n{page.BEGIN}\nold\n{page.END}\n\nHow to repeat it.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / page.PAGE).write_text(PROSE, "utf-8")
    return tmp_path


def measure(name: str, *, suite: str = "crawl", ratio: float = 2.5, unit: str = "pages/s") -> Measure:
    return Measure(
        name=name,
        suite=suite,
        value=ratio * 100,
        unit=unit,
        goal=Goal(of="ratio", minimum=2),
        peer="plain Scrapy",
        peer_value=100,
        spread=0.1,
        peer_spread=0.2,
    )


def test_the_text_around_the_marks_stays(folder: Path) -> None:
    page.write(folder, [measure("immoweb: realestate, all on")])
    text = (folder / page.PAGE).read_text("utf-8")
    assert text.startswith("# Performance\n\nWhy we measure.\n\n<!--")
    assert text.endswith("-->\n\nHow to repeat it.\n")
    assert "\nold\n" not in text
    assert "| immoweb: realestate, all on | 250 pages/s ±5% | 100 (plain Scrapy) | 2.50 × | ≥ 2 × | ok |" in text


def test_a_goal_that_is_missed_is_not_hidden(folder: Path) -> None:
    page.write(folder, [measure("immoweb: realestate, all on", ratio=1.9)])
    assert "**missed**" in (folder / page.PAGE).read_text("utf-8")


def test_suites_that_were_not_measured_keep_their_numbers(folder: Path) -> None:
    page.write(folder, [measure("a"), measure("b"), measure("c", suite="queue")])
    page.write(folder, [measure("b", ratio=5)])
    known = json.loads((folder / page.NUMBERS).read_text())
    assert [(each["suite"], each["name"], each["ratio"]) for each in known] == [("crawl", "b", 5), ("queue", "c", 2.5)]


def test_the_same_numbers_make_the_same_files(folder: Path) -> None:
    found = [measure("immoweb: realestate, all on"), measure("immoweb: Crawlee"), measure("emlak: Crawlee")]
    page.write(folder, found)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    page.write(folder, found)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    assert ElementTree.fromstring(before[page.PICTURE]).tag.endswith("svg")


def test_without_a_crawl_there_is_no_picture(folder: Path) -> None:
    page.write(folder, [measure("push", suite="queue")])
    assert not (folder / page.PICTURE).exists()
    assert page.PICTURE not in (folder / page.PAGE).read_text("utf-8")


@pytest.mark.parametrize("text", [None, "", page.BEGIN, f"{page.END} {page.BEGIN}"])
def test_a_folder_without_such_a_page_is_refused(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / page.PAGE).write_text(text)
    with pytest.raises(page.NoPage, match=r"performance\.md"):
        page.check(tmp_path)


def test_our_own_page_has_the_marks() -> None:
    page.check(Path(__file__).parents[2] / "docs")
