"""What was taken out of one listing: the persons behind it, and how to reach them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Self

Source = Literal["page", "asked"]
"""Where contacts are from: the listing's own page, or the portal's response to a request for its telephones. New ones
replace older ones of the same source only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contacts:
    """Never stored but sealed (`Vault`); its repr, which a log may show, says whose it is and nothing more."""

    portal: str
    ref: str
    names: tuple[str, ...] = field(default=(), repr=False)
    phones: tuple[str, ...] = field(default=(), repr=False)
    """E.164; as dialled where the country or the area is unknown."""
    emails: tuple[str, ...] = field(default=(), repr=False)
    handles: tuple[str, ...] = field(default=(), repr=False)
    """Names in messengers, with their "@"."""
    source: Source = "page"

    @classmethod
    def of(cls, portal: str, ref: str, names: Iterable[str], found: Iterable[str], source: Source = "page") -> Self:
        """From what `realestate.privacy` took out: each contact tells by its form what it is."""
        found = tuple(found)
        handles = tuple(each for each in found if each.startswith("@"))
        emails = tuple(each for each in found if "@" in each and each not in handles)
        phones = tuple(each for each in found if "@" not in each)
        ways = {"phones": phones, "emails": emails, "handles": handles}
        return cls(portal=portal, ref=ref, names=tuple(names), source=source, **ways)

    @property
    def ways(self) -> tuple[str, ...]:
        """Everything by which the person may be found and asks to be erased."""
        return (*self.phones, *self.emails, *self.handles)

    def __bool__(self) -> bool:
        return bool(self.names or self.ways)


class Sealed(NamedTuple):
    """Contacts as they are stored: unreadable without the key, found again by the marks of `Vault.lookup`."""

    portal: str
    ref: str
    sealed: bytes
    marks: tuple[str, ...]
    source: Source = "page"
