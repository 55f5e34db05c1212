"""Homes and market figures in PostgreSQL."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import date, datetime
from operator import attrgetter
from typing import Any

import msgspec
from psycopg2.extras import Json

from realestate.storage.homes import (
    Clustered,
    Home,
    HomeChanges,
    HomeFilter,
    HomeLink,
    HomesRun,
    HomeState,
    MarketFilter,
    MarketWeek,
    Member,
    PhotoHash,
    Pin,
)
from realestate.storage.postgres.connection import Statements
from realestate.storage.postgres.merge import is_erased
from realestate.storage.postgres.rows import copy

_HOME = tuple(each.name for each in fields(Home))
_MARKET = tuple(each.name for each in fields(MarketWeek))
_RUN = tuple(each.name for each in fields(HomesRun))
_SERIES = "country, city, district, operation, property_type, currency, rent_period"
_MARKET_ORDER = f"{_SERIES}, week"
#: A run may take longer than other statements. What is there already stays visible until the commit.
_BEGIN = """
    BEGIN;
    SET LOCAL statement_timeout = 0;
    SET LOCAL idle_in_transaction_session_timeout = 0;
    LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE
"""
_CLEAR = """
    DELETE FROM home_links; DELETE FROM home_listings; DELETE FROM homes; DELETE FROM home_states; DELETE FROM home_runs
"""
_NAMED = (
    "(portal, ref) IN (SELECT split_part(n, '/', 1), substr(n, strpos(n, '/') + 1) FROM unnest(%(names)s::text[]) AS n)"
)
_CHANGE = f"""
    DELETE FROM home_links WHERE home = ANY (%(relinked)s::text[]);
    DELETE FROM homes WHERE home = ANY (%(homes)s::text[]);
    DELETE FROM home_listings WHERE {_NAMED.replace("names", "members")};
    DELETE FROM home_states WHERE {_NAMED.replace("names", "states")};
    DELETE FROM home_runs
"""
#: Listings that were erased since the run began.
_DROP_ERASED = "; ".join(f"DELETE FROM {table} WHERE {is_erased(table)}" for table in ("home_listings", "home_states"))
_KEEP_PHOTOS = f"""
    INSERT INTO photo_hashes (portal, ref, photo, hash)
    SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::bigint[]) AS given (portal, ref, photo, hash)
    WHERE NOT {is_erased("given")}
    ON CONFLICT (portal, ref, photo) DO UPDATE SET hash = excluded.hash, hashed_at = now()
