"""What the commands print on a narrow terminal: help pages and tables, with nothing cut."""

import pytest
import typer
from typer.testing import CliRunner

from realestate.cli import app, terminal
from realestate.cli.terminal import columns, print_columns
from realestate.jobs.fleet import State
from realestate.jobs.local import Progress
from realestate.queue.rate_limit import RateLimit
from realestate.queue.workers import HeartbeatData

GROUPS = [
    name
    for name, command in typer.main.get_command(app).commands.items()  # type: ignore[attr-defined]
    if hasattr(command, "commands")
]
HEADER = ["job", "portal", "new", "result"]
ROWS = [["eb7a4635f35a", "immoweb", "20", "not complete, at most 20 listings"], ["b94b045fe1ad", "tap", "1,020", ""]]


@pytest.mark.parametrize("words", [[], *([group] for group in GROUPS)], ids=lambda words: " ".join(words) or "all")
def test_a_help_page_cuts_no_sentence_and_fits_80_columns(words: list[str]) -> None:
    page = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).output
    commands = page.partition("Options:")[2].splitlines()
    assert len(commands) > 3
    assert [line for line in commands if line.endswith(("...", "…"))] == []
    assert max(map(len, commands)) <= 80


def test_progress_that_is_no_terminal_is_one_line_however_many_portals(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "_LINE_SECONDS", 0.0)
    waiting = State(seeds=1, ready=0, delayed=0, in_flight=0, dead=0, open_jobs=0, rate_limit=RateLimit(), workers={})
    names = [f"portal{number}" for number in range(12)]
    with terminal.crawl_progress() as show:
        show(Progress(dict.fromkeys(names, waiting), 5.0))
    (line,) = capsys.readouterr().err.splitlines()
    assert all(f"{name} 0 pages, 0 stored, 1 waiting; no worker yet" in line for name in names)


def test_progress_says_why_a_portal_waits(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(terminal, "_LINE_SECONDS", 0.0)
    limit = RateLimit(rate=2.0, factor=0.25, reason="ban page: [captcha]")
    workers = {"w": HeartbeatData(pages=1)}
    slowed = State(seeds=0, ready=9, delayed=0, in_flight=1, dead=0, open_jobs=1, rate_limit=limit, workers=workers)
    with terminal.crawl_progress() as show:
        show(Progress({"bina": slowed}, 5.0))
    assert "9 waiting; 0.5/s: ban page: [captcha]\n" in capsys.readouterr().err


def test_a_number_and_its_noun_agree() -> None:
    assert [terminal.counted(number, "page") for number in (0, 1, 1200)] == ["0 pages", "1 page", "1,200 pages"]


def test_columns_that_fit_stay_side_by_side() -> None:
    assert columns(HEADER, ROWS, left=2, width=80) == [
        "job           portal     new  result",
        "eb7a4635f35a  immoweb     20  not complete, at most 20 listings",
        "b94b045fe1ad  tap      1,020",
    ]


def test_columns_that_do_not_fit_follow_below_their_row() -> None:
    assert columns(HEADER, ROWS, left=2, width=40) == [
        "job           portal     new",
        "eb7a4635f35a  immoweb     20",
        "    not complete, at most 20 listings",
        "b94b045fe1ad  tap      1,020",
    ]
    assert columns(HEADER, ROWS, left=2, width=25) == [
        "job           portal",
        "eb7a4635f35a  immoweb",
        "    new 20, not complete, at most 20 listings",
        "b94b045fe1ad  tap",
        "    new 1,020",
    ]


def test_a_number_that_follows_below_its_row_has_its_name() -> None:
    header = ["week", "median", "yield"]
    rows = [["2026-11-02", "180,000", "4 %"], ["2026-11-09", "181,000", ""]]
    assert columns(header, rows, left=1, last_is_text=False, width=80)[1] == "2026-11-02  180,000    4 %"
    assert columns(header, rows, left=1, last_is_text=False, width=20) == [
        "week         median",
        "2026-11-02  180,000",
        "    yield 4 %",
        "2026-11-09  181,000",
    ]


def test_a_long_text_stays_beside_a_few_short_columns() -> None:
    url = "https://www.immoweb.be/en/search-results/house/for-sale?countries=BE&page=1"
    assert columns(["results", "search"], [["4", url]], left=0, width=80)[1] == f"      4  {url}"


def test_a_table_without_rows_is_a_sentence_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    print_columns(HEADER, [], empty="no jobs yet")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "no jobs yet\n")
