"""Finds the portals: the files of `realestate.spiders`, and those of the user's own folder (PORTALS_FOLDER).

No other module knows where portals are. Scrapy uses it by the setting SPIDER_LOADER_CLASS, all other
rooms by `scrapy.spiderloader.get_spider_loader`. A file of the user's folder is a module of `realestate.spiders`, so it
looks like a file of the package; a file of the same name replaces the one of the package.

One spider is loaded without the others. A file that cannot be imported is reported in one line and left out.
"""

import pkgutil
import sys
import traceback
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Self

from scrapy import Request, Spider
from scrapy.settings import BaseSettings
from scrapy.utils.spider import iter_spider_classes

_Names = list[str]

_reported: set[str] = set()


class BrokenPortal(KeyError):
    """The file of a portal cannot be imported. The text says why, in one line."""

    def __str__(self) -> str:
        return str(self.args[0])


class PortalLoader:
    """Scrapy's interface of a spider loader."""

    def __init__(self, packages: _Names, folder: Path | None = None) -> None:
        self._packages = packages
        self._spiders: dict[str, type[Spider]] = {}
        self._is_complete = False
        if folder is not None and packages:
            _add_folder(packages[0], folder)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        folder = settings.get("PORTALS_FOLDER")
        return cls(settings.getlist("SPIDER_MODULES"), Path(folder) if folder else None)

    def load(self, spider_name: str) -> type[Spider]:
        """The spider of this name: from the file of its name, or else from any file.

        Raises BrokenPortal if the file of its name cannot be imported, and KeyError if there is no such spider."""
        if spider_name not in self._spiders:
            for package, name in self._files():
                if name == spider_name:
                    self._add(_imported(package, name))
        if spider_name not in self._spiders:
            self._load_all()
        try:
            return self._spiders[spider_name]
        except KeyError:
            raise KeyError(f"Spider not found: {spider_name}") from None

    def list(self) -> _Names:
        """The names of all spiders whose file can be imported."""
        self._load_all()
        return sorted(self._spiders)

    def find_by_request(self, request: Request) -> _Names:
        self._load_all()
        return [name for name, spider in self._spiders.items() if spider.handles_request(request)]

    def _load_all(self) -> None:
        if self._is_complete:
            return
        self._is_complete = True
        for package, name in self._files():
            try:
                self._add(_imported(package, name))
            except BrokenPortal as error:
                _report(str(error))

    def _files(self) -> Iterator[tuple[str, str]]:
        """The package and the name of each module, without importing it."""
        for package in self._packages:
            for module in pkgutil.iter_modules(import_module(package).__path__):
                yield package, module.name

    def _add(self, module: ModuleType) -> None:
        for spider in iter_spider_classes(module):
            self._spiders[spider.name] = spider


def _add_folder(package: str, folder: Path) -> None:
    """Make the files of the folder modules of the package."""
    path = import_module(package).__path__
    if folder.is_dir() and str(folder) not in path:
        path.insert(0, str(folder))


def _imported(package: str, name: str) -> ModuleType:
    try:
        return import_module(f"{package}.{name}")
    except Exception as error:  # whatever the file does when it is imported
        raise BrokenPortal(_why(package, name, error)) from error


def _why(package: str, name: str, error: Exception) -> str:
    """The file, the line and the error."""
    files = {str(Path(folder) / f"{name}.py") for folder in import_module(package).__path__}
    if isinstance(error, SyntaxError):
        file = error.filename
        line = error.lineno
        text = error.msg
    else:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
        file, line = (frames[-1].filename, frames[-1].lineno) if frames else (None, None)
        text = " ".join(str(error).split())
    shown = _relative(file) if file else f"{package}.{name}"
    where = f", line {line}" if line else ""
    return f"the portal file {shown} cannot be loaded{where}: {type(error).__name__}: {text}"


def _relative(file: str) -> str:
    """The path as seen from the folder of the command, if it is inside."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


def _report(line: str) -> None:
    """Once per process, on stderr: `scrapy list` and the `realestate` commands have no log."""
    if line not in _reported:
        _reported.add(line)
        print(f"realestate: warning: {line}", file=sys.stderr)
