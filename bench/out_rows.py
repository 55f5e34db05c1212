"""Generated listings for the suite `out`: a million rows in minutes, made by PostgreSQL itself.

`python -m bench.out_rows postgresql://… 1000000` fills the database of this address; it must be empty.
"""

import sys
from collections.abc import Iterator
from io import StringIO
from random import Random

import psycopg2

from realestate.storage.postgres import PostgresStore
from realestate.storage.query.folding import words_of
from realestate.storage.query.hexagons import stored_cell

#: Cities with their country, district, latitude, longitude and how many of a hundred listings are there.
_CITIES = (
    ("AZ", "Bakı", 40.40, 49.87, 0.12, 46),
    ("AZ", "Gəncə", 40.68, 46.36, 0.05, 6),
    ("AZ", "Sumqayıt", 40.59, 49.67, 0.04, 7),
    ("AZ", "Lənkəran", 38.75, 48.85, 0.04, 1),
    ("BE", "Brussels", 50.85, 4.35, 0.09, 14),
    ("BE", "Gent", 51.05, 3.72, 0.06, 8),
    ("BE", "Namur", 50.46, 4.86, 0.06, 5),
    ("BE", "Liège", 50.63, 5.57, 0.06, 6),
    ("IE", "Dublin", 53.35, -6.26, 0.10, 7),
)
_WORDS = (
    "bright apartment with a view of the park near metro school and shops new kitchen renovated bathroom balcony garden "
    "quiet street parking lift storage room heating mortgage deed furnished sea terrace fireplace villa floor central "
    "mənzil otaqlı təmirli kupçalı satılır kirayə həyət evi metro yaxınlığında"
).split()
_FILL = """
    SET LOCAL statement_timeout = 0;
    SET LOCAL synchronous_commit = off;
    SELECT setseed(0.5);
    INSERT INTO listings (
        portal, ref, url, country, operation, rent_period, property_type, price, currency, price_basis, price_per_m2,
        area_m2, rooms, floor, floors_total, features, city, district, latitude, longitude, geo_precision, title,
        description, photos, seller_type, posted_at, first_seen_at, last_seen_at, status, content_hash, revision,
        search_words, cell)
    SELECT
        portal, ref, 'https://' || portal || '.example/listing/' || ref, country, operation,
        CASE operation WHEN 'rent' THEN 'month' END, kind, price, currency, 'total', round(price / area, 2), area, rooms,
        (random() * 12)::int, 12 + (random() * 8)::int, (ARRAY['garden', 'lift', 'balcony'])[1:(random() * 3)::int],
        city, city || ' ' || (1 + number % 12), latitude, longitude, 'exact',
        rooms || ' room ' || kind || ' ' || words[1 + number % 30] || ' ' || words[1 + number % 41],
        texts[1 + number % cardinality(texts)],
        ARRAY['https://photos.example/' || ref || '/1.jpg', 'https://photos.example/' || ref || '/2.jpg'],
        CASE WHEN random() < 0.4 THEN 'owner' ELSE 'agency' END, seen - interval '1 day', seen, now(),
        CASE WHEN random() < 0.85 THEN 'active' WHEN random() < 0.1 THEN 'reserved' ELSE 'delisted' END,
        md5(ref), 1,
        array_to_tsvector(ARRAY[words[1 + number % 30], words[1 + number % 41], kind, ref, 'room', plain, rooms::text]), cell
    FROM (
        SELECT
            number, %(words)s::text[] AS words, %(texts)s::text[] AS texts, (100000 + number)::text AS ref,
            (ARRAY['bina', 'tap', 'lalafo', 'emlak', 'immoweb', 'daft'])[1 + number %% 6] AS portal,
            country, city, plain, latitude, longitude, cell,
            CASE WHEN random() < 0.7 THEN 'sale' ELSE 'rent' END AS operation,
            (ARRAY['apartment', 'apartment', 'apartment', 'house', 'land', 'commercial'])[1 + (random() * 5)::int] AS kind,
            round(exp(10.5 + 2 * random() + random())::numeric, -2) AS price,
            CASE country WHEN 'AZ' THEN 'AZN' ELSE 'EUR' END AS currency,
            (30 + round((random() * random() * 300)::numeric, 1))::float8::numeric AS area, 1 + (random() * random() * 6)::int AS rooms,
            now() - random() * interval '400 days' AS seen
        FROM generated_places
    ) AS made
"""
_HELPERS = """
    CREATE TEMPORARY TABLE generated_places (
        number int, country text, city text, plain text, latitude float8, longitude float8, cell bigint)
"""
_EVENTS = """
    SET LOCAL statement_timeout = 0;
    INSERT INTO events (portal, ref, revision, type, at, job, data)
    SELECT portal, ref, 1, 'listed', first_seen_at, 'fill', jsonb_build_object('price', price, 'currency', currency)
    FROM listings;
    INSERT INTO events (portal, ref, revision, type, at, job, data)
    SELECT portal, ref, 2, 'price_changed', first_seen_at + interval '1 day', 'fill', jsonb_build_object(
        'old', round(price * 1.1), 'new', price, 'currency', currency, 'percent', round((20 * random() - 15)::numeric, 2))
    FROM listings WHERE random() < 0.1;
    INSERT INTO prices
    SELECT portal, ref, 1, first_seen_at, 'fill', 'listing', price, currency, price_basis, rent_period, false FROM listings
"""
_TOGETHER = 50_000


def fill(url: str, count: int) -> None:
    """Fill an empty database with so many listings, with their events and prices."""
    store = PostgresStore(url)
    store.migrate()
    store.close()
    connection = psycopg2.connect(url)
    random = Random(5)
    texts = [" ".join(random.choices(_WORDS, k=60)) for _ in range(97)]
    with connection, connection.cursor() as cursor:
        cursor.execute(_HELPERS)
        cursor.execute(
            "SELECT indexdef FROM pg_indexes WHERE tablename = 'summaries' AND indexname <> 'summaries_pkey'"
        )
        indexes = [definition for (definition,) in cursor.fetchall()]
        for definition in indexes:  # they are built faster at the end
            cursor.execute(f"DROP INDEX {definition.split()[2]}")
    for first in range(0, count, _TOGETHER):
        last = min(first + _TOGETHER, count)
        with connection, connection.cursor() as cursor:
            cursor.execute("TRUNCATE generated_places")
            cursor.copy_expert("COPY generated_places FROM STDIN", StringIO("".join(_places(random, first, last))))
            cursor.execute(_FILL.replace(" % ", " %% "), {"words": _WORDS, "texts": texts})
        print(f"{last:,} listings", file=sys.stderr)
    with connection, connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        for definition in indexes:
            cursor.execute(definition)
    with connection, connection.cursor() as cursor:
        cursor.execute(_EVENTS)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    connection.close()


def _places(random: Random, first: int, last: int) -> Iterator[str]:
    """Rows of `generated_places`."""
    weights = [city[-1] for city in _CITIES]
    for number, city in enumerate(random.choices(_CITIES, weights, k=last - first), first):
        country, name, latitude, longitude, spread, _ = city
        place = (random.gauss(latitude, spread / 2), random.gauss(longitude, spread / 2))
        values = (number, country, name, words_of(name)[0], *place, stored_cell(*place))
        yield "\t".join(map(str, values)) + "\n"


if __name__ == "__main__":
    fill(sys.argv[1], int(sys.argv[2]))
