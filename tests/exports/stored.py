"""What the store has, by its other methods: what an export must contain."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from realestate.storage import FullStore
from realestate.storage.export import DELISTED, TABLES, TableName


def stored_rows(store: FullStore, table: TableName) -> list[dict[str, Any]]:
    """The rows of a table, in any order, as plain values: see `plain`."""
    return [{name: plain(row[name]) for name in TABLES[table].names} for row in _rows(store, table)]


def _rows(store: FullStore, table: TableName) -> Iterable[Mapping[str, Any]]:
    portals = list(store.counts())
    if table == "listings":
        for record in (each for portal in portals for each in store.records(portal)):
            yield {**record, **dict(zip(DELISTED, record["delisted_at"] or (None, None), strict=True))}
    elif table == "events":
        yield from ({"seq": each.seq, **asdict(each.event)} for each in store.events(0, 10_000))
    elif table == "prices":
        refs = [(portal, each["ref"]) for portal in portals for each in store.records(portal)]
        yield from (asdict(seen) for key in refs for seen in store.prices(*key))
    elif table == "homes":
        yield from map(asdict, store.homes())
    elif table == "home_listings":
        yield from (asdict(member) for home in store.homes() for member in store.home_members(home.home))
    elif table == "market_weekly":
        yield from ({**asdict(row), "week": row.week.isoformat()} for row in store.market_weeks())
    else:
        for other in (each for portal in portals for each in store.others(portal)):
            if other.kind == TABLES[table].kind:
                yield {**asdict(other), **other.record}


def plain(value: Any) -> Any:
    """The value in the one form in which the tests compare: float for numbers of any kind, text in ISO 8601 for
    times."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float | Decimal):
        return float(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, str) and len(value) >= 20 and value[10] == "T":
        try:
            return datetime.fromisoformat(value).astimezone(UTC).isoformat(timespec="microseconds")
        except ValueError:
            return value
    return value


def in_order(rows: Iterable[Mapping[str, Any]], table: TableName) -> list[Mapping[str, Any]]:
    return sorted(rows, key=lambda row: tuple(row[name] for name in TABLES[table].order))
