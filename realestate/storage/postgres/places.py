"""Where listings are, for a map: from the table `summaries`."""

from collections.abc import Sequence

from realestate.storage.places import FEWEST_OF_DISTRICT, MOST_DISTRICTS, District, PricedPlace, PricedPlaces
from realestate.storage.postgres.conditions import add_box, where
from realestate.storage.postgres.connection import Statements
from realestate.storage.query import Box, Filter

_DISTRICTS = f"""
    SELECT country, coalesce(city, ''), coalesce(district, city), avg(longitude), avg(latitude), count(*)::int
    FROM summaries WHERE on_market AND place IS NOT NULL AND coalesce(district, city) IS NOT NULL
    GROUP BY 1, 2, 3 HAVING count(*) >= {FEWEST_OF_DISTRICT} ORDER BY 6 DESC, 1, 2, 3 LIMIT {MOST_DISTRICTS}
"""
#: A sample of pages of the table, of which about as many rows are left as are wanted.
_SAMPLE = """
    TABLESAMPLE SYSTEM ((SELECT least(100, 100 * %s / greatest(reltuples, 1)) FROM pg_class
                         WHERE oid = 'summaries'::regclass))
"""


class Places(Statements):
    """See `PlaceStore`."""

    def priced_places(self, filter: Filter, box: Box, limit: int) -> PricedPlaces:
        sql = where(filter)
        add_box(sql, box)
        sql.add("price_per_m2 IS NOT NULL AND currency IS NOT NULL")
        asked = (
            "SELECT longitude, latitude, price_per_m2::float8, currency FROM summaries {sample} WHERE {where} LIMIT %s"
        )
        rows = self._ask(asked.format(sample="", where=sql.where), (*sql.values, limit + 1))
        is_sample = len(rows) > limit
        if is_sample:
            # The first rows of an index are those of one place: a sample of the table is of all places.
            rows = self._ask(asked.format(sample=_SAMPLE, where=sql.where), (limit, *sql.values, limit))
        return PricedPlaces([PricedPlace(*row) for row in rows], is_sample)

    def districts(self) -> Sequence[District]:
        rows = self._ask(_DISTRICTS)
        return [District(country, city, name, float(x), float(y), n) for country, city, name, x, y, n in rows]
