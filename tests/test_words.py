"""One word per thing: words that were replaced stay out of the code, the docs and the messages."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: What nobody says any more, and what is said instead.
REPLACED = {
    r"told": "parsed, values, data, fields; or: the worker gets, the message says",
    r"mercy": "grace period",
    r"mishaps?": "errors",
    r"manners": "how we behave towards sites",
    r"(?<!-)standings?": "proxy health",
    r"(un)?dress(ed)?": "identity",
    r"pulse": "last heartbeat",
    r"pace[sd]?": "rate limit",
    r"in secret": "TLS handshake failed",
    r"nobody knows": "say what is unknown",
    r"lets? go": "remove, release",
    r"is borne": "is tolerated",
    r"mend(s|ed|ing)?": "repair",
    r"hand(s|ed)? over whole": "restore",
}
DIALECT = re.compile(rf"\b(?:{'|'.join(REPLACED)})\b", re.IGNORECASE)
#: Files that name an old word because somebody may still use it: renamed settings, keys and fields.
OLD_NAMES = {
    "CHANGELOG.md",
    "docs/settings.md",
    "realestate/old_names.py",
    "realestate/queue/migrate_keys.py",
    "realestate/cli/status.py",
}
FOLDERS = ("realestate", "bench", "deploy", "docker", "docs", ".github")
KINDS = {".py", ".lua", ".sql", ".md", ".html", ".js", ".toml", ".yaml", ".yml", ".tf", ".sh", ".env"}
FILES = sorted(
    path.relative_to(ROOT)
    for path in (*ROOT.glob("*.*"), *(each for folder in FOLDERS for each in (ROOT / folder).rglob("*")))
    if path.suffix in KINDS and path.is_file() and "vendor" not in path.parts
)


def test_replaced_words_are_not_used() -> None:
    assert len(FILES) > 500
    used = [
        f"{path}:{number}: {found[0]!r} in {line.strip()[:80]!r}"
        for path in FILES
        if path.as_posix() not in OLD_NAMES
        for number, line in enumerate((ROOT / path).read_text("utf-8").splitlines(), start=1)
        if (found := DIALECT.search(line))
    ]
    assert used == [], "REPLACED says what to write instead"


@pytest.mark.parametrize("text", ["what is told", "Mercy", "a proxy's standing", "it was mended"])
def test_the_test_sees_a_replaced_word(text: str) -> None:
    assert DIALECT.search(text)


@pytest.mark.parametrize("text", ["Free-standing sides of the building", "a space", "recommended", "address"])
def test_the_test_sees_whole_words_only(text: str) -> None:
    assert not DIALECT.search(text)
