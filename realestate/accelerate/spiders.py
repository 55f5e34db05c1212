"""Spiders: whoever asks for one portal need not wait until all of them are imported."""

from contextlib import suppress
from importlib import import_module

from scrapy import Request, Spider, spiderloader
from scrapy.settings import BaseSettings

_Names = list[str]


class SpiderLoader(spiderloader.SpiderLoader):
    """Scrapy's. A spider is in the file of its name; where it is not, all are looked through as ever."""

    def __init__(self, settings: BaseSettings) -> None:
        self._is_complete = False
        super().__init__(settings)

    def _load_all_spiders(self) -> None:
        """Not yet."""

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
            with suppress(ImportError):  # whatever it cannot import is told when all are looked through
                self._load_spiders(import_module(f"{package}.{spider_name}"))

    def _complete(self) -> None:
        if not self._is_complete:
            self._found.clear()
            super()._load_all_spiders()
            self._is_complete = True
