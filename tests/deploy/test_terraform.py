"""The Terraform configuration: it is valid, its own tests pass, and it names what exists.

`terraform validate` and `terraform test` need the provider of AWS: where a mirror of it is on this machine, they run,
with a mocked provider and without an account. The rest reads the files with python-hcl2.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hcl2
import pytest
from typer.main import get_command

from realestate.cli import app
from realestate.cli.role_health import Role
from realestate.environment import SECRETS
from tests.deploy.tools import program, skipped_without_tool
from tests.variables import variables_read

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "terraform"
FILES = sorted(FOLDER.glob("*.tf"))
#: Some machines carry providers here.
MIRROR = Path("/opt/tf-plugins")
SERVICES = (FOLDER / "services.tf").read_text("utf-8")
LISTS = re.compile(r'command\s*= \[((?:"(?:[^"\\]|\\.)*"(?:, )?)+)\]')


def parsed(path: Path) -> dict[str, Any]:
    with path.open(encoding="utf-8") as file:
        found: dict[str, Any] = hcl2.load(file)
    return found


def terraform(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("terraform") is None:
        pytest.skip("there is no terraform")
    env = {**os.environ, "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}
    if (rc := folder / "mirror.tfrc").exists():
        env["TF_CLI_CONFIG_FILE"] = str(rc)
    command = ["terraform", f"-chdir={folder}", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=280)


@pytest.fixture(scope="module")
def initialised(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the configuration with the provider of the mirror."""
    if not MIRROR.is_dir():
        pytest.skip(f"there is no mirror of providers at {MIRROR}")
    top = tmp_path_factory.mktemp("terraform")
    for name in ("deploy/terraform", "docker/redis", "docker/config"):
        shutil.copytree(ROOT / name, top / name)
    folder = top / "deploy" / "terraform"
    (folder / "mirror.tfrc").write_text(
        f'provider_installation {{\n  filesystem_mirror {{\n    path = "{MIRROR}"\n  }}\n}}\n', "utf-8"
    )
    done = terraform(folder, "init", "-input=false", "-no-color")
    assert done.returncode == 0, done.stderr
    yield folder
    shutil.rmtree(top)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_file_can_be_parsed(path: Path) -> None:
    assert parsed(path)


def test_the_files_are_formatted(tmp_path: Path) -> None:
    """By Terraform, and where there is none, by the formatter of its language."""
    wrong = tmp_path / "wrong.tf"
    wrong.write_text("locals {\n  a   = 1\n   b = 2\n}\n", "utf-8")
    if shutil.which("terraform"):
        assert terraform(tmp_path, "fmt", "-check").stdout == "wrong.tf\n"
        assert terraform(FOLDER, "fmt", "-check", "-recursive").stdout == ""
        return
    with skipped_without_tool():
        hclfmt = program("hclfmt")
    files = [*FOLDER.rglob("*.tf"), *FOLDER.rglob("*.hcl")]
    for paths, changed in (([wrong], True), (files, False)):
        done = subprocess.run([hclfmt, "-require-no-change", *paths], capture_output=True, text=True, timeout=60)
        assert (done.returncode != 0) is changed, done.stderr


def test_the_configuration_is_valid_and_a_wrong_argument_is_caught(initialised: Path) -> None:
    assert terraform(initialised, "validate", "-no-color").returncode == 0
    path = initialised / "queue.tf"
    text = path.read_text("utf-8")
    path.write_text(text.replace("multi_az_enabled ", "multi_zone_enabled "), "utf-8")
    done = terraform(initialised, "validate", "-no-color")
    path.write_text(text, "utf-8")
    assert done.returncode == 1
    assert "multi_zone_enabled" in done.stderr


@pytest.mark.slow  # the provider is started for each of its runs: half a minute
def test_its_own_tests_pass(initialised: Path) -> None:
    done = terraform(initialised, "test", "-no-color")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Success! \d+ passed, 0 failed\.", done.stdout)


@pytest.mark.slow  # it starts slowly
def test_checkov_has_no_finding_without_an_explanation() -> None:
    program = shutil.which("checkov") or shutil.which("checkov", path=str(ROOT / ".venv-checkov" / "bin"))
    if program is None:
        pytest.skip("there is no checkov: `make audit` installs it")
    words = ("--directory", str(FOLDER), "--framework", "terraform", "--quiet", "--compact", "--skip-download")
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout
    assert "Failed checks: 0" in done.stdout or "Failed checks" not in done.stdout


def test_every_finding_that_is_skipped_has_a_reason() -> None:
    skipped = [line for path in FILES for line in path.read_text("utf-8").splitlines() if "checkov:skip" in line]
    assert skipped
    assert all(re.search(r"#checkov:skip=CKV\w*_\d+:\S.{15,}$", line) for line in skipped)


def test_the_commands_of_the_tasks_exist() -> None:
    known: Any = get_command(app)
    commands = [re.findall(r'"((?:[^"\\]|\\.)*)"', found) for found in LISTS.findall(SERVICES)]
    assert len(commands) == 7
    for first, *words in commands:
        if first == "sh":
            first, *words = words[-1].rpartition("exec ")[2].split()
        assert first == "realestate"
        found = known
        while hasattr(found, "commands"):
            found = found.commands[words.pop(0)]
        found.make_context("realestate", words)


def test_health_checks_name_roles_that_exist() -> None:
    (line,) = re.findall(r"^  health = \{(.+)\}$", SERVICES, re.MULTILINE)
    roles = dict(re.findall(r'(\w+)\s*= "(\w+)"', line))
    assert set(roles.values()) == set(Role)
    components = re.findall(r"components = toset\(\[(.+)\]\)", (FOLDER / "network.tf").read_text("utf-8"))
    assert {*roles, "migrate"} == set(re.findall(r'"(\w+)"', components[0]))


def test_variables_of_the_tasks_are_read_and_secrets_are_secrets() -> None:
    text = (FOLDER / "secrets.tf").read_text("utf-8")
    named = set(re.findall(r"\{ ([A-Z_]+) =", text))
    assert named == {"STORE_URL", "REDIS_URL", "API_KEYS", "NOTIFY_URLS"}
    assert named <= SECRETS | {"API_KEYS", "NOTIFY_URLS"}
    settings = set(re.findall(r"^      ([A-Z_]+)\s*= ", SERVICES, re.MULTILINE))
    assert settings - {"TMPDIR", "AWS_DEFAULT_REGION"} <= variables_read()
    assert not settings & SECRETS


def test_every_variable_and_output_says_what_it_is() -> None:
    for name, kind in (("variables.tf", "variable"), ("outputs.tf", "output")):
        for each in parsed(FOLDER / name)[kind]:
            ((_, body),) = ((key, value) for key, value in each.items() if not key.startswith("__"))
            assert len(body["description"]) > 10
