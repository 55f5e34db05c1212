"""`realestate simulate --adversary … --proxies …`, as a process of its own."""

import json
import re
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest
from typer.testing import CliRunner

from realestate.cli import app
from realestate.cli.demo import Adversary
from realestate.demo.simulators import simulator_process
from realestate.simulator import PROFILES
from realestate.simulator.portals import PORTALS


def test_the_command_prints_the_proxies_for_a_shell_and_its_profile(tmp_path: Path) -> None:
    log = tmp_path / "log"
    options = ("--adversary", "strict", "--proxies", "8", "--proxy-password", "s3cret")
    with simulator_process(log, 20, 1, *options) as control:
        (line,) = re.findall(r"^export PROXIES='(\S+)'$", log.read_text(), re.MULTILINE)
        with build_opener(ProxyHandler({})).open(f"{control}/_adversary", timeout=30) as response:
            state = json.loads(response.read())
        fine = [url for url, proxy in zip(line.split(","), state["proxies"], strict=True) if proxy["kind"] == "fine"]
        with build_opener(ProxyHandler({"http": fine[0]})).open(f"{control}/_portals", timeout=30) as response:
            assert set(json.loads(response.read())) >= set(state["portals"]) == set(PORTALS)
    assert (state["profile"], len(fine)) == ("strict", 7)
    assert [proxy["address"] for proxy in state["proxies"]] == [f"127.0.0.{number}" for number in range(2, 10)]
    assert line.split(",")[0].startswith("http://simulator:s3cret@127.0.0.1:")


def test_the_command_knows_every_profile() -> None:
    assert list(Adversary) == list(PROFILES)


@pytest.mark.parametrize("options", [("--adversary", "kind"), ("--proxies", "-1"), ("--proxies", "x")])
def test_invalid_arguments_are_refused(options: tuple[str, str]) -> None:
    assert CliRunner().invoke(app, ["simulate", "--port", "0", *options]).exit_code == 2
