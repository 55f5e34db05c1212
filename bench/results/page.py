"""Writes the tables and the picture into docs/performance.md, between two marks.

Suites that were not measured this time keep their earlier numbers.
"""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from os import cpu_count
from pathlib import Path

import msgspec

from bench import Measure, as_json
from bench.results import picture
from bench.results.comparing import NoRecord, Recorded, read
from bench.results.wording import amount, number

BEGIN = "<!-- measured: begin -->"
END = "<!-- measured: end -->"
PAGE = "performance.md"
NUMBERS = "performance.json"
PICTURE = "performance.svg"
#: The command that repeats the measures.
PACKAGES = ("scrapy", "scrapy-redis", "crawlee", "aiohttp", "selectolax")


class NoPage(ValueError):
    """The folder has no page with the two marks."""


def check(folder: Path) -> None:
    file = folder / PAGE
    if not file.is_file() or not _parts(file):
        raise NoPage(f"{file}: no page with the marks {BEGIN} and {END}")


def write(folder: Path, measured: Sequence[Measure]) -> None:
    known = _merged(folder / NUMBERS, measured)
    (folder / NUMBERS).write_text(msgspec.json.format(msgspec.json.encode(known), indent=2).decode() + "\n")
    is_drawn = picture.draw(folder / PICTURE, known)
    file = folder / PAGE
    before, after = _parts(file) or ("", "")
    shown = f"![Pages a second beside plain Scrapy]({PICTURE})\n\n" if is_drawn else ""
    file.write_text(f"{before}{BEGIN}\n\n{shown}{_tables(known)}{_machine()}\n\n{END}{after}", "utf-8")


def _parts(file: Path) -> tuple[str, str] | None:
    before, begin, rest = file.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    return (before, after) if begin and end else None


def _merged(file: Path, measured: Sequence[Measure]) -> list[Recorded]:
    new = msgspec.json.decode(as_json(measured), type=list[Recorded])
    again = {each.suite for each in new}
    try:
        old = [each for each in read(file) if each.suite not in again]
    except NoRecord:
        old = []
    return sorted(old + new, key=lambda each: each.suite)  # stable: within a suite the order is its own


def _tables(known: Sequence[Recorded]) -> str:
    suites = dict.fromkeys(each.suite for each in known)
    return "".join(_table(suite, [each for each in known if each.suite == suite]) for suite in suites)


def _table(suite: str, rows: Sequence[Recorded]) -> str:
    lines = [f"### {suite}", "", "| measure | value | beside | ratio | goal | |", "|---|--:|--:|--:|---|---|"]
    return "\n".join([*lines, *map(_row, rows)]) + "\n\n"


def _row(each: Recorded) -> str:
    beside = f"{number(each.peer_value)} ({each.peer})" if each.peer_value is not None else ""
    ratio = f"{each.ratio:.2f} ×" if each.ratio is not None else ""
    verdict = "" if not each.goal else "ok" if each.ok else "**missed**"
    value = amount(each.value, each.unit, each.spread)
    return f"| {each.name} | {value} | {beside} | {ratio} | {each.goal} | {verdict} |"


def _machine() -> str:
    versions = ", ".join(f"{name} {found}" for name in PACKAGES if (found := _version(name)))
    return f"On {cpu_count()} cores, {platform.system()}, Python {platform.python_version()}; {versions}."


def _version(package: str) -> str | None:
    try:
        return version(package)
    except ImportError:  # PackageNotFoundError is one
        return None
