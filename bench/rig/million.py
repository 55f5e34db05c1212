"""A large store for other suites: several portals and countries, hundreds of cities, another place for each listing.

A listing keeps the texts of the pattern of which it is made. Its place is its own, and so is its cell of the map. Its
city is one of its portal's: facets and hexagons have as many values as in a real store.
"""

from collections.abc import Iterator
from random import Random

from bench.rig.adverts import Adverts
from bench.rig.database import Database
from bench.store import write
from realestate.storage.postgres.rows import COLUMNS, copy
from realestate.storage.query.hexagons import stored_cell

#: Different listings, of which the others are made, and how many of them at a time.
PATTERNS = 2_000
AT_A_TIME = 50_000
FIRST_REF = 31_000_000
#: Portal -> its country. The first is that of the patterns; half of all listings are of the first three.
PORTALS = {
    "immoweb": "BE",
    "bina": "AZ",
    "otodom": "PL",
    "willhaben": "AT",
    "onthemarket": "GB",
    "daft": "IE",
    "tap": "AZ",
    "lalafo": "KG",
    "property24": "ZA",
    "emlak": "AZ",
}
#: Where a country is, beside the places of the patterns: degrees to the east.
EAST = {"BE": 0.0, "AZ": 44.0, "PL": 16.0, "AT": 9.0, "GB": -6.0, "IE": -12.0, "KG": 70.0, "ZA": 24.0}
#: How far a listing is from its pattern, in degrees.
_SPREAD = 0.04
_OFF_THE_MARKET = 0.3
_CHANGED = 0.1

_MADE_TABLE = """
    CREATE TEMPORARY TABLE made (
        ref text, portal text, country text, pattern int, city text, longitude float8, latitude float8, cell bigint,
        factor float8, is_gone boolean, at timestamptz DEFAULT now() - random() * interval '180 days'
    ) ON COMMIT DROP
"""
_COPY_MADE = "COPY made (ref, portal, country, pattern, city, longitude, latitude, cell, factor, is_gone) FROM STDIN"
_OWN = ("ref", "portal", "country", "longitude", "latitude")
_DERIVED = {
    "url": "pattern.url || made.ref",
    "city": "pattern.city || made.city",
    "price": "round((pattern.price * made.factor)::numeric)",
    "price_per_m2": "round((pattern.price * made.factor / nullif(pattern.area_m2, 0))::numeric, 2)",
    "first_seen_at": "made.at",
    "last_seen_at": "made.at",
    "status": "CASE WHEN made.is_gone THEN 'delisted' ELSE pattern.status END",
    "delisted_at": "CASE WHEN made.is_gone THEN tstzrange(made.at, made.at + interval '9 days') END",
}


_COLUMNS = (*COLUMNS, "first_seen_at", "last_seen_at")


def _value(name: str) -> str:
    if name in _OWN:
        return f"made.{name}"
    return _DERIVED.get(name, f"pattern.{name}")


_MULTIPLY = f"""
    INSERT INTO listings ({", ".join(_COLUMNS)}, revision, search_words, cell)
    SELECT {", ".join(map(_value, _COLUMNS))}, 1,
        pattern.search_words || array_to_tsvector(array_remove(ARRAY[ltrim(made.city), made.ref], '')), made.cell
    FROM made JOIN patterns AS pattern ON pattern.number = made.pattern
"""
HISTORY = """
    INSERT INTO events (portal, ref, revision, type, at, job, data)
    SELECT portal, ref, 1, 'listed', first_seen_at, '', jsonb_build_object('price', price, 'currency', currency)
    FROM listings ORDER BY first_seen_at ON CONFLICT DO NOTHING;
    INSERT INTO prices
    SELECT portal, ref, 1, first_seen_at, '', 'listing', price, currency, price_basis, rent_period, false
    FROM listings ON CONFLICT DO NOTHING
"""
_PRICE_CHANGES = """
    WITH moved AS (
        SELECT *, (random() * 0.3 - 0.2)::numeric AS percent FROM listings WHERE random() < %s AND price > 0
    ),
    kept AS (
        INSERT INTO prices
        SELECT portal, ref, 2, first_seen_at + interval '5 days', '', 'listing', round(price * (1 + percent)), currency,
            price_basis, rent_period, false
        FROM moved
    )
    INSERT INTO events (portal, ref, revision, type, at, job, data)
    SELECT portal, ref, 2, 'price_changed', first_seen_at + interval '5 days', '', jsonb_build_object(
        'price', round(price * (1 + percent)), 'previous', price, 'currency', currency,
        'percent', round((percent * 100)::numeric, 2)
    )
    FROM moved ORDER BY first_seen_at
"""
_INDEXES = """
    SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'summaries' AND indexname <> 'summaries_pkey'
"""


