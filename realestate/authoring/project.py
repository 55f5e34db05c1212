"""Where the project's files are."""

from collections.abc import Mapping
from pathlib import Path

from realestate.authoring import Unfit


def root() -> Path:
    """The checkout this package is part of: spiders are written and loaded there."""
    folder = Path(__file__).parents[2]
    if not (folder / "scrapy.cfg").exists():
        raise Unfit("portals are written in a checkout of the project; this is an installed package")
    return folder


def spider_file(portal: str) -> Path:
    return root() / "realestate" / "spiders" / f"{portal}.py"


def pages_folder(portal: str) -> Path:
    return root() / "tests" / "portals" / portal


def write(files: Mapping[Path, str]) -> None:
    """All of them or none; what is there already is somebody's work."""
    for path in files:
        if path.exists():
            raise Unfit(f"{path.relative_to(root())} is there already")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
