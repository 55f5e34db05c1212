"""Read listings, their history, quarantine, the index of raw pages and page validators."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from operator import attrgetter
from typing import Any

from realestate.items import FIELDS, as_record
from realestate.storage.changes import OFF_THE_MARKET
from realestate.storage.contacts import Source
from realestate.storage.history import ALL_EVENTS, Event, EventFilter, PriceSeen
from realestate.storage.maintenance import InQuarantine
from realestate.storage.postgres.connection import Connection, Statements
from realestate.storage.postgres.merge import is_erased
from realestate.storage.postgres.rows import arrays, as_json, encoded, listing_of, recordset, unnested
from realestate.storage.postgres.sampling import sampled
from realestate.storage.snapshots import Kind, SnapshotRef
from realestate.storage.store import CardRead, JobKey, Known, MarketRow, MedianRow, Numbered, ServerState
from realestate.storage.validators import TRUSTED, PageRead, Validators

#: Rows that are read at a time, where all are wanted.
_PAGE = 1000

_EVENT = "portal, ref, revision, type, at, job, data"
#: field of `EventFilter` -> SQL condition.
_WANTED = {"portal": "portal = %s", "type": "type = %s", "since": "at >= %s", "until": "at < %s"}
_PRICE = "portal, ref, revision, at, job, source, price, currency, price_basis, rent_period, suspect"
_COUNTS = """
    SELECT portal, sum(listings)::int, sum(quarantined)::int FROM (
        SELECT portal, sum(count) AS listings, 0 AS quarantined FROM ({statuses}) AS kept GROUP BY portal
        UNION ALL SELECT portal, 0, count(*) FROM quarantine GROUP BY portal {others}
    ) AS all_tables GROUP BY portal HAVING sum(listings) + sum(quarantined) > 0 ORDER BY portal
"""
#: The number of listings of each portal and status. To count them in `listings` would read the whole table; a database
#: that is not migrated yet has no tallies.
_STATUSES = "SELECT portal, value AS status, sum(count) AS count FROM tallies WHERE field = 'status' GROUP BY 1, 2"
_STATUSES_WITHOUT_TALLIES = "SELECT portal, status, count(*) AS count FROM listings GROUP BY 1, 2"
_OTHERS = "UNION ALL SELECT portal, count(*), 0 FROM others GROUP BY portal"
#: Without daily rents: they cannot be compared with monthly ones.
_MARKET = """
    SELECT country, coalesce(city, '?'), coalesce(district, '?'), operation, currency, count(*)::int,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY price)::numeric(14, 0),
           percentile_cont(0.5) WITHIN GROUP (ORDER BY price_per_m2)::numeric(14, 2)
    FROM summaries
    WHERE price IS NOT NULL AND on_market AND rent_period IS DISTINCT FROM 'day'
      AND property_type IN ('apartment', 'house') AND (%(country)s::text IS NULL OR country = %(country)s)
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 6 DESC, 1, 2, 3, 4
"""
#: One process is enough, as this may take long.
_MEDIANS = f"""
    SET LOCAL max_parallel_workers_per_gather = 0;
    SELECT country, city, district, operation, property_type, rent_period, currency,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY price_per_m2)::double precision, count(*)::int
    FROM {sampled("listings")}
    WHERE price_per_m2 IS NOT NULL AND city IS NOT NULL AND operation IS NOT NULL AND property_type IS NOT NULL
      AND status <> ALL (%s)
    GROUP BY 1, 2, 3, 4, 5, 6, 7
"""
_KNOWN = """
    SELECT ref, status, price, currency, price_basis, rent_period, charges, last_fetched_at, updated_at, card
    FROM listings LEFT JOIN cards USING (portal, ref)
    WHERE portal = %s AND ref = ANY (%s)
"""
_CARD = {"portal": "text", "ref": "text", "card": "text"}
_KEEP_CARDS = f"""
    INSERT INTO cards (portal, ref, card)
    SELECT portal, ref, card FROM {unnested("given", _CARD)} WHERE NOT {is_erased("given")}
    ON CONFLICT (portal, ref) DO UPDATE SET card = excluded.card WHERE cards.card <> excluded.card
