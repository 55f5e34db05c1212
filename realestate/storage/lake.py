"""What the lake gets from the store: events, prices and versions of listings, by the numbers of events.

A span of events is read again with the same result as long as no listing of it changes, so that a sync that was killed
can repeat it. Each row is in the span of exactly one event, whose number is its `seq`:

- an event in its own;
- a price in that of the first event of its listing that is not older. A price that made no event (a suspect one, or one
  of a late page) comes with the next event of the listing;
- a version of a listing in that of its last event. It is the listing as it is when the span is read. If a later event
  of the listing exists already, the version comes with that one.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Literal, NamedTuple, Protocol, get_args, runtime_checkable

from realestate.storage.export import TABLES, Column, Export, Table, TableName

LakeTableName = Literal["events", "prices", "versions"]
LAKE_TABLE_NAMES: tuple[LakeTableName, ...] = get_args(LakeTableName)
#: The table of the store that a table of the lake is made of.
SOURCES: Mapping[LakeTableName, TableName] = {"events": "events", "prices": "prices", "versions": "listings"}


class Span(NamedTuple):
    """The events whose numbers are greater than `after` and at most `upto`."""

    after: int
    upto: int


def _lake_table(name: LakeTableName) -> Table:
    source = TABLES[SOURCES[name]]
    if name == "events":
        return source
    added = (Column("seq", int), Column("changed_at", datetime)) if name == "versions" else (Column("seq", int),)
    return Table(source.name, (*added, *source.columns), ("seq", *source.order), source.identity)


LAKE_TABLES: Mapping[LakeTableName, Table] = {name: _lake_table(name) for name in LAKE_TABLE_NAMES}


@runtime_checkable
class LakeStore(Protocol):
    """The methods of a store for the lake."""

    def last_event(self) -> int:
        """The number of the newest event; 0 if there is none."""

    def erased_listings(self) -> Sequence[tuple[str, str]]:
        """Portal and ref of all listings that were erased."""

    def changed(self, name: LakeTableName, span: Span) -> AbstractContextManager[Export]:
        """The rows that belong to a span of events."""
