"""A command ends when it is interrupted, and prints each expected error on one line."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from realestate import settings
from realestate.cli import app, errors
from realestate.jobs.work import all_portals

#: Python swallows exceptions in destructors, and so in the locks of modules that are being imported.
COMMAND = """
import signal, sys, time
import typer
from realestate.cli import errors

class Module:
    def __del__(self):
        signal.raise_signal(signal.{signal})

app = typer.Typer()

@app.command()
def work():
    lock = Module()
    del lock
    print("at work", flush=True)
    time.sleep(60)

sys.exit(errors.run(app))
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_an_interrupt_that_python_swallows_is_raised_again(name: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", COMMAND.format(signal=name)], capture_output=True, text=True, timeout=50, check=False
    )
    assert "at work" in ended.stdout, "the first interrupt was swallowed"
    assert ended.returncode == 130
    assert ended.stderr == "realestate: stopped; run the command again to continue\n"


def test_any_other_exception_that_python_swallows_is_printed() -> None:
    command = COMMAND.replace("signal.raise_signal(signal.{signal})", "raise ValueError('broken')")
    command = command.replace("time.sleep(60)", "")
    ended = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, timeout=50, check=False)
    assert ended.returncode == 0
    assert "ValueError: broken" in ended.stderr


def test_the_old_bench_command_names_the_new_one() -> None:
    result = CliRunner().invoke(app, ["bench", "crawl", "--quick", "--json", "-"])
    assert result.exit_code == 2
    assert "`python -m bench`" in result.stderr


Output = tuple[int, str, str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., Output]]:
    """Runs `realestate …` in this process; returns the exit code, stdout and stderr."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGALRM)}
    hook = sys.unraisablehook

    def run_command(*arguments: str) -> Output:
        monkeypatch.setattr(sys, "argv", ["realestate", *arguments])
        code = errors.run(app)
        output = capsys.readouterr()
        return code, output.out, output.err

    yield run_command
    sys.unraisablehook = hook
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def fleet_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The servers that are configured cannot be reached."""
    monkeypatch.setattr(settings, "REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setattr(settings, "STORE_URL", "postgresql://somebody:secret@127.0.0.1:1/x")


@pytest.fixture
def laptop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No server is configured, and nothing was crawled yet. Returns the folder for data."""
    monkeypatch.setattr(settings, "REDIS_URL", None)
    monkeypatch.setattr(settings, "STORE_URL", None)
    monkeypatch.setattr(settings, "REALESTATE_HOME", tmp_path / "home")
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["submit", "emlak"], 1, ["127.0.0.1", "refused"]),  # the job is stored before its seeds are pushed
        (["pause", "emlak"], 1, ["Redis", "127.0.0.1:1", "REDIS_URL"]),
        (["deadletters", "list", "emlak"], 1, ["Redis", "127.0.0.1:1", "REDIS_URL"]),
        (["jobs", "list"], 1, ["127.0.0.1", "refused"]),
        (["runs", "list"], 1, ["127.0.0.1", "refused"]),
        (["history", "emlak", "1"], 1, ["127.0.0.1", "refused"]),
        (["deadletters", "list", "nowhere"], 2, ["no portal 'nowhere'", "emlak"]),
        (["reparse", "--portal", "nowhere"], 2, ["no portal 'nowhere'", "emlak"]),
        (["portal", "parse", "emlak", "/no/such/file"], 1, ["/no/such/file"]),
        (["portal", "parse", "emlak", __file__, "--hints", "["], 2, ["--hints", "JSON object"]),
        (["jobs", "aply"], 2, ["aply"]),
        (["jobs", "apply"], 2, ["job"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
@pytest.mark.usefixtures("fleet_away")
def test_an_expected_error_is_one_line_that_says_what_failed(
    run: Callable[..., Output], arguments: list[str], code: int, words: list[str]
) -> None:
    found, _, stderr = run(*arguments)
    lines = [line for line in stderr.splitlines() if "warning: `realestate runs`" not in line]
    assert len(lines) == 1, stderr
    assert lines[0].startswith("realestate: ")
    assert [word for word in words if word not in lines[0]] == []
    assert "secret" not in stderr
    assert found == code


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["crwal"], "crwal"),
        (["crawl"], "portal"),
        (["crawl", "nowhere"], f"no portal 'nowhere'; the portals are: {', '.join(all_portals())}"),
        (["crawl", "emlak", "not-an-address"], "not-an-address"),
        (["crawl", "emlak", "https://example.com/x"], "not a URL of https://emlak.az"),
        (["crawl", "emlak", "--limit", "many"], "--limit"),
        (["crawl", "emlak", "--workers", "0"], "--workers"),
        (["crawl", "immoweb", "--operation", "lease"], "operation 'lease' is not known: one of sale, rent"),
        (["crawl", "immoweb", "--type", "castle"], "type 'castle' is not known: one of apartment, house"),
        (["crawl", "bina", "--city", "paris"], "bina can search these cities: baki"),
        (["crawl", "bina", "--type", "room"], "bina has these types: apartment"),
        (["crawl", "finance", "--city", "gent"], "finance has no operation, type or city"),
        (
            ["crawl", "daft", "https://www.daft.ie/about-us"],
            "a search looks like https://www.daft.ie/property-for-sale",
        ),
        (["crawl", "immoweb", "https://www.immoweb.be/en/search/castle/for-sale"], "an unknown kind of search"),
        (["crawl", "bina", "https://bina.az/kiraye?colour=red"], "unknown filter colour=red"),
        (
            ["crawl", "https://www.immoweb.be/en/search/house/for-sale"],
            "`realestate crawl immoweb 'https://www.immoweb.be/en/search/house/for-sale'`",
        ),
        (["crawl", "https://homes.example/1"], "no portal reads homes.example: `realestate portals` lists the sites"),
        (["crawl"], "Missing argument 'portal'; see `realestate crawl --help`"),
        (["portal", "record", "emlak", "x"], "Missing option '--as'; see `realestate portal record --help`"),
        (["work", "nowhere"], "nowhere"),
        (["demo", "--listings", "-5"], "--listings"),
        (["simulate", "--port", "x"], "--port"),
        (["status", "--yaml"], "--yaml"),
        (["submit", "emlak"], "REDIS_URL"),
        (["submit", "nowhere"], "nowhere"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_wrong_argument_is_one_line_of_error_and_exit_code_2(
    run: Callable[..., Output], laptop: Path, arguments: list[str], message: str
) -> None:
    code, stdout, stderr = run(*arguments)
    assert code == 2
    assert stdout == ""
    (line,) = stderr.splitlines()
    assert line.startswith("realestate: ")
    assert message in line
    assert not laptop.exists(), "nothing was started"


def helps(command: Any, words: list[str]) -> Iterator[list[str]]:
    """The words of every command that is not hidden."""
    for name, each in getattr(command, "commands", {}).items():
        if not each.hidden:
            yield [*words, name]
            yield from helps(each, [*words, name])


@pytest.mark.parametrize("words", list(helps(get_command(app), [])), ids=" ".join)
def test_the_help_of_every_command_has_an_example_of_it(words: list[str]) -> None:
    result = CliRunner().invoke(app, [*words, "--help"])
    assert result.exit_code == 0
    assert f"Example: realestate {' '.join(words)}" in " ".join(result.stdout.split())


def test_a_wrong_choice_is_said_without_words_of_the_library() -> None:
    command = [sys.executable, "-m", "realestate", "export", "listings", "--format", "pdf"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert ended.returncode == 2
    assert "'pdf' is not one of" in ended.stderr
    assert "Value error" not in ended.stderr
