"""Many documents, some at a time."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeVar

from realestate.storage.mongo.connection import Document, Documents

T = TypeVar("T")

#: Looked at together.
TOGETHER = 500


def pieces(items: Iterable[T], size: int = TOGETHER) -> Iterator[list[T]]:
    waiting = iter(items)
    while some := list(islice(waiting, size)):
        yield some


def pages(collection: Documents, shown: Mapping[str, int] | None = None) -> Iterator[list[Document]]:
    """All documents by their names. Each page is asked for by itself: who reads slowly holds up nobody."""
    wanted: Document = {}
    while page := list(collection.find(wanted, shown).sort("_id", 1).limit(TOGETHER)):
        yield page
        wanted = {"_id": {"$gt": page[-1]["_id"]}}
