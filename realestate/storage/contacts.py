"""The contacts of a listing: names, telephone numbers, e-mail addresses and handles of persons."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Self

Source = Literal["page", "asked"]
"""Where contacts are from: `page` is the listing's page, `asked` the portal's response to a request for its telephone
numbers. New contacts replace older ones of the same source only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contacts:
    """Stored only encrypted (`Vault`). The repr shows portal and ref only, because it may get into a log."""

    portal: str
    ref: str
    names: tuple[str, ...] = field(default=(), repr=False)
    phones: tuple[str, ...] = field(default=(), repr=False)
    """In E.164, or as dialled if the country or the area is unknown."""
    emails: tuple[str, ...] = field(default=(), repr=False)
    handles: tuple[str, ...] = field(default=(), repr=False)
    """Names in messengers, with their "@"."""
    source: Source = "page"

    @classmethod
    def of(cls, portal: str, ref: str, names: Iterable[str], found: Iterable[str], source: Source = "page") -> Self:
        """Sort what `realestate.privacy` found into telephone numbers, e-mail addresses and handles, by form."""
        found = tuple(found)
        handles = tuple(each for each in found if each.startswith("@"))
        emails = tuple(each for each in found if "@" in each and each not in handles)
        phones = tuple(each for each in found if "@" not in each)
        ways = {"phones": phones, "emails": emails, "handles": handles}
        return cls(portal=portal, ref=ref, names=tuple(names), source=source, **ways)

    @property
    def ways(self) -> tuple[str, ...]:
        """All telephone numbers, e-mail addresses and handles. A person who wants to be erased gives one of them."""
        return (*self.phones, *self.emails, *self.handles)

    def __bool__(self) -> bool:
        return bool(self.names or self.ways)


class Sealed(NamedTuple):
    """Contacts as they are stored: encrypted, and found by the marks of `Vault.lookup`."""

    portal: str
    ref: str
    sealed: bytes
    marks: tuple[str, ...]
    source: Source = "page"
