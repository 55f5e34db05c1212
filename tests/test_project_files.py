"""The files around the code that other programs read: CI, hooks and templates. They parse, and name what exists."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from realestate import __version__
from realestate.cli import app

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
TEMPLATES = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def is_command(words: list[str]) -> bool:
    """Whether `realestate` with these words is a command; words after the command are its arguments."""
    found: Any = get_command(app)
    for word in words:
        if not hasattr(found, "commands"):
            return True
        if word not in found.commands:
            return False
        found = found.commands[word]
    return True


def steps() -> list[str]:
    """All shell commands of the CI workflow."""
    jobs = loaded(GITHUB / "workflows/ci.yml")["jobs"]
    return [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]


def test_ci_runs_the_gate_and_make_targets_that_exist() -> None:
    assert ".ci/run" in steps()
    assert (ROOT / ".ci/run").stat().st_mode & 0o111
    named = {name for step in steps() for name in re.findall(r"\bmake ([\w-]+)", step)}
    named |= set(re.findall(r"^make ([\w-]+)", (ROOT / ".ci/run").read_text("utf-8"), re.MULTILINE))
    assert named
    assert named <= make_targets()


def test_ci_tests_every_supported_python() -> None:
    versions = loaded(GITHUB / "workflows/ci.yml")["jobs"]["quick"]["strategy"]["matrix"]["python"]
    assert versions == ["3.11", "3.12", "3.13"]
    assert 'requires-python = ">=3.11"' in (ROOT / "pyproject.toml").read_text("utf-8")


def test_each_hook_runs_a_tool_of_the_lock_file_without_network() -> None:
    locked = (ROOT / "requirements-dev.lock").read_text("utf-8")
    (repository,) = loaded(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        assert hook["language"] == "system"
        folder, _, tool = hook["entry"].split()[0].rpartition("/")
        assert folder == ".venv/bin"
        assert re.search(rf"^{tool}==", locked, re.MULTILINE)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_issue_templates_parse_and_name_commands_that_exist(path: Path) -> None:
    form = loaded(path)
    if path.stem == "config":
        assert set(form) <= {"blank_issues_enabled", "contact_links"}
        return
    assert {"name", "description", "body"} <= set(form)
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids))
    for name in re.findall(r"`realestate ([a-z]+(?: [a-z]+)?)", path.read_text("utf-8")):
        assert is_command(name.split()), name


def test_the_pull_request_template_names_files_and_targets_that_exist() -> None:
    text = (GITHUB / "pull_request_template.md").read_text("utf-8")
    assert set(re.findall(r"`make ([\w-]+)`", text)) <= make_targets()
    for name in re.findall(r"`([\w./-]+(?:\.md|/))`", text):
        assert (ROOT / name).exists(), name


def test_the_security_page_is_of_this_version_and_names_settings_that_exist() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    minor = __version__.rpartition(".")[0]
    assert f"| {minor} | yes |" in text
    settings = (ROOT / "realestate/settings.py").read_text("utf-8")
    for name in re.findall(r"`([A-Z][A-Z_]+)`", text):
        assert re.search(rf"^{name} =", settings, re.MULTILINE), name


def test_make_demo_installs_only_what_the_program_needs_and_fails_if_pip_fails(tmp_path: Path) -> None:
    command = ["make", "--no-print-directory", "--dry-run", "demo", f"VENV={tmp_path / 'venv'}"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    installing = [line for line in lines if "pip install" in line]
    assert any("--require-hashes -r requirements.lock" in line for line in installing)
    assert not any("requirements-dev.lock" in line for line in lines)
    # A pipe has the exit code of its last program, so make would go on without the packages.
    assert not any("|" in line for line in installing)
    assert any(line.startswith("echo") and "MB to download" in line for line in lines)
    assert any(line.startswith("echo") and "Installed" in line for line in lines)
    assert lines[-1].endswith("realestate demo")
