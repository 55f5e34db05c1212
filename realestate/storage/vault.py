"""Contacts at rest: sealed with a key from the environment, found again without opening them."""

from base64 import urlsafe_b64decode
from collections.abc import Sequence
from hashlib import blake2b

import msgspec
from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from realestate.storage.contacts import Contacts, Sealed
from realestate.storage.errors import StoreError


class VaultError(StoreError):
    """The keys cannot be used, or do not open what was sealed; the text tells neither key nor content."""


class Vault:
    """Seals with the first key and opens with any: to rotate, put a new key first, `rotate` all, take the old one out.

    A mark stands for a telephone or an address that must not be stored itself: to find its rows, and to keep it out
    once it was erased. Marks are made with the last key, for an erased contact is nowhere left to make a new mark of:
    that key stays last as long as its marks are to be known. `made` tells whose marks they are.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        if not keys:
            raise VaultError("no key for contacts: CONTACTS_KEYS is not set")
        try:
            self._fernet = MultiFernet([Fernet(key) for key in keys])
            oldest = urlsafe_b64decode(keys[-1])
        except ValueError:
            raise VaultError("a key in CONTACTS_KEYS is no Fernet key") from None
        self._marking = blake2b(key=oldest, person=b"contacts' marks", digest_size=32).digest()
        self._maker = blake2b(key=self._marking, person=b"contacts' maker", digest_size=4).hexdigest()

    def seal(self, contacts: Contacts) -> bytes:
        return self._fernet.encrypt(msgspec.json.encode(contacts))

    def kept(self, contacts: Contacts) -> Sealed:
        """As a store takes them."""
        return Sealed(contacts.portal, contacts.ref, self.seal(contacts), self.lookups(contacts), contacts.source)

    def open(self, sealed: bytes) -> Contacts:
        try:
            return msgspec.json.decode(self._fernet.decrypt(sealed), type=Contacts)
        except InvalidToken:
            raise VaultError("sealed with another key, or changed since") from None

    def rotate(self, sealed: bytes) -> bytes:
        """The same under the first key."""
        try:
            return self._fernet.rotate(sealed)
        except InvalidToken:
            raise VaultError("sealed with another key, or changed since") from None

    def lookup(self, contact: str) -> str:
        """The mark of a telephone, an address or a handle, in the form `realestate.privacy` finds them."""
        mark = blake2b(contact.strip().lower().encode(), key=self._marking, digest_size=16)
        return f"{self._maker}:{mark.hexdigest()}"

    def lookups(self, contacts: Contacts) -> tuple[str, ...]:
        return tuple(map(self.lookup, contacts.ways))

    def made(self, mark: str) -> bool:
        """Whether the mark was made with today's last key; another one's can never match again."""
        return mark.startswith(f"{self._maker}:")
