"""The addresses of saved searches as channels of the outbox, each with a rate limit."""

import time
from collections.abc import Callable
from threading import Lock

from realestate.monitoring.addresses import BadAddress, shown
from realestate.monitoring.channels import (
    AppriseChannel,
    Channel,
    NotYet,
    RefusedForGood,
    WebhookChannel,
    demand_webhook,
)
from realestate.searches.follow import target_of
from realestate.storage.outbox import Notification
from realestate.storage.searches import KnownSearches, SearchStore


class RateLimitedChannels:
    """Resolves the targets of saved searches (`monitoring.channels.Resolver`).

    One address gets at most one message in `message_seconds`: chat services refuse more, and so do people. The others
    wait in the outbox."""

    def __init__(
        self,
        store: SearchStore,
        message_seconds: float,
        *,
        webhook_secret: str | None = None,
        may_be_private: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._known = KnownSearches(store)
        self._message_seconds = message_seconds
        self._webhook_secret = webhook_secret
        self._may_be_private = may_be_private
        self._clock = clock
        self._addresses: dict[str, str] = {}
        self._next: dict[str, float] = {}
        self._lock = Lock()

    def look(self) -> None:
        """Read the addresses from the store, if a search has changed. Called by the thread that owns the store."""
        if self._known.look():
            self._addresses = {target_of(each): each for search in self._known.all for each in search.notify}

    def __call__(self, target: str) -> Channel:
        address = self._addresses.get(target)
        if address is None:
            return _Gone()
        return _RateLimited(
            self, target, channel_of(address, self._webhook_secret, may_be_private=self._may_be_private)
        )

    def wait_seconds(self, target: str) -> float:
        """Take the next turn of the target, and return 0; or return how long it must wait."""
        with self._lock:
            now = self._clock()
            left = self._next.get(target, now) - now
            if left <= 0:
                self._next[target] = now + self._message_seconds
            return max(left, 0.0)


class _Gone:
    def send(self, notification: Notification) -> None:
        raise RefusedForGood("no saved search has this address any more")


class _RateLimited:
    def __init__(self, channels: RateLimitedChannels, target: str, channel: Channel) -> None:
        self._channels = channels
        self._target = target
        self._channel = channel

    def send(self, notification: Notification) -> None:
        if seconds := self._channels.wait_seconds(self._target):
            raise NotYet("rate limit: it had a message just before", seconds)
        self._channel.send(notification)


def channel_of(address: str, webhook_secret: str | None, *, may_be_private: bool) -> Channel:
    """The channel of an address. Raises BadAddress; the message does not contain the address."""
    import apprise

    if apprise.Apprise.instantiate(address) is not None:
        return AppriseChannel(address)
    if address.startswith(("http://", "https://")):
        demand_webhook(address, may_be_private=may_be_private)
        return WebhookChannel(address, webhook_secret, may_be_private=may_be_private)
    raise BadAddress(f"{shown(address)}: apprise does not understand it; docs/monitoring.md has examples")
