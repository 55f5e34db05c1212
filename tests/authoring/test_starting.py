"""`realestate portal new`: what it writes passes the tests as it is."""

from pathlib import Path

import pytest

from realestate.authoring.starting import KINDS
from realestate.cli.portal import Kind
from tests.authoring.conftest import Run


def test_every_kind_can_be_asked_for() -> None:
    assert [kind.value for kind in Kind] == list(KINDS)


def test_new_portals_of_all_kinds_pass_the_tests_at_once(checkout: Path, run: Run) -> None:
    for kind in KINDS:
        done = run(
            "realestate", "portal", "new", f"home_{kind}", "--kind", kind, "--country", "AZ", "--currency", "AZN"
        )
        assert done.returncode == 0, done.stderr
        for line in done.stdout.splitlines()[:-1]:
            assert (checkout / line).exists()
    tests = ("tests/test_portals.py", "tests/test_spiders.py", "tests/test_mutations.py")
    done = run("pytest", *tests, "-n", "0", "-k", "home_ or lists_every_portal", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout[-3000:]
    for check in (("ruff", "format", "--check"), ("ruff", "check")):
        done = run(*check, "realestate/spiders")
        assert done.returncode == 0, done.stdout


def test_nothing_is_overwritten(checkout: Path, run: Run) -> None:
    before = (checkout / "realestate/spiders/emlak.py").read_text("utf-8")
    done = run("realestate", "portal", "new", "emlak", "--kind", "html")
    assert done.returncode == 1
    assert done.stderr == "realestate: tests/portals/emlak is there already\n"
    assert (checkout / "realestate/spiders/emlak.py").read_text("utf-8") == before
    done = run("realestate", "portal", "new", "emlak_words")
    assert done.returncode == 1
    assert done.stderr == "realestate: realestate/spiders/emlak_words.py is there already\n"
    assert not (checkout / "tests/portals/emlak_words").exists(), "all or nothing"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["Bad-Name"], "a name in lower case is needed"),
        (["../evil"], "a name in lower case is needed"),
        (["fine", "--site", "ftp://example.com"], "an address such as"),
        (["fine", "--country", "Belgium"], "codes such as BE and EUR"),
        (["fine", "--timezone", "Mars/Base"], "a time zone such as"),
    ],
)
def test_wrong_arguments_are_told_in_one_line(run: Run, arguments: list[str], why: str) -> None:
    done = run("realestate", "portal", "new", *arguments)
    assert done.returncode == 1
    assert why in done.stderr
    assert done.stderr.count("\n") == 1
