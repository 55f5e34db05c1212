"""docs/deployment.md: what can run on this machine runs and prints what the guide says; what the rest names exists."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from realestate.cli import app
from tests.deploy.guide import GUIDE, fits, other_commands, shown
from tests.deploy.tools import PACKAGES, program, skipped_without_tool
from tests.test_containers import SERVICES

ROOT = Path(__file__).parents[2]
OUR_FILES = re.compile(r"\b(?:deploy|docker)/[\w./@*-]+")


@pytest.mark.parametrize(("command", "expected"), shown(), ids=[command for command, _ in shown()])
def test_a_command_prints_what_the_guide_says(command: str, expected: list[str]) -> None:
    words = shlex.split(command)
    if words[0] == "docker":
        # tests/containers runs it.
        check_compose(words[2:])
        return
    if words[0] in PACKAGES:
        with skipped_without_tool():
            words[0] = program(words[0])
    elif shutil.which(words[0]) is None:
        pytest.skip(f"there is no {words[0]}")
    done = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, timeout=120, env={**os.environ, "TF_CLI_CONFIG_FILE": ""}
    )
    assert done.returncode == 0, done.stderr
    printed = [line.rstrip() for line in done.stdout.splitlines() if line.strip()]
    # The middle of a long output is left out by `…`: the beginning is enough.
    assert fits(printed, expected), done.stdout[:2000]


def test_the_guide_shows_commands_of_each_kind() -> None:
    programs = {shlex.split(command)[0] for command, _ in shown()}
    assert {"docker", "promtool", "amtool", "kubectl", "terraform"} <= programs
    assert {"docker", "kubectl", "terraform", "systemctl"} <= {line.split()[0] for line in other_commands()}


@pytest.mark.parametrize("command", other_commands())
def test_what_a_command_names_exists(command: str) -> None:
    for name in OUR_FILES.findall(command):
        assert list(ROOT.glob(name)), name
    words = shlex.split(command)
    if words[0] == "realestate":
        check_ours(words[1:])
    if words[:2] == ["docker", "compose"]:
        check_compose(words[2:])


def check_ours(words: list[str]) -> None:
    found: Any = get_command(app)
    while hasattr(found, "commands"):
        found = found.commands[words.pop(0)]
    found.make_context("realestate", words)


def check_compose(words: list[str]) -> None:
    """The services and profiles that a command names are in the compose file."""
    if words[0] == "--profile":
        assert any(words[1] in service.get("profiles", ()) for service in SERVICES.values())
        words = words[2:]
    verb, *rest = words
    named = [word.partition("=")[0] for word in rest if not word.startswith("-")]
    if verb == "exec":
        assert named[0] in SERVICES
        if named[1] == "realestate":
            check_ours(rest[rest.index("realestate") + 1 :])
    elif verb in ("up", "logs", "stop", "start"):
        assert set(named) <= set(SERVICES), named
    elif verb == "run":
        assert named[0] in SERVICES
        check_ours(rest[rest.index("realestate") + 1 :])
    else:
        assert verb in ("build", "ps", "down")


def test_the_addresses_are_published_by_the_compose_file() -> None:
    published = {
        DEFAULT_PORT.sub(r"\1", port).rsplit(":", 1)[0]
        for service in SERVICES.values()
        for port in service.get("ports", ())
    }
    named = set(re.findall(r"http://(127\.0\.0\.1:\d+)", GUIDE))
    assert len(named) >= 7
    assert named <= published


DEFAULT_PORT = re.compile(r"\$\{\w+:-(\d+)\}")


def test_the_secrets_of_the_cluster_are_those_that_the_manifests_read() -> None:
    text = "\n".join(path.read_text("utf-8") for path in (ROOT / "deploy/kubernetes/base").glob("*.yaml"))
    read = set(re.findall(r"/run/secrets/realestate/([\w-]+)", text)) | set(re.findall(r"key: ([\w-]+)\}\}", text))
    section = GUIDE[GUIDE.index("The folder `secrets/`") :].partition("\n\n")[0]
    assert read == set(re.findall(r"`((?:redis|store|migrator|api|notify)-[\w-]+)`", section))


def test_the_tests_that_the_page_about_security_names_exist() -> None:
    named = re.findall(r"`((?:tests|deploy)/[\w/.]+)`", (ROOT / "docs" / "security.md").read_text("utf-8"))
    assert len(named) >= 15
    assert all((ROOT / name).exists() for name in named)
