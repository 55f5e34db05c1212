"""Contacts on their way to the store, beside their listings; only with CONTACTS on."""

from collections.abc import Iterable
from typing import Any

from realestate.items import Listing
from realestate.storage.contacts import Contacts, Sealed
from realestate.storage.vault import Vault


class FoundContacts:
    """Sealed as soon as they are found: nothing waits here in the clear. They are stored with their listing's batch,
    before its page is acknowledged."""

    def __init__(self, vault: Vault, days: int) -> None:
        self.days = days
        self._vault = vault
        self._waiting: dict[tuple[str, str], Sealed] = {}

    def found(self, contacts: Contacts) -> None:
        self._waiting[contacts.portal, contacts.ref] = self._vault.kept(contacts)

    def of(self, items: Iterable[Any]) -> list[Sealed]:
        """Those of the listings among these."""
        keys = ((item.portal, item.ref) for item in items if isinstance(item, Listing))
        return [self._waiting.pop(key) for key in keys if key in self._waiting]
