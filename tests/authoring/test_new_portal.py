"""`realestate portal new`: the files it writes pass the tests as they are."""

from pathlib import Path

import pytest

from realestate.authoring.new_portal import KINDS
from realestate.cli.portal import Kind
from tests.authoring.conftest import Run, run_in


def test_the_command_offers_every_kind() -> None:
    assert [kind.value for kind in Kind] == list(KINDS)


def test_new_portals_of_all_kinds_pass_the_tests_at_once(
    checkout: Path, command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("realestate.authoring.project_files.root", lambda: checkout)
    written: list[str] = []
    for kind in KINDS:
        done = command("portal", "new", f"home_{kind}", "--kind", kind, "--country", "AZ", "--currency", "AZN")
        assert done.code == 0, done.err
        *files, hint = done.out.splitlines()
        assert all((checkout / file).exists() for file in files)
        assert hint == f"next: realestate portal test home_{kind}"
        written += files
    mutations = checkout / "tests/test_mutations.py"
    text = mutations.read_text("utf-8")
    assert "VARIANTS = 500\n" in text
    mutations.write_text(text.replace("VARIANTS = 500\n", "VARIANTS = 100\n"), "utf-8")  # the pages are short
    tests = ("tests/test_portals.py", "tests/test_spiders.py", "tests/test_mutations.py")
    done = run_in(checkout, "pytest", *tests, "-n", "0", "-k", "home_ or lists_every", "-p", "no:cacheprovider")
    assert done.code == 0, done.out[-3000:]
    spiders = [file for file in written if file.endswith(".py")]
    assert len(spiders) == len(KINDS)
    for check in (("ruff", "format", "--check"), ("ruff", "check")):
        done = run_in(checkout, *check, *spiders)
        assert done.code == 0, done.out


def test_nothing_is_overwritten(shared_checkout: Path, command: Run) -> None:
    before = (shared_checkout / "realestate/spiders/emlak.py").read_text("utf-8")
    done = command("portal", "new", "emlak", "--kind", "html")
    assert done == (1, "", "realestate: tests/portals/emlak exists already\n")
    assert (shared_checkout / "realestate/spiders/emlak.py").read_text("utf-8") == before
    done = command("portal", "new", "emlak_words")
    assert done == (1, "", "realestate: realestate/spiders/emlak_words.py exists already\n")
    assert not (shared_checkout / "tests/portals/emlak_words").exists(), "all or nothing"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["Bad-Name"], "use a name in lower case"),
        (["../evil"], "use a name in lower case"),
        (["class"], "'class' is a word or a module of Python"),
        (["match"], "is a word or a module of Python"),
        (["json"], "is a word or a module of Python"),
        (["finance"], "exists already"),
        (["fine", "--site", "ftp://example.com"], "use an address such as"),
        (["fine", "--country", "Belgium"], "use codes such as BE and EUR"),
        (["fine", "--timezone", "Mars/Base"], "use a time zone such as"),
    ],
)
def test_a_wrong_argument_is_one_line_of_error(command: Run, arguments: list[str], why: str) -> None:
    done = command("portal", "new", *arguments)
    assert done.code == 1
    assert why in done.err
    assert done.err.count("\n") == 1


def test_the_command_runs_in_a_checkout(checkout: Path) -> None:
    done = run_in(checkout, "realestate", "portal", "new", "home", "--kind", "api")
    assert done.code == 0, done.err
    assert (checkout / "realestate/spiders/home.py").exists()
