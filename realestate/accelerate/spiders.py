"""A spider loader that imports one spider without importing all of them."""

from contextlib import suppress
from importlib import import_module

from scrapy import Request, Spider, spiderloader
from scrapy.settings import BaseSettings

_Names = list[str]


class SpiderLoader(spiderloader.SpiderLoader):
    """Scrapy's loader. It looks for a spider in the file of its name first, and then in all files."""

    def __init__(self, settings: BaseSettings) -> None:
        self._is_complete = False
        super().__init__(settings)

    def _load_all_spiders(self) -> None:
        """Does nothing: `_complete` does it when it is needed."""

    def load(self, spider_name: str) -> type[Spider]:
        if spider_name not in self._spiders:
            self._load_file_of(spider_name)
        if spider_name not in self._spiders:
            self._complete()
        return super().load(spider_name)

    def list(self) -> _Names:
        self._complete()
        return super().list()

    def find_by_request(self, request: Request) -> _Names:
        self._complete()
        return super().find_by_request(request)

    def _load_file_of(self, spider_name: str) -> None:
        for package in self.spider_modules:
            with suppress(ImportError):  # reported when all files are imported
                self._load_spiders(import_module(f"{package}.{spider_name}"))

    def _complete(self) -> None:
        if not self._is_complete:
            self._found.clear()
            super()._load_all_spiders()
            self._is_complete = True
