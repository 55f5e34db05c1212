"""What failed validation, or PostgreSQL itself: kept whatever it is made of."""

from hashlib import blake2b
from typing import Any

import msgspec

from realestate.storage.postgres.copying import encoded
from realestate.storage.postgres.erased import stays_away
from realestate.storage.postgres.rows import recordset
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
    fingerprint = blake2b(encoded([errors, record]), digest_size=16).hexdigest()
    return encoded({**storable(told), "errors": errors, "record": record, "fingerprint": fingerprint})


def storable(value: Any) -> Any:
    """PostgreSQL takes neither NUL nor half of a surrogate pair, and JSON no keys but words."""
    match value:
        case str():
            return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
        case dict():
            return {storable(str(key)): storable(each) for key, each in value.items()}
        case list() | tuple():
            return [storable(each) for each in value]
        case None | bool() | float():
            return value
        case int():
            return value if abs(value) < 2**63 else repr(value)
        case _:
            return storable(_plain(value))


def _plain(value: Any) -> Any:
    try:
        return msgspec.to_builtins(value)
    except (TypeError, ValueError):
        return repr(value)
