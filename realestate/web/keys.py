"""The keys of a server, from API_KEYS: who may read, and who may operate. Only their hashes are configured.

An entry is `<name>:<scope>:<hash>`; entries are separated by commas or spaces. A key has 256 random bits, so nobody can
find it by its hash.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Scope = Literal["read", "operate"]
#: Who may operate may also read.
SCOPES: Mapping[str, frozenset[str]] = {"read": frozenset({"read"}), "operate": frozenset({"read", "operate"})}
_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,40}")
_HASH = re.compile(r"[0-9a-f]{64}")


class BadKeys(ValueError):
    """API_KEYS cannot be read. The text says which entry, never what it contains."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key: its name, what it may do, and its hash."""

    name: str
    scopes: frozenset[str]
    digest: bytes


def read_keys(text: str | None) -> dict[str, Key]:
    """The keys by name. Raises BadKeys."""
    found: dict[str, Key] = {}
    for place, entry in enumerate(filter(None, re.split(r"[\s,]+", text or "")), 1):
        name, scope, digest = (*entry.split(":"), "", "")[:3]
        if entry.count(":") != 2 or not _NAME.fullmatch(name) or not _HASH.fullmatch(digest) or scope not in SCOPES:
            raise BadKeys(
                f"entry {place} of API_KEYS is not <name>:<scope>:<hash> with the scope read or operate:"
                " `realestate serve --new-key NAME` makes one"
            )
        if name in found:
            raise BadKeys(f"API_KEYS has two keys with the name {name}")
        found[name] = Key(name, SCOPES[scope], bytes.fromhex(digest))
    return found


def digest_of(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def find_key(keys: Mapping[str, Key], given: str) -> Key | None:
    """The key that was given; None if it is not one of them. Takes as long for a wrong key as for a right one."""
    digest = digest_of(given)
    matching = [key for key in keys.values() if hmac.compare_digest(key.digest, digest)]
    return matching[0] if matching else None


def new_key(name: str, scope: Scope) -> tuple[str, str]:
    """A new key, and its entry for API_KEYS. Raises BadKeys if the name cannot be used."""
    if not _NAME.fullmatch(name):
        raise BadKeys(f"{name!r} cannot be the name of a key: letters, digits and _ . - only, at most 40")
    key = secrets.token_urlsafe(32)
    return key, f"{name}:{scope}:{digest_of(key).hex()}"