"""
#: The columns of a home that a filter can ask for.
_WANTED_HOMES = ("country", "city", "district", "operation", "property_type", "is_active")


class Homes(Statements):
    """Homes, the decisions of people about them, and market figures."""

    def save_homes(self, clustered: Clustered) -> None:
        with self.connection.cursor(watched=False) as cursor:
            cursor.execute(_BEGIN.format("homes"))
            cursor.execute(_CLEAR)
            _write(cursor, clustered)
            cursor.execute("COMMIT")
        self._ask("ANALYZE homes, home_listings, home_links, home_states", watched=False)

    def change_homes(self, changes: HomeChanges) -> bool:
        with self.connection.cursor(watched=False) as cursor:
            cursor.execute(_BEGIN.format("homes"))
            cursor.execute("SELECT built_at FROM home_runs")
            if cursor.fetchone() != (changes.before.built_at,):
                cursor.execute("ROLLBACK")
                return False
            values = {
                "relinked": list(changes.relinked),
                "homes": [*changes.gone_homes, *(each.home for each in changes.homes)],
                "members": [*changes.gone, *(each.name for each in changes.members)],
                "states": [*changes.gone, *(each.name for each in changes.states)],
            }
            cursor.execute(_CHANGE, values)
            _write(cursor, changes)
            cursor.execute("COMMIT")
        return True

    def home_states(self, names: Collection[str]) -> Mapping[str, HomeState]:
        statement = f"SELECT portal, ref, facts, keys, near, in_block FROM home_states WHERE {_NAMED}"
        rows = self._ask(statement, {"names": list(names)}, watched=False)
        found = (
            HomeState(portal, ref, facts, keys, [(name, score) for name, score in near], in_block)
            for portal, ref, facts, keys, near, in_block in rows
        )
        return {each.name: each for each in found}

    def keys_of_sharers(self, keys: Collection[int]) -> Mapping[str, Sequence[int]]:
        statement = "SELECT portal || '/' || ref, keys FROM home_states WHERE keys && %s::bigint[]"
        return dict(self._ask(statement, (list(keys),), watched=False)) if keys else {}

    def homes_of_listings(self, names: Collection[str]) -> Mapping[str, str]:
        statement = f"SELECT portal || '/' || ref, home FROM home_listings WHERE {_NAMED}"
        return dict(self._ask(statement, {"names": list(names)}, watched=False))

    def existing_homes(self, homes: Collection[str]) -> Collection[str]:
        return {home for (home,) in self._ask("SELECT home FROM homes WHERE home = ANY (%s::text[])", (list(homes),))}

    def keep_photo_hashes(self, read: Sequence[PhotoHash]) -> None:
        rows = [(each.portal, each.ref, each.photo, each.hash) for each in read]
        with self.connection.cursor() as cursor:
            cursor.execute(_KEEP_PHOTOS, [list(column) for column in zip(*rows, strict=True)])

    def photo_hashes(self, portal: str, refs: Sequence[str] | None = None) -> Mapping[str, Mapping[str, int]]:
        wanted = "" if refs is None else " AND ref = ANY (%(refs)s)"
        statement = f"SELECT ref, photo, hash FROM photo_hashes WHERE portal = %(portal)s{wanted}"
        found: dict[str, dict[str, int]] = {}
        for ref, photo, hash in self._ask(statement, {"portal": portal, "refs": refs}, watched=False):
            found.setdefault(ref, {})[photo] = hash
        return found

    def hashed_since(self, at: datetime) -> Collection[str]:
        rows = self._ask("SELECT DISTINCT portal || '/' || ref FROM photo_hashes WHERE hashed_at >= %s", (at,))
        return {name for (name,) in rows}

    def homes_run(self) -> HomesRun | None:
        rows = self._ask(f"SELECT {', '.join(_RUN)} FROM home_runs")
        return HomesRun(**dict(zip(_RUN, rows[0], strict=True))) if rows else None

    def home_ids(self) -> Mapping[str, str]:
        return dict(self._ask("SELECT portal || '/' || ref, home FROM home_listings", watched=False))

    def homes(self, wanted: HomeFilter = HomeFilter(), *, after: str = "", limit: int = 100) -> Sequence[Home]:  # noqa: B008
        asked = {name: getattr(wanted, name) for name in _WANTED_HOMES if getattr(wanted, name) is not None}
        conditions = "".join(f" AND {name} = %({name})s" for name in asked)
        statement = (
            f"SELECT {', '.join(_HOME)} FROM homes WHERE home > %(after)s{conditions} ORDER BY home LIMIT %(limit)s"
        )
        return [_home(row) for row in self._ask(statement, {**asked, "after": after, "limit": limit})]

    def home(self, home: str) -> Home | None:
        rows = self._ask(f"SELECT {', '.join(_HOME)} FROM homes WHERE home = %s", (home,))
        return _home(rows[0]) if rows else None

    def home_of(self, portal: str, ref: str) -> str | None:
        rows = self._ask("SELECT home FROM home_listings WHERE (portal, ref) = (%s, %s)", (portal, ref))
        return rows[0][0] if rows else None

    def home_members(self, home: str) -> Sequence[Member]:
        rows = self._ask("SELECT portal, ref, home FROM home_listings WHERE home = %s ORDER BY portal, ref", (home,))
        return [Member(*row) for row in rows]

    def home_links(self, home: str) -> Sequence[HomeLink]:
        statement = "SELECT home, a, b, score, reasons FROM home_links WHERE home = %s ORDER BY score DESC, a, b"
        return [
            HomeLink(of, a, b, score, [(name, weight) for name, weight in reasons])
            for of, a, b, score, reasons in self._ask(statement, (home,))
        ]

    def pins(self) -> Sequence[Pin]:
        return [Pin(*row) for row in self._ask("SELECT kind, a, b FROM home_pins ORDER BY a, b")]

    def pin(self, pin: Pin) -> None:
        self._ask(
            "INSERT INTO home_pins (kind, a, b) VALUES (%s, %s, %s)"
            " ON CONFLICT (a, b) DO UPDATE SET kind = excluded.kind, at = now()",
            (pin.kind, min(pin.a, pin.b), max(pin.a, pin.b)),
        )

    def save_market(self, rows: Sequence[MarketWeek], since: date) -> None:
        row = attrgetter(*_MARKET)
        with self.connection.cursor(watched=False) as cursor:
            cursor.execute(_BEGIN.format("market_weekly"))
            cursor.execute("DELETE FROM market_weekly WHERE week >= %s", (since,))
            copy(cursor, f"COPY market_weekly ({', '.join(_MARKET)}) FROM STDIN", map(row, rows))
            cursor.execute("COMMIT")

    def market_weeks(self, wanted: MarketFilter = MarketFilter()) -> Sequence[MarketWeek]:  # noqa: B008
        asked = {name: value for name, value in asdict(wanted).items() if value is not None}
        conditions = [f"week >= %({name})s" if name == "since" else f"{name} = %({name})s" for name in asked]
        statement = (
            f"SELECT {', '.join(_MARKET)} FROM market_weekly WHERE {' AND '.join(['true', *conditions])}"
            f" ORDER BY {_MARKET_ORDER}"
        )
        return [MarketWeek(**dict(zip(_MARKET, row, strict=True))) for row in self._ask(statement, asked)]

    def newest_market_weeks(self) -> Sequence[MarketWeek]:
        statement = (
            f"SELECT DISTINCT ON ({_SERIES}) {', '.join(_MARKET)} FROM market_weekly ORDER BY {_SERIES}, week DESC"
        )
        return [MarketWeek(**dict(zip(_MARKET, row, strict=True))) for row in self._ask(statement, {})]


def _home(row: Sequence[Any]) -> Home:
    return Home(**dict(zip(_HOME, row, strict=True)))


def _reasons(link: HomeLink) -> str:
    return msgspec.json.encode([list(each) for each in link.reasons]).decode()


def _write(cursor: Any, written: Clustered | HomeChanges) -> None:
    """Add the rows of a run, in its transaction."""
    home = attrgetter(*_HOME)
    copy(cursor, f"COPY homes ({', '.join(_HOME)}) FROM STDIN", map(home, written.homes))
    members = ((each.portal, each.ref, each.home) for each in written.members)
    copy(cursor, "COPY home_listings (portal, ref, home) FROM STDIN", members)
    links = ((each.home, each.a, each.b, each.score, _reasons(each)) for each in written.links)
    copy(cursor, "COPY home_links (home, a, b, score, reasons) FROM STDIN", links)
    copy(cursor, "COPY home_states (portal, ref, facts, keys, near, in_block) FROM STDIN", _states(written.states))
    cursor.execute(_DROP_ERASED)
    run = asdict(written.run)
    run["coverage"] = Json(dict(written.run.coverage))
    cursor.execute(
        f"INSERT INTO home_runs ({', '.join(_RUN)}) VALUES ({', '.join(f'%({name})s' for name in _RUN)})", run
    )


def _states(states: Iterable[HomeState]) -> Iterable[Sequence[Any]]:
    for each in states:
        near = msgspec.json.encode(each.near).decode()
        yield each.portal, each.ref, each.facts, f"{{{','.join(map(str, each.keys))}}}", near, each.in_block
