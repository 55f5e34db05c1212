"""Encrypts contacts with a key from the environment, and finds them again without decrypting them."""

from base64 import urlsafe_b64decode
from collections.abc import Sequence
from hashlib import blake2b

import msgspec
from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from realestate.storage.contacts import Contacts, Sealed
from realestate.storage.errors import StoreError


class VaultError(StoreError):
    """The keys are unusable, or do not decrypt the contacts. The message contains neither keys nor contacts."""


class Vault:
    """Encrypts with the first key and decrypts with any key. To change the key, put a new one first, `rotate` all
    contacts, then remove the old one.

    A mark is a keyed hash of a telephone number, an e-mail address or a handle. It finds the rows of a contact, and
    keeps an erased contact from being stored again. Marks are made with the last key. An erased contact is not stored,
    so its mark cannot be made again with another key: keep the key last as long as its marks are needed. `made` says
    whether a mark was made with the present last key.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        if not keys:
            raise VaultError("no key for contacts: CONTACTS_KEYS is not set")
        try:
            self._fernet = MultiFernet([Fernet(key) for key in keys])
            oldest = urlsafe_b64decode(keys[-1])
        except ValueError:
            raise VaultError("a key in CONTACTS_KEYS is not a Fernet key") from None
        self._marking = blake2b(key=oldest, person=b"contacts' marks", digest_size=32).digest()
        self._maker = blake2b(key=self._marking, person=b"contacts' maker", digest_size=4).hexdigest()

    def seal(self, contacts: Contacts) -> bytes:
        return self._fernet.encrypt(msgspec.json.encode(contacts))

    def kept(self, contacts: Contacts) -> Sealed:
        """Return the contacts encrypted and with their marks, as a store takes them."""
        return Sealed(contacts.portal, contacts.ref, self.seal(contacts), self.lookups(contacts), contacts.source)

    def open(self, sealed: bytes) -> Contacts:
        try:
            return msgspec.json.decode(self._fernet.decrypt(sealed), type=Contacts)
        except InvalidToken:
            raise VaultError("sealed with another key, or changed since") from None

    def rotate(self, sealed: bytes) -> bytes:
        """Return the same contacts, encrypted with the first key."""
        try:
            return self._fernet.rotate(sealed)
        except InvalidToken:
            raise VaultError("sealed with another key, or changed since") from None

    def lookup(self, contact: str) -> str:
        """Return the mark of a telephone number, an e-mail address or a handle, in the form that `realestate.privacy`
        returns."""
        mark = blake2b(contact.strip().lower().encode(), key=self._marking, digest_size=16)
        return f"{self._maker}:{mark.hexdigest()}"

    def lookups(self, contacts: Contacts) -> tuple[str, ...]:
        return tuple(map(self.lookup, contacts.ways))

    def made(self, mark: str) -> bool:
        """Whether the mark was made with the present last key. A mark of another key never matches again."""
        return mark.startswith(f"{self._maker}:")
