import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from realestate import bench
from realestate.bench import Goal, Measure
from realestate.cli import app

Fake = Callable[..., None]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    """A suite whose one measure has this value; the goal is 3 at least."""

    def install(value: float) -> None:
        found = Measure(name="speed", value=value, unit="x/s", goal=Goal(minimum=3), spread=0.1)

        def run(suite: str, show: Callable[[Measure], None], *, quick: bool) -> list[Measure]:
            show(found)
            return [found]

        monkeypatch.setattr(bench, "run", run)

    return install


@pytest.mark.parametrize(("value", "code"), [(3.0, 0), (2.9, 1)])
def test_the_exit_code_is_0_only_if_every_goal_holds(fake: Fake, tmp_path: Path, value: float, code: int) -> None:
    fake(value)
    file = tmp_path / "out.json"
    result = CliRunner().invoke(app, ["bench", "queue", "--json", str(file)])
    assert result.exit_code == code
    assert "speed" in result.output
    assert [(each["name"], each["ok"]) for each in json.loads(file.read_text())] == [("speed", code == 0)]


def test_a_suite_that_is_not_there_is_a_wrong_argument() -> None:
    result = CliRunner().invoke(app, ["bench", "nonsense"])
    assert result.exit_code != 0
    assert "there are" in str(result.exception)
