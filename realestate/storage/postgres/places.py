"""Where listings are, for a map: from the table `summaries`."""

from collections.abc import Sequence

from realestate.storage.places import FEWEST_OF_DISTRICT, MOST_DISTRICTS, District, PricedPlace, PricedPlaces
from realestate.storage.postgres.conditions import Sql, add_box, where
from realestate.storage.postgres.query import PostgresQueries
from realestate.storage.query import Box, Filter

_DISTRICTS = f"""
    SELECT country, coalesce(city, ''), coalesce(district, city), avg(longitude), avg(latitude), count(*)::int
    FROM summaries WHERE on_market AND place IS NOT NULL AND coalesce(district, city) IS NOT NULL
    GROUP BY 1, 2, 3 HAVING count(*) >= {FEWEST_OF_DISTRICT} ORDER BY 6 DESC, 1, 2, 3 LIMIT {MOST_DISTRICTS}
"""
_PRICED = "SELECT longitude, latitude, price_per_m2::float8, currency FROM summaries {sample} WHERE {where} LIMIT %s"
#: A sample of pages of the table, with about as many rows as are wanted.
_SAMPLE = """TABLESAMPLE SYSTEM (
    (SELECT least(100, 100.0 * {limit} / greatest(reltuples, 1)) FROM pg_class WHERE oid = 'summaries'::regclass)
)"""


class Places(PostgresQueries):
    """See `PlaceStore`."""

    def priced_places(self, filter: Filter, box: Box, limit: int) -> PricedPlaces:
        sql = where(filter)
        add_box(sql, box)
        sql.add("price_per_m2 IS NOT NULL AND currency IS NOT NULL")
        rows = self._asked(_PRICED.format(sample="", where=sql.where), sql, limit + 1)
        is_sample = len(rows) > limit
        if is_sample:
            # The first rows of an index are those of one place; a sample of the table has all places.
            sample = _SAMPLE.format(limit=int(limit))
            rows = self._asked(_PRICED.format(sample=sample, where=sql.where), sql, limit)
        return PricedPlaces([PricedPlace(*row) for row in rows], is_sample)

    def districts(self) -> Sequence[District]:
        return [District(*row) for row in self._asked(_DISTRICTS, Sql())]
