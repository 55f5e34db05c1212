"""Follows the events and sends what is due, until the process is stopped."""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import closing

from realestate.monitoring.channels import Channels
from realestate.monitoring.delivery import Sender
from realestate.searches.channels import RateLimitedChannels
from realestate.searches.follow import TARGET, Follower, Link
from realestate.storage import FullStore, StoreAway

logger = logging.getLogger(__name__)

#: How long it waits for new events before it looks again for messages that have become due.
WAIT_SECONDS = 1.0
#: How long it waits while the database is away.
AWAY_SECONDS = 5.0


def watch(
    open_store: Callable[[], FullStore],
    *,
    message_seconds: float,
    notify_urls: Sequence[str],
    webhook_secret: str | None,
    may_be_private: bool,
    link: Link = lambda store: None,
    once: bool = False,
) -> None:
    """Send the messages of all saved searches. Returns only with `once`, when nothing is left to do now.

    `link` finds out of which homes new adverts are: see `Follower`."""
    with closing(open_store()) as store, closing(open_store()) as outbox:
        store.migrate()
        saved = RateLimitedChannels(
            outbox, message_seconds, webhook_secret=webhook_secret, may_be_private=may_be_private
        )
        channels = Channels(
            notify_urls, webhook_secret=webhook_secret, allow_private=may_be_private, resolvers={TARGET: saved}
        )
        sender = Sender(outbox, channels)
        follower = Follower(store, link)
        if once:
            follower.follow()
            _send(sender, saved)
            return
        wake = threading.Event()
        # A slow receiver must not hold up the search for further matches.
        threading.Thread(target=_sending, args=(sender, saved, wake), name="send", daemon=True).start()
        while True:
            try:
                if follower.wait(WAIT_SECONDS):
                    follower.follow()
                    wake.set()
            except StoreAway as error:
                logger.warning("search/away: %s", error)
                threading.Event().wait(AWAY_SECONDS)


def _sending(sender: Sender, saved: RateLimitedChannels, wake: threading.Event) -> None:
    while True:
        try:
            _send(sender, saved)
        except StoreAway as error:
            logger.warning("search/away: %s", error)
        wake.wait(WAIT_SECONDS)
        wake.clear()


def _send(sender: Sender, saved: RateLimitedChannels) -> None:
    saved.look()
    sender.send_due()
