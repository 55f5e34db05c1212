"""Where the files of a portal are, and how new ones are written.

In a checkout of this project: `realestate/spiders/<portal>.py`, and its recorded pages in `tests/portals/<portal>/`.
In any other folder: `portals/<portal>.py`, and its recorded pages in `portals/<portal>/`.
"""

from collections.abc import Mapping
from pathlib import Path

from realestate.authoring import AuthoringError
from realestate.jobs.work import project_settings

SCRAPY_CFG = """# Made by `realestate init`: with this file, `scrapy` works in this folder and below.
[settings]
default = realestate.settings
"""


def portals_folder() -> Path:
    """The user's own portals."""
    return Path(project_settings()["PORTALS_FOLDER"])


def root() -> Path:
    """The folder of the project that the command works on."""
    return portals_folder().parent


def is_checkout() -> bool:
    """Whether that folder is a checkout of this project."""
    return (root() / "realestate" / "spiders").is_dir() and (root() / "scrapy.cfg").is_file()


def spider_file(portal: str) -> Path:
    """Where the spider of a new portal is written."""
    if is_checkout():
        return root() / "realestate" / "spiders" / f"{portal}.py"
    return portals_folder() / f"{portal}.py"


def pages_folder(portal: str) -> Path:
    """The recorded pages of a portal."""
    is_own = (portals_folder() / f"{portal}.py").is_file()
    if is_checkout() and not is_own:
        return root() / "tests" / "portals" / portal
    return portals_folder() / portal


def shown(path: Path) -> str:
    """The path as seen from the project's folder, for messages."""
    return str(path.relative_to(root())) if path.is_relative_to(root()) else str(path)


def create_project(folder: Path) -> list[Path]:
    """Make the folder a project: `scrapy.cfg` and a folder for portals. What exists stays. Returns what is new."""
    if (folder / "realestate" / "spiders").is_dir():
        raise AuthoringError(f"{folder} is a checkout of realestate: it is a project already")
    written = []
    configuration = folder / "scrapy.cfg"
    if not configuration.exists():
        folder.mkdir(parents=True, exist_ok=True)
        configuration.write_text(SCRAPY_CFG, "utf-8")
        written.append(configuration)
    portals = folder / "portals"
    if not portals.is_dir():
        portals.mkdir()
        written.append(portals)
    return written


def write(files: Mapping[Path, str], *, overwrite: bool = False) -> None:
    """Write all files or none. An existing file is overwritten only if this is wanted."""
    for path in files:
        if path.exists() and not overwrite:
            raise AuthoringError(f"{shown(path)} exists already")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
