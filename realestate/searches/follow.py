"""Follows the events and puts a message into the outbox for each one that a saved search matches.

The order of the steps makes it exact. First the messages are enqueued, each once for its event and address. Then the
store notes how far the events were followed. A process that is killed in between repeats some events, and the outbox
knows their messages already. Any number of processes may follow.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from itertools import groupby

from realestate.searches.index import SearchIndex
from realestate.searches.messages import Message, message_of
from realestate.storage import FullStore
from realestate.storage.history import Event
from realestate.storage.query import Facts, matcher
from realestate.storage.searches import EVENTS, KnownSearches, Search, filter_of
from realestate.storage.store import Numbered

#: Events that are compared together.
TOGETHER = 500
#: The name of targets in the outbox, before the colon: see `channels`.
TARGET = "search"


@dataclass(slots=True)
class Followed:
    """The result of `follow`."""

    events: int = 0
    enqueued: int = 0
    upto: int = 0


Link = Callable[[FullStore], object]
"""Finds out of which homes new adverts are."""
#: Events of an advert that say nothing new if another advert of its home is on the market and matches too.
_OF_THE_HOME = ("listed", "relisted")
_ON_THE_MARKET = ("active", "reserved")


class Follower:
    """Follows the events of one store. The store is used by the calling thread only.

    Where homes are built, a home is reported once, not each of its adverts: `link` is called before events are
    compared."""

    def __init__(self, store: FullStore, link: Link = lambda store: None) -> None:
        self.store = store
        self._link = link
        self._known = KnownSearches(store)
        self._searches: Sequence[Search] = ()
        self._index = SearchIndex(())

    def wait(self, seconds: float) -> bool:
        """Wait until there is something to do, at most this long."""
        return self.store.wait_for_events(self.store.followed(), seconds)

    def follow(self) -> Followed:
        """Enqueue messages about all new events."""
        done = Followed(upto=self.store.followed())
        while events := self.store.events(done.upto, TOGETHER):
            self._look_at_searches()
            if self._searches:
                self._link(self.store)
            done.enqueued += self._enqueue(events)
            done.events += len(events)
            done.upto = events[-1].seq
            self.store.follow(done.upto)
        return done

    def _look_at_searches(self) -> None:
        if self._known.look():
            self.use([each for each in self._known.all if not each.is_paused])

    def use(self, searches: Sequence[Search]) -> None:
        """Compare the next events with these searches."""
        self._searches = searches
        self._index = SearchIndex(searches)

    def _enqueue(self, events: Sequence[Numbered]) -> int:
        if not self._searches:
            return 0
        count = 0
        for search, numbered, facts in self.matches(events):
            message = message_of(search, numbered.event, facts)
            for address in search.notify:
                count += self.store.enqueue(
                    topic=f"{TARGET}:{search.id}",
                    dedupe_key=f"event:{numbered.seq}",
                    target=target_of(address),
                    title=message.title,
                    body=message.body,
                    data=message.data | {"seq": numbered.seq},
                )
        return count

    def matches(self, events: Sequence[Numbered]) -> Iterator[tuple[Search, Numbered, Facts]]:
        """Each event with each search that it matches, by the listing as it is now."""
        now = self.store.query_time()
        wanted = [each for each in events if each.event.type in EVENTS]
        facts = _facts(self.store, [each.event for each in wanted])
        for numbered in wanted:
            found = facts.get((numbered.event.portal, numbered.event.ref))
            if found is None:  # an item of another kind, or erased since
                continue
            for search in self._index.matching(numbered.event.type, found, now):
                if numbered.seq > search.after and not self._is_known(search, numbered.event, found, now):
                    yield search, numbered, found

    def _is_known(self, search: Search, event: Event, facts: Facts, now: datetime) -> bool:
        """Whether another advert of the same home is on the market and matches: then this one only came too.

        Of two adverts that came at the same time, the first one counts."""
        if event.type not in _OF_THE_HOME or (home := self.store.home_of(event.portal, event.ref)) is None:
            return False
        own = (event.portal, event.ref)
        others: dict[str, list[str]] = {}
        for member in self.store.home_members(home):
            if (member.portal, member.ref) != own:
                others.setdefault(member.portal, []).append(member.ref)
        is_wanted = matcher(filter_of(search))
        for portal, refs in others.items():
            for ref, found in self.store.facts(portal, refs).items():
                is_first = (found["first_seen_at"], portal, ref) < (facts["first_seen_at"], *own)
                counts = is_first if event.type == "listed" else True
                if counts and found["status"] in _ON_THE_MARKET and is_wanted(found, now):
                    return True
        return False


def would_send(store: FullStore, search: Search, count: int) -> list[Message]:
    """The messages about the last events, without sending any: by the listings as they are now."""
    follower = Follower(store)
    follower.use([replace(search, after=0, is_paused=False)])
    after = max(0, store.last_event() - count)
    messages = []
    while events := store.events(after, TOGETHER):
        messages += [message_of(found, each.event, facts) for found, each, facts in follower.matches(events)]
        after = events[-1].seq
    return messages


def _facts(store: FullStore, events: Sequence[Event]) -> dict[tuple[str, str], Facts]:
    found: dict[tuple[str, str], Facts] = {}
    keys = sorted({(event.portal, event.ref) for event in events})
    for portal, group in groupby(keys, key=lambda key: key[0]):
        refs = [ref for _, ref in group]
        found |= {(portal, ref): facts for ref, facts in store.facts(portal, refs).items()}
    return found


def target_of(address: str) -> str:
    """The name of an address in the outbox, which must not contain it: it may be a secret. Two searches with the same
    address have the same target, so that an event that both match is sent once."""
    return f"{TARGET}:{sha256(address.encode()).hexdigest()[:24]}"
