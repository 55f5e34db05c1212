"""Whether a search can be saved: its name, its filter, its events and its receivers."""

from collections.abc import Sequence
from dataclasses import dataclass

from realestate.monitoring.addresses import BadAddress
from realestate.searches.channels import channel_of
from realestate.storage.history import EventType
from realestate.storage.query import QueryError, parse_filter
from realestate.storage.searches import DEFAULT_EVENTS, EVENTS, LONGEST_NAME, Search, SearchStore


class BadSearch(ValueError):
    """A search that cannot be saved. `field` is what is wrong: name, where, on or notify; the text says why."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(why)
        self.field = field


@dataclass(frozen=True, slots=True)
class Receivers:
    """What the settings say of the receivers of messages."""

    webhook_secret: str | None = None
    may_be_private: bool = False
    """Whether a webhook may have a private address."""


#: No secret, and public addresses only.
PUBLIC_RECEIVERS = Receivers()


@dataclass(frozen=True, slots=True)
class Wanted:
    """A search that can be saved."""

    name: str
    where: str
    on: tuple[EventType, ...]
    notify: tuple[str, ...]

    def save(self, store: SearchStore) -> Search:
        """Raises NameTaken."""
        return store.save_search(self.name, self.where, self.on, self.notify)


def check_search(
    name: str, where: str, notify: Sequence[str], receivers: Receivers, on: Sequence[str] = DEFAULT_EVENTS
) -> Wanted:
    """The search, if it can be saved. Raises BadSearch."""
    types = _events(on)
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise BadSearch("name", f"a name has 1 to {LONGEST_NAME} characters on one line")
    addresses = tuple(dict.fromkeys(notify))
    try:
        parse_filter(where)
    except QueryError as error:
        raise BadSearch("where", str(error)) from error
    try:
        for address in addresses:
            channel_of(address, receivers.webhook_secret, may_be_private=receivers.may_be_private)
    except BadAddress as error:
        raise BadSearch("notify", str(error)) from error
    return Wanted(name, where, types, addresses)


def _events(on: Sequence[str]) -> tuple[EventType, ...]:
    """The types of events, in their usual order. Raises BadSearch."""
    types = tuple(each for each in EVENTS if each in on)
    if unknown := [each for each in on if each not in types] or ([] if on else [""]):
        raise BadSearch("on", f"{unknown[0]!r} is not an event of a search: use some of {', '.join(EVENTS)}")
    return types
