"""What every database takes, made of whatever a page was made into."""

from hashlib import blake2b
from typing import Any

import msgspec

_JSON = msgspec.json.Encoder(enc_hook=repr)


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


def fingerprint(value: Any) -> str:
    """Of something storable."""
    return blake2b(_JSON.encode(value), digest_size=16).hexdigest()


def _plain(value: Any) -> Any:
    try:
        return msgspec.to_builtins(value)
    except (TypeError, ValueError):
        return repr(value)
