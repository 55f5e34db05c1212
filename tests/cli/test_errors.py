"""A command that is told to end does, wherever it is."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from realestate.cli import app

#: Python lets no exception out of a destructor, nor out of what is called when a module's lock goes.
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


@pytest.mark.parametrize("signal", ["SIGTERM", "SIGINT"])
def test_an_interrupt_that_python_swallows_comes_again(signal: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", COMMAND.format(signal=signal)], capture_output=True, text=True, timeout=50, check=False
    )
    assert "at work" in ended.stdout, "it was swallowed"
    assert ended.returncode == 130
    assert ended.stderr == "realestate: stopped; run the command again to continue\n"


def test_whatever_else_python_swallows_is_told() -> None:
    command = COMMAND.replace("signal.raise_signal(signal.{signal})", "raise ValueError('broken')")
    command = command.replace("time.sleep(60)", "")
    ended = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, timeout=50, check=False)
    assert ended.returncode == 0
    assert "ValueError: broken" in ended.stderr


def test_the_old_bench_command_names_the_new_one() -> None:
    result = CliRunner().invoke(app, ["bench", "crawl", "--quick", "--json", "-"])
    assert result.exit_code == 2
    assert "`python -m bench`" in result.stderr
