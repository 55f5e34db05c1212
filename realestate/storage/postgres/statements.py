"""The statements by which a batch is merged into what is known. See `merge`."""

from functools import cache

from realestate.storage.postgres import quarantine
from realestate.storage.postgres.erased import stays_away
from realestate.storage.postgres.rows import COLUMNS, recordset, unnested

#: Any number nobody else takes as an advisory lock in this database.
LOCK = 0x7772697465  # "write"

_KEY = {"portal": "text", "ref": "text"}
_BESIDE = {"revision": "integer", "last_run": "text", "suspect_price": "numeric(14, 2)", "suspect_run": "text"}
_WRITTEN = {**COLUMNS, **_BESIDE}
STAGED = {**_WRITTEN, "expected": "integer", "seen": "boolean", "read": "boolean", "unseen_since": "timestamptz"}
TOLD = {**_KEY, "revision": "integer", "at": "timestamptz", "run": "text"}
_EVENT = {**TOLD, "type": "text", "data": "jsonb"}
PRICE = {**TOLD, "source": "text", "price": "numeric(14, 2)", "currency": "text", "price_basis": "text"}
PRICE |= {"rent_period": "text", "suspect": "boolean"}
#: Events and prices share a table.
HISTORY = {**_EVENT, **PRICE}
TOUCHED = {**_KEY, "revision": "integer", "last_run": "text", "read": "boolean"}
_SNAPSHOT = {**_KEY, "url": "text", "stage": "text", "job": "text", "kind": "text", "status": "integer"}
_SNAPSHOT |= {"fetched_at": "timestamptz", "file": "text", '"offset"': "bigint", "length": "bigint", "digest": "text"}
_DEPARTURE = {**_KEY, "run": "text", "evidence": "text", "detail": "text", "url": "text"}


#: A table of the connection's own.
STAGE = f"""
    CREATE TEMPORARY TABLE staged ({", ".join(f"{column} {type}" for column, type in STAGED.items())})
    ON COMMIT DELETE ROWS
"""
COPY = f"BEGIN; COPY staged ({', '.join(STAGED)}) FROM STDIN"

#: A listing may have been seen by another worker, later than by us.
_SEEN_NOW = "greatest(known.last_seen_at, clock.now)"
_READ_NOW = "greatest(known.last_fetched_at, clock.now)"

_ADDED = f"""
    added AS (
        INSERT INTO listings ({", ".join(_WRITTEN)}, first_seen_at, last_seen_at, last_fetched_at)
        SELECT {", ".join(_WRITTEN)}, %(now)s, %(now)s, %(now)s FROM staged
        WHERE expected IS NULL AND NOT {stays_away("staged")}
        {{unless}} RETURNING portal, ref
    )"""
_CHANGED = f"""
    changed AS (
        UPDATE listings AS known SET
            {", ".join(f"{name} = staged.{name}" for name in _WRITTEN if name not in (*_KEY, "last_run"))},
            last_seen_at = CASE WHEN staged.seen THEN {_SEEN_NOW} ELSE known.last_seen_at END,
            last_fetched_at = CASE WHEN staged.read THEN {_READ_NOW} ELSE known.last_fetched_at END,
            last_run = CASE WHEN staged.seen THEN staged.last_run ELSE known.last_run END
        FROM staged, clock
        WHERE known.portal = staged.portal AND known.ref = staged.ref AND known.revision = staged.expected
          AND (staged.unseen_since IS NULL OR known.last_seen_at <= staged.unseen_since)
        RETURNING known.portal, known.ref
    )"""
_TOLD_OF = f"""
    history AS MATERIALIZED (SELECT * FROM {unnested("history", HISTORY)}),
    told AS (
        INSERT INTO events ({", ".join(_EVENT)})
        SELECT {", ".join(_EVENT)} FROM history JOIN applied USING (portal, ref) WHERE type IS NOT NULL ORDER BY place
        {{unless}} RETURNING type
    ),
    priced AS (
        INSERT INTO prices ({", ".join(PRICE)})
        SELECT {", ".join(PRICE)} FROM history JOIN applied USING (portal, ref) WHERE source IS NOT NULL {{unless}}
    )"""
_TOUCHES = f"""
    touches AS MATERIALIZED (SELECT * FROM {unnested("touched", TOUCHED)}),
    touched AS (
        UPDATE listings AS known SET last_seen_at = {_SEEN_NOW}, last_run = touches.last_run,
            last_fetched_at = CASE WHEN touches.read THEN {_READ_NOW} ELSE known.last_fetched_at END
        FROM touches, clock
        WHERE known.portal = touches.portal AND known.ref = touches.ref AND known.revision = touches.revision
        RETURNING known.portal, known.ref
    )"""
_DEPARTURES = f"""
    departed AS (
        INSERT INTO departures ({", ".join(_DEPARTURE)}, at) SELECT {", ".join(_DEPARTURE)}, clock.now
        FROM {recordset("departed", _DEPARTURE)}, clock WHERE NOT {stays_away("departed")} ON CONFLICT DO NOTHING
    )"""
_SNAPSHOTS = f"""
    snapped AS (
        INSERT INTO snapshots ({", ".join("run" if name == "job" else name for name in _SNAPSHOT)})
        SELECT * FROM {recordset("snapped", _SNAPSHOT)} ON CONFLICT DO NOTHING
    )"""
_PARTS = {"added": _ADDED, "changed": _CHANGED, "touched": _TOUCHES, "departed": _DEPARTURES}
_PARTS |= {"quarantined": quarantine.INSERT, "snapped": _SNAPSHOTS}
_LOST = "SELECT portal, ref FROM {given} EXCEPT SELECT portal, ref FROM {applied}"


@cache
def statement(*what: str) -> str:
    """Only of what there is: PostgreSQL plans every part. What came of it outlives the transaction in a setting, so
    that the same round trip can answer it after the commit."""
    parts, lost, told = ["clock AS MATERIALIZED (SELECT clock_timestamp() AS now)"], [], "NULL"
    unless = "ON CONFLICT DO NOTHING" if "careful" in what else ""
    parts += [sql.format(unless=unless) for name, sql in _PARTS.items() if name in what]
    written = [f"SELECT portal, ref FROM {name}" for name in ("added", "changed") if name in what]
    if applied := " UNION ALL ".join(written):
        parts += [f"applied AS ({applied})", _TOLD_OF.format(unless=unless)]
        lost.append(_LOST.format(given="staged", applied="applied"))
        told = "(SELECT json_object_agg(type, times) FROM (SELECT type, count(*) AS times FROM told GROUP BY 1) AS t)"
    if "touched" in what:
        lost.append(_LOST.format(given="touches", applied="touched"))
    keys = " UNION ALL ".join(f"({each})" for each in lost) or "SELECT NULL AS portal, NULL AS ref WHERE false"
    answer = f"json_build_array((SELECT json_agg(json_build_array(portal, ref)) FROM ({keys}) AS lost), {told})::text"
    return f"""
        {"" if applied else "BEGIN;"} SET LOCAL enable_seqscan = off; SELECT pg_advisory_xact_lock(%(lock)s);
        WITH {", ".join(parts)} SELECT set_config('realestate.merged', {answer}, false);
        COMMIT; SELECT current_setting('realestate.merged')
    """