def fill(stored: Database, many: int) -> list[str]:
    """Store this many listings with their history, and the patterns. Return the names of the cities.

    The summaries are made at once, and their indexes after them: with one write for each listing it takes ten times as
    long.
    """
    patterns = Adverts(min(PATTERNS, many)).new(min(PATTERNS, many))
    write(stored.store, patterns)
    stored.ask("CREATE TABLE patterns AS SELECT *, row_number() OVER (ORDER BY ref) - 1 AS number FROM listings")
    stored.ask("ALTER TABLE listings DISABLE TRIGGER USER")
    random = Random(many)
    places = [(each.longitude, each.latitude) for each in patterns]
    for first in range(0, many, AT_A_TIME):
        rows = _rows(random, range(first, min(first + AT_A_TIME, many)), places)
        with stored.transaction() as cursor:
            cursor.execute(_MADE_TABLE)
            copy(cursor, _COPY_MADE, rows)
            cursor.execute(_MULTIPLY)
    stored.ask("ALTER TABLE listings ENABLE TRIGGER USER")
    stored.ask("DROP TABLE patterns")
    _summarize(stored)
    stored.ask(HISTORY)
    stored.ask(_PRICE_CHANGES, _CHANGED)
    stored.analyze()
    return sorted({each.city + _suffix(number) for each in patterns if each.city for number in range(len(PORTALS))})


def _summarize(stored: Database) -> None:
    with stored.transaction() as cursor:
        cursor.execute("SET LOCAL maintenance_work_mem = '512MB'; SET LOCAL work_mem = '256MB'")
        cursor.execute(_INDEXES)
        indexes = dict(cursor.fetchall())
        cursor.execute(f"DROP INDEX {', '.join(indexes)}")
        cursor.execute(
            "SELECT string_agg(column_name, ', ') FROM information_schema.columns WHERE"
            " table_name = 'listing_summaries'"
        )
        ((columns,),) = cursor.fetchall()
        cursor.execute(
            f"INSERT INTO summaries ({columns}, changed_at) SELECT {columns}, first_seen_at FROM listing_summaries"
            " WHERE ref >= %s",
            [str(FIRST_REF)],
        )
        for definition in indexes.values():
            cursor.execute(definition)


def _rows(
    random: Random, numbers: range, places: list[tuple[float | None, float | None]]
) -> Iterator[tuple[object, ...]]:
    names = list(PORTALS)
    for number in numbers:
        portal = min(int(random.expovariate(0.35)), len(names) - 1)
        country = PORTALS[names[portal]]
        pattern = random.randrange(len(places))
        longitude, latitude = places[pattern]
        if longitude is not None and latitude is not None:
            longitude = round(longitude + EAST[country] + random.gauss(0, _SPREAD), 6)
            latitude = round(latitude + random.gauss(0, _SPREAD), 6)
        yield (
            str(FIRST_REF + number),
            names[portal],
            country,
            pattern,
            _suffix(portal),
            longitude,
            latitude,
            stored_cell(latitude, longitude),
            0.5 + random.random(),
            random.random() < _OFF_THE_MARKET,
        )


def _suffix(portal: int) -> str:
    return f" {portal}" if portal else ""