"""


_SERVER = """
    SELECT clock_timestamp(),
           current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
           - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::integer
"""


def _statuses(cursor: Any) -> str | None:
    """The query of the listings by portal and status; None if the database does not have our tables."""
    cursor.execute("SELECT to_regclass('tallies'), to_regclass('listings')")
    tallies, listings = cursor.fetchone()
    if tallies:
        return _STATUSES
    return _STATUSES_WITHOUT_TALLIES if listings else None


class ListingReader:
    """Reads listings, events, prices, watermarks and market figures."""

    connection: Connection

    def server_state(self) -> ServerState:
        with self.connection.cursor(migrated=False) as cursor:
            cursor.execute(_SERVER)
            return ServerState(*cursor.fetchone())

    def size(self) -> int:
        with self.connection.cursor(migrated=False) as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])

    def counts(self) -> dict[str, tuple[int, int]]:
        """Does not migrate: reading must not change anything. A database without our tables is empty."""
        with self.connection.cursor(migrated=False) as cursor:
            statuses = _statuses(cursor)
            cursor.execute("SELECT to_regclass('quarantine'), to_regclass('others')")
            quarantine, others = cursor.fetchone()
            if statuses is None or quarantine is None:
                return {}
            cursor.execute(_COUNTS.format(statuses=statuses, others=_OTHERS if others else ""))
            return {portal: (kept, bad) for portal, kept, bad in cursor.fetchall()}

    def statuses(self, portal: str) -> Mapping[str, int]:
        """Does not migrate, as `counts`."""
        with self.connection.cursor(migrated=False) as cursor:
            statuses = _statuses(cursor)
            if statuses is None:
                return {}
            wanted = f"SELECT status, count::int FROM ({statuses}) AS kept WHERE portal = %s AND count > 0"
            cursor.execute(wanted, (portal,))
            return dict(cursor.fetchall())

    def records(self, portal: str) -> Iterator[dict[str, Any]]:
        """Reads page by page, so that a slow reader holds no transaction open."""
        page = f"SELECT {', '.join(FIELDS)} FROM listings WHERE portal = %s AND ref > %s ORDER BY ref LIMIT {_PAGE}"
        last = ""
        while rows := self._rows(page, portal, last):
            listings = [listing_of(row) for row in rows]
            yield from map(as_record, listings)
            last = listings[-1].ref

    def events(self, after: int = 0, limit: int = 1000, wanted: EventFilter = ALL_EVENTS) -> Sequence[Numbered]:
        asked = {name: value for name, value in asdict(wanted).items() if value is not None}
        conditions = "".join(f" AND {_WANTED[name]}" for name in asked)
        statement = f"SELECT seq, {_EVENT} FROM events WHERE seq > %s{conditions} ORDER BY seq LIMIT %s"
        rows = self._rows(statement, after, *asked.values(), limit)
        return [Numbered(seq, Event(*event)) for seq, *event in rows]

    def last_event(self) -> int:
        """Does not migrate: reading must not change anything."""
        with self.connection.cursor(migrated=False) as cursor:
            cursor.execute("SELECT to_regclass('events')")
            if cursor.fetchone()[0] is None:
                return 0
            cursor.execute("SELECT coalesce(max(seq), 0) FROM events")
            return int(cursor.fetchone()[0])

    def event_counts(self, after: int = 0) -> Mapping[JobKey, Mapping[str, int]]:
        rows = self._rows("SELECT portal, job, type, count(*) FROM events WHERE seq > %s GROUP BY 1, 2, 3", after)
        counts: dict[JobKey, dict[str, int]] = {}
        for portal, job, type, count in rows:
            counts.setdefault(JobKey(portal, job), {})[type] = count
        return counts

    def history(self, portal: str, ref: str) -> Sequence[Event]:
        rows = self._rows(f"SELECT {_EVENT} FROM events WHERE (portal, ref) = (%s, %s) ORDER BY seq", portal, ref)
        return [Event(*row) for row in rows]

    def prices(self, portal: str, ref: str) -> Sequence[PriceSeen]:
        wanted = f"SELECT {_PRICE} FROM prices WHERE (portal, ref) = (%s, %s) ORDER BY at, revision"
        rows = self._rows(wanted, portal, ref)
        return [PriceSeen(*row) for row in rows]

    def known(self, portal: str, refs: Sequence[str]) -> Mapping[str, Known]:
        rows = self._rows(_KNOWN, portal, list(refs))
        return {ref: Known(*columns) for ref, *columns in rows}

    def keep_cards(self, read: Sequence[CardRead]) -> None:
        newest = {(each.portal, each.ref): each.card for each in read}
        rows = [(*key, card) for key, card in sorted(newest.items())]
        with self.connection.cursor() as cursor:
            cursor.execute(_KEEP_CARDS, arrays("given", _CARD, rows))

    def watermark(self, portal: str, scope: str) -> str | None:
        rows = self._rows("SELECT value FROM watermarks WHERE (portal, scope) = (%s, %s)", portal, scope)
        return rows[0][0] if rows else None

    def set_watermark(self, portal: str, scope: str, value: str, job: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO watermarks (portal, scope, value, job) VALUES (%s, %s, %s, %s) ON CONFLICT (portal, scope)"
                " DO UPDATE SET value = excluded.value, job = excluded.job, set_at = now()",
                (portal, scope, value, job),
            )

    def market(self, country: str | None = None) -> list[MarketRow]:
        with self.connection.cursor() as cursor:
            cursor.execute(_MARKET, {"country": country})
            return [MarketRow(*row) for row in cursor.fetchall()]

    def medians(self) -> list[MedianRow]:
        return [MedianRow(*row) for row in self._rows(_MEDIANS, list(OFF_THE_MARKET))]

    def _rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor)


#: The same rule as `maintenance.fault_of`.
_FAULT = "split_part(split_part(error, ':', 1), '.', 1)"
_QUARANTINED = f"""
    SELECT fingerprint, portal, ref, url, errors, record, quarantined_at FROM quarantine
    WHERE (%(portal)s IS NULL OR portal = %(portal)s) AND (%(ref)s IS NULL OR ref = %(ref)s)
      AND (%(ids)s IS NULL OR fingerprint = ANY (%(ids)s::text[]))
      AND (%(fault)s IS NULL
           OR EXISTS (SELECT FROM jsonb_array_elements_text(errors) AS error WHERE {_FAULT} = %(fault)s))
    ORDER BY quarantined_at DESC, portal, fingerprint LIMIT %(limit)s
