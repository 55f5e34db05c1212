"""The systemd units: systemd understands them, they are hardened, and their commands exist."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from realestate import settings
from realestate.cli import app
from realestate.cli.role_health import Role
from realestate.environment import SECRETS
from tests.deploy.guide import GUIDE
from tests.deploy.tools import program, skipped_without_tool

FOLDER = Path(__file__).parents[2] / "deploy" / "systemd"
SERVICES = sorted(FOLDER.glob("*.service"))
#: What all services share: systemd adds it to each unit whose name begins with `realestate-`.
COMMON = FOLDER / "realestate-.service.d" / "10-common.conf"
PROGRAM = "/opt/realestate/bin/realestate"
#: Of 10; services of Debian have 9 and more.
EXPOSURE = 1.5


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """A copy of the units whose program exists."""
    with skipped_without_tool():
        program("systemd-analyze")
    (tmp_path / "realestate").write_text("#!/bin/sh\n", "utf-8")
    (tmp_path / "realestate").chmod(0o755)
    for path in FOLDER.rglob("*.*"):
        if path.is_file():
            copy = tmp_path / path.relative_to(FOLDER)
            copy.parent.mkdir(exist_ok=True)
            copy.write_text(path.read_text("utf-8").replace(PROGRAM, f"{tmp_path}/realestate"), "utf-8")
    return tmp_path


def analyze(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *map(str, words)], capture_output=True, text=True, timeout=60)


def test_systemd_understands_every_unit(units: Path) -> None:
    named = [units / path.name.replace("@.", "@1.") for path in FOLDER.glob("*.*") if path.is_file()]
    (units / "realestate-worker@1.service").write_text(
        (units / "realestate-worker@.service").read_text("utf-8"), "utf-8"
    )
    done = analyze("verify", *named)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_wrong_line_in_a_unit_is_seen(units: Path) -> None:
    shared = units / COMMON.relative_to(FOLDER)
    shared.write_text(shared.read_text("utf-8").replace("NoNewPrivileges=", "NoNewPrivilege="), "utf-8")
    path = units / "realestate-web.service"
    path.write_text(path.read_text("utf-8").replace("RestartSec=", "RestartSecs="), "utf-8")
    seen = analyze("verify", path).stderr
    assert "NoNewPrivilege" in seen
    assert "RestartSecs" in seen


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.stem)
def test_every_service_is_hardened(path: Path, units: Path) -> None:
    done = analyze("security", "--offline=true", "--no-pager", units / path.name)
    (exposure,) = re.findall(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert float(exposure) <= EXPOSURE


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.stem)
def test_the_command_of_every_service_exists(path: Path) -> None:
    (command,) = re.findall(rf"^ExecStart={PROGRAM} (.+)$", path.read_text("utf-8"), re.MULTILINE)
    words = command.split()
    found: Any = get_command(app)
    while hasattr(found, "commands"):
        found = found.commands[words.pop(0)]
    found.make_context("realestate", words)


def test_secrets_are_credentials() -> None:
    shared = COMMON.read_text("utf-8")
    for name in ("redis-url", "store-url"):
        assert f"Environment={name.upper().replace('-', '_')}_FILE=%d/{name}\n" in shared
        assert f"LoadCredential={name}:/etc/realestate/{name}\n" in shared
    for path in (COMMON, *SERVICES):
        text = path.read_text("utf-8")
        assert not re.search(r"^Environment=\w*(PASSWORD|SECRET|TOKEN|URLS?)=", text, re.MULTILINE), path.name
        named = dict(re.findall(r"^Environment=(\w+)_FILE=%d/([\w-]+)$", text, re.MULTILINE))
        assert set(named) <= SECRETS
        assert set(named.values()) == set(re.findall(r"^LoadCredential=([\w-]+):", text, re.MULTILINE))


def test_the_guide_makes_the_files_that_the_units_read() -> None:
    """Credentials for root only; the user of the units reads the rest, so it must be able to enter the folder."""
    made = re.findall(r"install -m (\d+) (\S+) /etc/realestate/([\w-]*)", GUIDE)
    modes = {name or source.rpartition("/")[2]: mode for mode, source, name in made}
    read = "".join(path.read_text("utf-8") for path in (COMMON, *SERVICES))
    credentials = set(re.findall(r"^LoadCredential=[\w-]+:/etc/realestate/(\S+)$", read, re.MULTILINE))
    files = set(re.findall(r"^ExecStart=.* /etc/realestate/(\S+)$", read, re.MULTILINE))
    assert modes == {**dict.fromkeys(credentials, "600"), **dict.fromkeys(files, "644")}
    assert "install -d -m 755 /etc/realestate" in GUIDE


def test_one_server_has_every_role() -> None:
    """`systemctl` starts them; the compose file has a service for each of them too."""
    roles = {path.stem.removeprefix("realestate-").rstrip("@") for path in SERVICES}
    assert {*map(str, Role), "searches", "retain", "upkeep"} == roles


def test_the_pages_and_the_metrics_are_on_this_machine_only() -> None:
    for name in ("web", "exporter"):
        text = (FOLDER / f"realestate-{name}.service").read_text("utf-8")
        assert not re.search(r"--(host|address)", text)


def test_a_worker_has_time_to_drain_and_is_started_again() -> None:
    text = (FOLDER / "realestate-worker@.service").read_text("utf-8")
    (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)", text, re.MULTILINE)
    assert int(seconds) > settings.DOWNLOAD_TIMEOUT + 30
    assert "\nRestart=always\n" in text


def test_each_timer_starts_a_service_of_ours() -> None:
    timers = sorted(FOLDER.glob("*.timer"))
    assert timers
    assert all(timer.with_suffix(".service") in SERVICES for timer in timers)
