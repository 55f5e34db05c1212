"""Where the project's files are, and how new ones are written."""

from collections.abc import Mapping
from pathlib import Path

from realestate.authoring import AuthoringError


def root() -> Path:
    """The checkout that this package is part of. Spiders are written and loaded there."""
    folder = Path(__file__).parents[2]
    if not (folder / "scrapy.cfg").exists():
        raise AuthoringError("portals are written in a checkout of the project; this is an installed package")
    return folder


def spider_file(portal: str) -> Path:
    return root() / "realestate" / "spiders" / f"{portal}.py"


def pages_folder(portal: str) -> Path:
    return root() / "tests" / "portals" / portal


def write(files: Mapping[Path, str]) -> None:
    """Write all files or none. An existing file is never overwritten."""
    for path in files:
        if path.exists():
            raise AuthoringError(f"{path.relative_to(root())} exists already")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
