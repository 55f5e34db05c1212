"""Contacts on their way to the store, beside their listings; only with CONTACTS on."""

from collections.abc import Iterable
from typing import Any

from realestate.items import Listing, Telephones
from realestate.storage.contacts import Contacts, Sealed, Source
from realestate.storage.vault import Vault

#: What each kind of item is the word of.
SOURCES: dict[type, Source] = {Listing: "page", Telephones: "asked"}


class FoundContacts:
    """Sealed as soon as they are found: nothing waits here in the clear. They are stored with the batch of
    their listing, or of the answer that told them, before that page is acknowledged."""

    def __init__(self, vault: Vault, days: int) -> None:
        self.days = days
        self._vault = vault
        self._waiting: dict[tuple[str, str, Source], Sealed] = {}

    def found(self, contacts: Contacts) -> None:
        self._waiting[contacts.portal, contacts.ref, contacts.source] = self._vault.kept(contacts)

    def of(self, items: Iterable[Any]) -> list[Sealed]:
        """Those of the listings and the answers among these."""
        keys = ((item.portal, item.ref, SOURCES[type(item)]) for item in items if type(item) in SOURCES)
        return [self._waiting.pop(key) for key in keys if key in self._waiting]
