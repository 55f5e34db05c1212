"""Saved searches: what somebody wants to hear of, and how far they have followed the events."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, runtime_checkable

from realestate.storage.errors import StoreError
from realestate.storage.history import EventType
from realestate.storage.query import Filter, parse_filter

#: The events that a search may want: the others say nothing to somebody who looks for a home.
EVENTS: tuple[EventType, ...] = (
    "listed",
    "price_changed",
    "price_meaning_changed",
    "reserved",
    "sold",
    "rented",
    "delisted",
    "relisted",
)
DEFAULT_EVENTS: tuple[EventType, ...] = ("listed", "price_changed", "delisted", "relisted")
LONGEST_NAME = 200


class NameTaken(StoreError):
    """There is a search of this name already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A saved search."""

    id: str
    name: str
    """Given by a person, once in the store."""
    filter: str
    """In the filter language (docs/query.md)."""
    on: tuple[EventType, ...]
    """Which events are sent."""
    notify: tuple[str, ...] = field(repr=False)
    """Addresses of apprise, or webhooks. They are secrets: they are never shown."""
    is_paused: bool
    after: int
    """Events up to this number are not sent: they are older than the search, or its pause had not ended."""
    created_at: datetime


def filter_of(search: Search) -> Filter:
    """The filter with which events are compared. It has no condition on the status: that a listing left the market is
    an event of it."""
    return parse_filter(search.filter).with_any_status()


@runtime_checkable
class SearchStore(Protocol):
    """The saved searches of a store."""

    def save_search(self, name: str, filter: str, on: Sequence[EventType], notify: Sequence[str]) -> Search:
        """Save a search. It gets events from now on. Raises NameTaken."""

    def searches(self) -> Sequence[Search]:
        """All, by name."""

    def searches_version(self) -> object:
        """A value that differs after a search was saved, paused, resumed or deleted."""

    def pause_search(self, id: str, *, paused: bool) -> bool:
        """Pause the search, or resume it. What happens during a pause is not sent later. Return False if it does not
        exist."""

    def delete_search(self, id: str) -> bool:
        """Return False if it does not exist."""

    def followed(self) -> int:
        """The number of the last event that was compared with the searches; at the first call the newest one."""

    def follow(self, upto: int) -> None:
        """All messages about events up to this number are in the outbox. The number never falls."""

    def wait_for_events(self, after: int, seconds: float) -> bool:
        """Wait until there is an event after this number, at most this long. Return whether there is one."""


class KnownSearches:
    """The searches of a store, read again only after one of them has changed."""

    def __init__(self, store: SearchStore) -> None:
        self._store = store
        self._version: object = None
        self.all: Sequence[Search] = ()

    def look(self) -> bool:
        """Return whether they have changed since the last look."""
        version = self._store.searches_version()  # before the searches: a change in between is seen at the next look
        if version == self._version:
            return False
        self.all = self._store.searches()
        self._version = version
        return True
