"""Sends what is in the outbox. What is guaranteed: see `storage/outbox.py`.

To notify somebody from any room:

    store.enqueue(topic="search:42", dedupe_key="search:42:emlak/840001", target="https://example.org/hook",
                  title="A new flat", body="Baku, 3 rooms, 120,000 AZN", data={"portal": "emlak", "ref": "840001"})

and to notify whoever runs the fleet (NOTIFY_URLS), `notify_operators`. `realestate watch` sends; any number may run.
"""

import logging
import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import inf
from typing import Any

from realestate.monitoring.addresses import BadAddress
from realestate.monitoring.channels import Channels, NotAccepted, NotYet, RefusedForGood, Unreachable
from realestate.storage.outbox import LeasedNotification, OutboxStore

logger = logging.getLogger(__name__)

#: Messages sent at the same time, each to another target or of another topic.
TOGETHER = 8
#: The wait after the first attempt. It doubles with each attempt,
FIRST_WAIT_SECONDS = 5.0
#: up to this: a receiver that works again gets its messages at most this much later.
LONGEST_WAIT_SECONDS = 300.0


@dataclass(slots=True)
class Delivered:
    """What became of the messages that were due."""

    sent: int = 0
    postponed: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        return self.sent + self.postponed + self.failed


def notify_operators(
    store: OutboxStore,
    channels: Channels,
    *,
    topic: str,
    dedupe_key: str,
    title: str,
    body: str,
    data: Mapping[str, Any] | None = None,
) -> int:
    """Enqueue a message to each address of NOTIFY_URLS. Return how many are new."""
    return sum(
        store.enqueue(topic=topic, dedupe_key=dedupe_key, target=target, title=title, body=body, data=data)
        for target in channels.operators
    )


def wait_seconds(attempts: int, share: Callable[[], float] = random.random) -> float:
    """How long to wait after this many attempts: doubled each time, with up to a fifth more at random, so that
    receivers that were away together are not tried again together."""
    wait = min(FIRST_WAIT_SECONDS * 2 ** min(attempts - 1, 20), LONGEST_WAIT_SECONDS)
    return float(wait * (1 + share() / 5))


class Sender:
    """Sends from one store. The store is used by the calling thread only."""

    def __init__(self, store: OutboxStore, channels: Channels) -> None:
        self.store = store
        self.channels = channels

    def send_due(self, at_most: int = 1000, seconds: float = inf) -> Delivered:
        """Send messages until none is due, or this many were tried, or this many seconds are over."""
        done = Delivered()
        end = time.monotonic() + seconds
        with ThreadPoolExecutor(TOGETHER, "deliver") as threads:
            while done.total < at_most and (leased := self.store.lease_notifications(TOGETHER)):
                errors = threads.map(self._attempt, leased)
                for each, error in zip(leased, errors, strict=True):
                    self._settle(each, error, done)
                if time.monotonic() >= end:
                    break
        return done

    def _attempt(self, leased: LeasedNotification) -> Exception | None:
        """Try once. Return what was wrong, if anything."""
        try:
            channel = self.channels.channel(leased.notification.target)
            if channel is None:
                return NotAccepted("this target is not known here: is NOTIFY_URLS set?")
            channel.send(leased.notification)
        except (NotAccepted, RefusedForGood) as error:
            return error
        except BadAddress as error:
            return RefusedForGood(str(error))
        except Exception as error:
            # A fault of one channel must not stop the others.
            logger.warning("notification/error: id=%s error=%s", leased.notification.id, type(error).__name__)
            return NotAccepted(type(error).__name__)
        return None

    def _settle(self, leased: LeasedNotification, error: Exception | None, done: Delivered) -> None:
        notification = leased.notification
        if error is None:
            done.sent += 1
            self.store.notification_sent(leased)
        elif isinstance(error, RefusedForGood):
            done.failed += 1
            logger.error("notification/failed: topic=%s id=%s error=%s", notification.topic, notification.id, error)
            self.store.notification_failed(leased, str(error))
        else:
            done.postponed += 1
            asked = error.retry_after if isinstance(error, NotAccepted) else None
            seconds = wait_seconds(notification.attempts) if asked is None else asked
            is_of_all = asked is not None and not isinstance(error, NotYet)
            whole_target = is_of_all or isinstance(error, Unreachable)
            self.store.notification_postponed(leased, str(error), seconds, whole_target=whole_target)
