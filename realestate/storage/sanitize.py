"""Convert any value to one that every database can store."""

from hashlib import blake2b
from typing import Any

import msgspec

_JSON = msgspec.json.Encoder(enc_hook=repr)


def storable(value: Any) -> Any:
    """Return the value as JSON types that every database can store. PostgreSQL refuses NUL and half of a surrogate
    pair, and JSON needs keys of type str."""
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


def fingerprint(value: Any) -> str:
    """Return a hash of a value that `storable` returned."""
    return blake2b(_JSON.encode(value), digest_size=16).hexdigest()


def _plain(value: Any) -> Any:
    try:
        return msgspec.to_builtins(value)
    except (TypeError, ValueError):
        return repr(value)
