"""The commands of docs/deployment.md, and what they print."""

import fnmatch
import re
from pathlib import Path

GUIDE = (Path(__file__).parents[2] / "docs" / "deployment.md").read_text("utf-8")
#: A code block: lines with four spaces in front.
BLOCKS = re.findall(r"(?:^    .*\n|^\n(?=    ))+", GUIDE, re.MULTILINE)


def shown() -> list[tuple[str, list[str]]]:
    """Each command with a $ in front, and the lines that it prints."""
    found: list[tuple[str, list[str]]] = []
    for block in BLOCKS:
        for line in block.splitlines():
            text = line[4:]
            if text.startswith("$ "):
                found.append((text[2:], []))
            elif found and text and block.lstrip().startswith("$ "):
                found[-1][1].append(text.rstrip())
    return found


def other_commands() -> list[str]:
    """The commands that need a server, a cluster or an account."""
    lines = [line[4:] for block in BLOCKS if not block.lstrip().startswith("$ ") for line in block.splitlines()]
    return [line.partition("  #")[0].strip() for line in lines if line.strip()]


def fits(lines: list[str], expected: list[str]) -> bool:
    """Whether the lines are the expected ones; one of `…` is any number of lines, and `…` within a line any text."""
    if not expected:
        return not lines
    first, *rest = expected
    if first == "…":
        return any(fits(lines[skipped:], rest) for skipped in range(len(lines) + 1))
    return bool(lines) and fnmatch.fnmatchcase(lines[0], first.replace("…", "*")) and fits(lines[1:], rest)
