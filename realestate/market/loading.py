"""Loads what the market figures need from a store into DuckDB: the homes, and when each was on the market at which
price.

Each listing and event is one row of Arrow, and DuckDB does the rest, so a million listings take seconds.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from realestate.storage import FullStore
from realestate.storage.export import TABLES, Table

if TYPE_CHECKING:
    import duckdb

Progress = Callable[[str, int], object]

#: What the hedonic index compares, beside the size: columns of the table `homes`.
WORDS = ("place", "metro", "subtype", "condition", "rooms", "is_new_building", "seller_type")
#: The columns of a listing that are read.
ADVERT = (
    "portal",
    "ref",
    "country",
    "operation",
    "property_type",
    "city",
    "district",
    "metro_station",
    "area_m2",
    "subtype",
    "condition",
    "rooms",
    "is_new_building",
    "seller_type",
)
EVENT = ("portal", "ref", "seq", "type", "at", "data")
#: Events that say when an advert was on the market, and at which price.
_TYPES = ("listed", "relisted", "price_changed", "price_meaning_changed", "delisted", "sold", "rented")


def load(
    database: "duckdb.DuckDBPyConnection", store: FullStore, progress: Progress = lambda what, count: None
) -> None:
    """Create the tables `homes` and `periods`. A listing that `realestate homes build` has not seen is a home."""
    database.execute("SET TimeZone = 'UTC'")
    _copy(database, store, "listings", ADVERT, "listings", progress)
    _copy(database, store, "home_listings", ("portal", "ref", "home"), "members", progress)
    _copy(database, store, "events", EVENT, "events", progress)
    progress("homes", 0)
    database.execute(ADVERTS)
    database.execute("DROP TABLE listings; DROP TABLE members")
    database.execute(HOMES)
    database.execute(PERIODS)
    database.execute("DROP TABLE events; DROP TABLE adverts")


def _copy(
    database: "duckdb.DuckDBPyConnection",
    store: FullStore,
    source: Any,
    columns: tuple[str, ...],
    into: str,
    progress: Progress,
) -> None:
    """Copy some columns of a table of the store."""
    import pyarrow as pa

    from realestate.exports.arrow import schema_of

    whole = TABLES[source]
    known = {column.name: column for column in whole.columns}
    table = Table(whole.name, tuple(known[name] for name in columns), whole.order, whole.identity)
    rows = pa.RecordBatchReader.from_batches(schema_of(table), _batches(store, table, progress))
    database.register("given", rows)
    database.execute(f"CREATE TABLE {into} AS FROM given")
    database.unregister("given")


def _batches(store: FullStore, table: Table, progress: Progress) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    from realestate.exports.arrow import parts

    wanted = pa.array(_TYPES)
    count = 0
    with store.exported(table) as source:
        for part in parts(source):
            batch = part.batch
            count += batch.num_rows
            progress(table.name, count)
            yield batch.filter(pc.is_in(batch["type"], wanted)) if table.name == "events" else batch


#: Each advert with its home.
ADVERTS = """
    CREATE TABLE adverts AS
    SELECT listings.*, coalesce(members.home, listings.portal || '/' || listings.ref) AS home
    FROM listings LEFT JOIN members USING (portal, ref)