"""
_FAULTS = f"""
    SELECT portal, {_FAULT} AS fault, count(DISTINCT fingerprint)::int
    FROM quarantine, jsonb_array_elements_text(errors) AS error
    WHERE %(portal)s IS NULL OR portal = %(portal)s GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2
"""
#: Field of `SnapshotRef` -> column.
INDEX = {each.name: "job" if each.name == "job" else each.name for each in fields(SnapshotRef)}
_INDEX_TYPES = {**dict.fromkeys(INDEX.values(), "text"), "offset": "bigint", "length": "bigint", "status": "integer"}
_INDEX_TYPES |= {"fetched_at": "timestamptz"}
_INDEX_COLUMNS = ", ".join(f'"{column}"' for column in INDEX.values())
_REINDEX = f"""
    DELETE FROM snapshots WHERE file = %(file)s;
    INSERT INTO snapshots ({_INDEX_COLUMNS}) SELECT {_INDEX_COLUMNS}
    FROM {recordset("rows", {f'"{column}"': type for column, type in _INDEX_TYPES.items()})}
"""
PAGES = f"SELECT {_INDEX_COLUMNS} FROM snapshots"


def page_of(row: Sequence[Any]) -> SnapshotRef:
    """From the columns of PAGES."""
    return SnapshotRef(**dict(zip(INDEX, row, strict=True)))


class QuarantineAndPageIndex(Statements):
    """Quarantine, and the index of raw pages."""

    def quarantined(
        self,
        *,
        portal: str | None = None,
        ref: str | None = None,
        fault: str | None = None,
        ids: Sequence[str] | None = None,
        limit: int = 20,
    ) -> Sequence[InQuarantine]:
        asked = {"portal": portal, "ref": ref, "fault": fault, "limit": limit}
        rows = self._ask(_QUARANTINED, {**asked, "ids": None if ids is None else list(ids)})
        return [in_quarantine(row) for row in rows]

    def faults(self, portal: str | None = None) -> Mapping[str, Mapping[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for name, fault, count in self._ask(_FAULTS, {"portal": portal}):
            found.setdefault(name, {})[fault] = count
        return found

    def drop_quarantined(self, ids: Sequence[str]) -> int:
        gone = self._ask("DELETE FROM quarantine WHERE fingerprint = ANY (%s) RETURNING fingerprint", (list(ids),))
        return len(gone)

    def snapshots(self, portal: str, ref: str) -> Sequence[SnapshotRef]:
        rows = self._ask(f"{PAGES} WHERE (portal, ref) = (%s, %s) ORDER BY fetched_at DESC", (portal, ref))
        return [page_of(row) for row in rows]

    def reindex(self, file: str, rows: Sequence[SnapshotRef]) -> None:
        values = ({column: getattr(row, name) for name, column in INDEX.items()} for row in rows)
        self._ask(_REINDEX, {"file": file, "rows": as_json(map(encoded, values))})

    def drop_snapshots(self, files: Sequence[str]) -> None:
        self._ask("DELETE FROM snapshots WHERE file = ANY (%s)", (list(files),))

    def drop_old_pages(self, kind: Kind, days: float) -> None:
        old = "DELETE FROM snapshots WHERE kind = %s AND fetched_at < now() - make_interval(secs => %s)"
        self._ask(old, (kind, days * 86400))


def in_quarantine(row: Sequence[Any]) -> InQuarantine:
    id, portal, ref, url, errors, record, at = row
    return InQuarantine(id=id, portal=portal, ref=ref, url=url, errors=tuple(errors), record=record, at=at)


_VALIDATORS = {each.name: "integer" if each.name == "parser_version" else "text" for each in fields(PageRead)}
_KEEP_VALIDATORS = f"""
    INSERT INTO validators ({", ".join(_VALIDATORS)})
    SELECT {", ".join(_VALIDATORS)} FROM {unnested("given", _VALIDATORS)} WHERE NOT {is_erased("given")}
    ON CONFLICT (portal, ref) DO UPDATE
    SET kept_at = now(),
        {", ".join(f"{name} = excluded.{name}" for name in _VALIDATORS if name not in ("portal", "ref"))}
