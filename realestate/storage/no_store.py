"""A store that holds nothing: for a crawl without StorePipeline in ITEM_PIPELINES, and for `scrapy parse`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar, cast

from realestate.items import Part
from realestate.storage.store import DUE_AT_ONCE, Conclusion, Store

T = TypeVar("T")


class EmptyStore:
    """Behaves like a store that has never seen a listing. It keeps nothing."""

    def begin_job(self, job: str, portal: str, mode: str, scope: str) -> bool:
        return False

    def keep_part(self, job: str, part: Part) -> None:
        """Does nothing."""

    def parts(self, job: str, portal: str) -> Sequence[Part]:
        return ()

    def end_sweep(self, job: str, portal: str, *, complete: bool, reason: str | None = None) -> Sequence[Any]:
        return ()

    def conclude(self, job: str, portal: str, *, force: bool = False) -> Conclusion:
        return Conclusion("applied", found=0, offered=0, delisted=0)

    def jobs(
        self,
        portal: str | None = None,
        limit: int = 20,
        *,
        job: str | None = None,
        concluded_after: datetime | None = None,
    ) -> Sequence[Any]:
        return ()

    def watermark(self, portal: str, scope: str) -> str | None:
        return None

    def set_watermark(self, portal: str, scope: str, value: str, job: str) -> None:
        """Does nothing."""

    def known(self, portal: str, refs: Sequence[str]) -> Mapping[str, Any]:
        return {}

    def validators(
        self, portal: str, refs: Sequence[str], parser_version: int, contacts: Any = None
    ) -> Mapping[str, Any]:
        return {}

    def keep_photo_hashes(self, read: Sequence[Any]) -> None:
        """Does nothing."""

    def photo_hashes(self, portal: str, refs: Sequence[str] | None = None) -> Mapping[str, Mapping[str, int]]:
        return {}

    def due(self, portal: str, limit: int = DUE_AT_ONCE) -> Sequence[Any]:
        return ()

    def erased(self, portal: str) -> frozenset[str]:
        return frozenset()


class NoStore:
    """The handle of a crawl without a store."""

    def __init__(self) -> None:
        self._store = cast("Store", EmptyStore())

    async def ask(self, question: Callable[[Store], T]) -> T:
        return question(self._store)
