"""What failed validation, or PostgreSQL itself: kept whatever it is made of."""

from realestate.storage.postgres.copying import encoded
from realestate.storage.postgres.erased import stays_away
from realestate.storage.postgres.rows import recordset
from realestate.storage.storable import fingerprint, storable
from realestate.storage.store import Quarantined

_COLUMNS = {"portal": "text", "fingerprint": "text", "ref": "text", "url": "text", "errors": "jsonb", "record": "jsonb"}
#: As part of a statement.
INSERT = f"""
    kept AS (
        INSERT INTO quarantine ({", ".join(_COLUMNS)}) SELECT {", ".join(_COLUMNS)}
        FROM {recordset("quarantined", _COLUMNS)} WHERE NOT {stays_away("quarantined")}
        ON CONFLICT (portal, fingerprint) DO NOTHING
    )"""


def row(item: Quarantined) -> bytes:
    """The same fault is kept once."""
    errors, record = storable(list(item.errors)), storable(dict(item.record))
    told = {"portal": item.portal, "ref": item.ref, "url": item.url}
    name = fingerprint([errors, record])
    return encoded({**storable(told), "errors": errors, "record": record, "fingerprint": name})