"""
_FACTS = tuple(name for name in ADVERT if name not in ("portal", "ref", "country", "area_m2"))
_ONE = "portal, ref"
#: Each home once, with the values that most of its adverts have; of equally common ones, the first advert's. Of the
#: sizes, the middle one. A home of which it is not known what it is, is left out.
HOMES = f"""
    CREATE TABLE homes AS
    WITH counted AS (SELECT *, count(*) OVER (PARTITION BY home) AS count FROM adverts),
    usual AS (
        SELECT home, country, {", ".join(_FACTS)}, CASE WHEN area_m2 > 0 THEN area_m2 END AS area_m2
        FROM counted WHERE count = 1
        UNION ALL
        SELECT home, first(country ORDER BY {_ONE}), {", ".join(f"mode({each} ORDER BY {_ONE})" for each in _FACTS)},
            list_sort(list(area_m2) FILTER (area_m2 > 0))[(count(*) FILTER (area_m2 > 0)) // 2 + 1]
        FROM counted WHERE count > 1 GROUP BY home
    )
    SELECT home, country, coalesce(city, '') AS home_city, coalesce(district, '') AS home_district, property_type,
        operation, area_m2,
        -- a metro station may have the name of another district
        CASE WHEN district IS NULL THEN concat('metro ', metro_station) ELSE concat(city, '/', district) END AS place,
        coalesce(metro_station, '') AS metro,
        coalesce(subtype, '') AS subtype,
        coalesce(condition, '') AS condition,
        coalesce(rooms::VARCHAR, '') AS rooms,
        coalesce(is_new_building::VARCHAR, '') AS is_new_building,
        coalesce(seller_type, '') AS seller_type,
        district IS NOT NULL OR metro_station IS NOT NULL AS has_place
    FROM usual WHERE property_type IS NOT NULL AND operation IS NOT NULL
"""
_SO_FAR = "OVER (PARTITION BY portal, ref ORDER BY seq ROWS UNBOUNDED PRECEDING)"
#: When each advert was on the market at one price: from the event that began it to the next one. A price that is on
#: request or for a square metre is none. A delisted advert left when it was known to be gone; one that was sold when it
#: was first seen was never on the market. What is null in `opens`, `price` and so on stays as it was before the event.
PERIODS = f"""
    CREATE TABLE periods AS
    WITH given AS (
        SELECT portal, ref, seq, type,
            CASE WHEN type = 'delisted' THEN try_cast((data ->> 'before') AS TIMESTAMPTZ) END AS left_at,
            "at" AS seen_at,
            CASE WHEN type IN ('delisted', 'sold', 'rented') THEN false
                WHEN type = 'relisted' THEN true
                WHEN type = 'listed' AND coalesce(data ->> 'status', 'active') IN ('active', 'reserved') THEN true
            END AS opens,
            CASE WHEN type IN ('price_changed', 'price_meaning_changed') THEN data -> 'new'
                WHEN type IN ('listed', 'relisted') AND json_exists(data, '$.currency') THEN data
            END AS new
        FROM (SELECT * REPLACE (data::JSON AS data) FROM events WHERE type IN {_TYPES})
    ), said AS (
        SELECT *, json_type(new) = 'OBJECT' AS is_whole FROM given
    ), changed AS (
        SELECT portal, ref, seq, coalesce(left_at, seen_at) AS moment, opens,
            CASE WHEN new IS NOT NULL
                THEN {{'v': try_cast(CASE WHEN is_whole THEN new ->> 'price' ELSE new ->> '$' END AS DOUBLE)}}
            END AS price,
            CASE WHEN is_whole AND json_exists(new, '$.currency') THEN {{'v': new ->> 'currency'}} END AS currency,
            CASE WHEN is_whole THEN {{'v': new ->> 'price_basis'}} END AS basis,
            CASE WHEN is_whole THEN {{'v': new ->> 'rent_period'}} END AS period
        FROM said
    ), known AS (
        SELECT portal, ref, moment AS begun_at,
            lead(moment) OVER (PARTITION BY portal, ref ORDER BY seq) AS ended_at,
            last_value(opens IGNORE NULLS) {_SO_FAR} AS is_on,
            (last_value(price IGNORE NULLS) {_SO_FAR}).v AS price,
            (last_value(currency IGNORE NULLS) {_SO_FAR}).v AS currency,
            (last_value(basis IGNORE NULLS) {_SO_FAR}).v AS basis,
            (last_value(period IGNORE NULLS) {_SO_FAR}).v AS period
        FROM changed
    )
    SELECT home,
        concat(currency, '/', period) AS money,
        CASE WHEN basis IS NULL OR basis = 'total' THEN price END AS price,
        begun_at,
        ended_at
    FROM known JOIN adverts USING (portal, ref)
    WHERE is_on AND (ended_at IS NULL OR ended_at > begun_at)
"""