"""
#: The refs are given for both tables: else PostgreSQL may read all listings of a portal it has no statistics of.
_HOLDING = """
    SELECT ref, page.url, page.etag, page.last_modified, known.rent_period
    FROM validators AS page JOIN listings AS known USING (portal, ref)
    WHERE portal = %(portal)s AND page.ref = ANY (%(refs)s) AND known.ref = ANY (%(refs)s)
      AND page.parser_version = %(parser_version)s AND page.content_hash = known.content_hash
      AND page.kept_at > now() - %(trusted)s AND known.suspect_price IS NULL
      AND known.status <> ALL (%(off_the_market)s)
      AND (%(contacts)s IS NULL OR EXISTS (
          SELECT FROM contacts
          WHERE contacts.portal = known.portal AND contacts.ref = known.ref AND source = %(contacts)s))
"""


class PageValidators(Statements):
    """Keeps the validators (ETag, Last-Modified) of pages."""

    def keep_validators(self, read: Sequence[PageRead]) -> None:
        newest = {(each.portal, each.ref): each for each in read}
        rows = [attrgetter(*_VALIDATORS)(each) for _, each in sorted(newest.items())]
        self._ask(_KEEP_VALIDATORS, arrays("given", _VALIDATORS, rows))

    def validators(
        self, portal: str, refs: Sequence[str], parser_version: int, contacts: Source | None = None
    ) -> Mapping[str, Validators]:
        values = {"portal": portal, "refs": list(refs), "parser_version": parser_version, "contacts": contacts}
        values |= {"trusted": TRUSTED, "off_the_market": list(OFF_THE_MARKET)}
        return {ref: Validators(*page) for ref, *page in self._ask(_HOLDING, values)}
