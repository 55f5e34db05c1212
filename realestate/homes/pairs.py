"""Candidate pairs: which listings share a key and contradict each other in nothing. In DuckDB, for many listings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from realestate.homes.facts import Facts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: A key that more listings share is not used: 10,000 identical adverts would be 50 million pairs.
KEY_LIMIT = 500
#: Two prices for the same home at the same time differ by at most this factor.
PRICE_FACTOR = 1.3
SIZE_M2 = 1.0
#: Two points that both portals call exact are at most so far apart. Many sellers put the pin on their metro station.
METRES = 2000
#: Sizes that are so far apart are two layouts, although sellers round.
_OTHER_LAYOUT_M2 = 2.5
#: Degrees of latitude in a metre.
_DEGREE = 1 / 111_195

#: What contradicts that two listings are one home. `NULL IS TRUE` is false: a missing value contradicts nothing.
VETOES = {
    "floor": "a.floor <> b.floor",
    "rooms": "a.rooms <> b.rooms",
    "size": f"abs(a.size - b.size) > {SIZE_M2}",
    "price": (
        f"a.money = b.money AND greatest(a.price, b.price) > {PRICE_FACTOR} * least(a.price, b.price)"
        " AND a.begun_at < b.ended_at AND b.begun_at < a.ended_at"
    ),
    "reference": "a.agency = b.agency AND a.code <> b.code",
    "distance": (
        f"a.is_exact AND b.is_exact AND (abs(a.latitude - b.latitude) > {METRES * _DEGREE}"
        f" OR abs(a.longitude - b.longitude) * cos(radians(a.latitude)) > {METRES * _DEGREE})"
    ),
}
IS_VETOED = " OR ".join(f"(({condition}) IS TRUE)" for condition in VETOES.values())

#: Columns of the table `facts`: those of `Facts` that a pair is compared by.
COLUMNS = {
    "kind": "VARCHAR",
    "portal": "VARCHAR",
    "money": "VARCHAR",
    "price": "DOUBLE",
    "size": "DOUBLE",
    "rooms": "INTEGER",
    "floor": "INTEGER",
    "floors": "INTEGER",
    "city": "VARCHAR",
    "district": "VARCHAR",
    "metro": "VARCHAR",
    "street": "VARCHAR",
    "number": "VARCHAR",
    "latitude": "DOUBLE",
    "longitude": "DOUBLE",
    "is_exact": "BOOLEAN",
    "agency": "VARCHAR",
    "code": "VARCHAR",
    "wording": "BIGINT",
    "begun_at": "DOUBLE",
    "ended_at": "DOUBLE",
}


def is_block(group: Sequence[Facts]) -> bool:
    """Whether the listings of a group prove a block. The same rule as in `Comparison.in_blocks`."""
    floors = {each.floor for each in group if each.floor is not None}
    sizes = [each.size for each in group if each.size is not None]
    references = {(each.agency, each.code) for each in group if each.agency is not None and each.code is not None}
    return (
        len(floors) > 1
        or (bool(sizes) and max(sizes) - min(sizes) > _OTHER_LAYOUT_M2)
        or len(references) > len({agency for agency, _ in references})
    )


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs of positions in the given listings: a before b."""

    a: "NDArray[np.int64]"
    b: "NDArray[np.int64]"
    skipped_keys: int
    """Keys that too many listings share."""
    skipped_listings: int
    """Listings that have such a key."""


class Comparison:
    """The listings in a private database in memory, ready to be compared. Close it."""

    def __init__(self, listings: Sequence[Facts]) -> None:
        import duckdb

        self.listings = listings
        self.database = duckdb.connect()
        self._load()

    def close(self) -> None:
        self.database.close()

    def in_blocks(self) -> "NDArray[np.bool_]":
        """Whether each listing is in a block: one that is alike in all but the floor or the agency's reference."""
        import numpy as np

        found = self.database.execute(
            "SELECT DISTINCT i FROM groups WHERE grp IN (SELECT grp FROM groups JOIN facts USING (i) GROUP BY grp"
            f" HAVING count(DISTINCT floor) > 1 OR max(size) - min(size) > {_OTHER_LAYOUT_M2}"
            " OR count(DISTINCT (agency, code)) FILTER (agency IS NOT NULL AND code IS NOT NULL)"
            " > count(DISTINCT agency) FILTER (code IS NOT NULL))"
        ).fetchnumpy()["i"]
        flags = np.zeros(len(self.listings), dtype=bool)
        flags[found] = True
        return flags

    def candidates(self) -> Candidates:
        """The pairs that share a key and have no veto."""
        statement = f"""
            WITH rare AS (SELECT key FROM keyed GROUP BY key HAVING count(*) BETWEEN 2 AND {KEY_LIMIT}),
            near AS (SELECT keyed.key, facts.* FROM keyed JOIN rare USING (key) JOIN facts USING (i))
            SELECT DISTINCT a.i AS a, b.i AS b FROM near AS a JOIN near AS b ON a.key = b.key AND a.i < b.i
            WHERE NOT ({IS_VETOED})
        """
        pairs = self.database.execute(statement).fetchnumpy()
        skipped: Any = self.database.execute(
            f"SELECT count(DISTINCT key), count(DISTINCT i) FROM keyed WHERE key IN"
            f" (SELECT key FROM keyed GROUP BY key HAVING count(*) > {KEY_LIMIT})"
        ).fetchone()
        return Candidates(pairs["a"].astype("int64"), pairs["b"].astype("int64"), skipped[0], skipped[1])

    def _load(self) -> None:
        import numpy as np
        import pyarrow as pa

        types = {"VARCHAR": pa.string(), "DOUBLE": pa.float64(), "INTEGER": pa.int32(), "BOOLEAN": pa.bool_()}
        types["BIGINT"] = pa.int64()
        columns: dict[str, Any] = {"i": pa.array(range(len(self.listings)), pa.int64())}
        for name, kind in COLUMNS.items():
            columns[name] = pa.array([getattr(each, name) for each in self.listings], types[kind])
        self.columns = pa.table(columns)
        self.database.register("given", self.columns)
        self.database.execute("CREATE TABLE facts AS FROM given")
        for table, column, attribute in (("keyed", "key", "keys"), ("groups", "grp", "groups")):
            values = [getattr(each, attribute) for each in self.listings]
            counts = np.fromiter(map(len, values), dtype="int64", count=len(values))
            flat = np.fromiter((value for some in values for value in some), dtype="int64", count=int(counts.sum()))
            rows = pa.table({"i": np.repeat(np.arange(len(values)), counts), column: flat})
            self.database.register("given", rows)
            self.database.execute(f"CREATE TABLE {table} AS FROM given")
