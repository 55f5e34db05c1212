import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import bench
from bench import Goal, Measure
from bench.__main__ import app
from bench.results import page

Fake = Callable[..., list[str]]
GOAL = Goal(of="ratio", minimum=3)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Suites whose only measure has this ratio. Return the list of suites that were run."""

    def install(ratio: float, broken: str = "", goal: Goal = GOAL) -> list[str]:
        ran: list[str] = []

        def run(suite: str, show: Callable[[Measure], None], *, quick: bool) -> list[Measure]:
            ran.append(suite)
            if suite == broken:
                raise bench.DoesNotCount("3 listings are missing")
            found = Measure(name="speed", suite=suite, value=ratio, unit="x/s", goal=goal, peer="p", peer_value=1)
            show(found)
            return [found]

        monkeypatch.setattr(bench, "run", run)
        return ran

    return install


def invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, [*arguments])
    return result.exit_code, result.output


@pytest.mark.parametrize(("ratio", "code"), [(3.0, 0), (2.9, 1)])
def test_the_exit_code_is_0_only_if_every_goal_holds(fake: Fake, tmp_path: Path, ratio: float, code: int) -> None:
    fake(ratio)
    file = tmp_path / "out.json"
    found, output = invoke("queue", "--json", str(file))
    assert found == code
    assert "speed" in output
    assert [(each["name"], each["ok"]) for each in json.loads(file.read_text())] == [("speed", code == 0)]


def test_without_a_suite_all_are_run(fake: Fake) -> None:
    ran = fake(3.0)
    assert invoke()[0] == 0
    assert ran == bench.suites()
    assert {"crawl", "queue", "store", "parse", "scale", "growth", "startup"} <= set(ran)


def test_a_suite_without_a_valid_result_fails_and_the_others_still_run(fake: Fake) -> None:
    ran = fake(3.0, broken="queue")
    code, output = invoke("queue", "store")
    assert (code, ran) == (1, ["queue", "store"])
    assert "queue does not count: 3 listings are missing" in output


def test_the_json_output_has_only_the_measures(fake: Fake) -> None:
    fake(3.0)
    result = CliRunner().invoke(app, ["queue", "--json", "-"])
    assert [each["name"] for each in json.loads(result.stdout)] == ["speed"]


def test_a_ratio_that_fell_is_a_failure_though_its_goal_holds(fake: Fake, tmp_path: Path) -> None:
    file = tmp_path / "before.json"
    fake(4.0)
    assert invoke("queue", "--json", str(file))[0] == 0
    assert invoke("queue", "--compare", str(file))[0] == 0
    fake(3.3)
    code, output = invoke("queue", "--compare", str(file))
    assert code == 1
    assert "queue: speed: 3.30 ×, was 4.00 × (-18%)" in output


def test_nothing_to_compare_is_a_failure(fake: Fake, tmp_path: Path) -> None:
    file = tmp_path / "before.json"
    file.write_text("[]")
    fake(3.0)
    code, output = invoke("queue", "--compare", str(file))
    assert code == 1
    assert "nothing measured is in" in output


def test_a_measure_without_a_ratio_is_not_compared(fake: Fake, tmp_path: Path) -> None:
    file = tmp_path / "before.json"
    fake(4.0, goal=Goal(maximum=5))
    assert invoke("startup", "--json", str(file))[0] == 0
    fake(5.0, goal=Goal(maximum=5))
    assert invoke("startup", "--compare", str(file))[0] == 0


def test_the_page_is_written(fake: Fake, tmp_path: Path) -> None:
    (tmp_path / page.PAGE).write_text(f"{page.BEGIN}{page.END}")
    fake(3.0)
    assert invoke("queue", "--write", str(tmp_path))[0] == 0
    assert "3.00 ×" in (tmp_path / page.PAGE).read_text("utf-8")


def test_results_from_before_an_interrupt_are_written(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / page.PAGE).write_text(f"{page.BEGIN}{page.END}")
    fake(3.0)
    measured = bench.run

    def run(suite: str, show: Callable[[Measure], None], *, quick: bool) -> list[Measure]:
        if suite == "store":
            raise KeyboardInterrupt
        return measured(suite, show, quick=quick)

    monkeypatch.setattr(bench, "run", run)
    assert invoke("queue", "store", "--write", str(tmp_path))[0] != 0
    assert "### queue" in (tmp_path / page.PAGE).read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nonsense",), "there are"),
        (("queue", "nonsense"), "there are"),
        (("queue", "--compare", "nowhere.json"), "nowhere.json"),
        (("queue", "--write", "nowhere"), "performance.md"),
    ],
)
def test_a_wrong_argument_is_reported_before_anything_is_measured(
    fake: Fake, arguments: list[str], message: str
) -> None:
    ran = fake(3.0)
    result = CliRunner().invoke(app, [*arguments])
    assert result.exit_code != 0
    assert message in str(result.exception)
    assert ran == []


@pytest.mark.parametrize("suite", bench.suites())
def test_every_suite_is_in_the_help_and_on_the_page(suite: str) -> None:
    message = CliRunner().invoke(app, ["--help"]).output
    assert suite in message.partition("What to measure:")[2]
    assert f"| `{suite}` |" in (Path(__file__).parents[2] / "docs" / page.PAGE).read_text("utf-8")
