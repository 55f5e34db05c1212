"""The outbox of notifications: what is to be sent to somebody, kept in the store until it was accepted.

Whoever has something to say calls `enqueue`, in the same store in which the thing itself is kept. Any number of senders
lease what is due, send it, and settle it (`monitoring/delivery.py`). A sender that dies holds its lease for
LEASE_SECONDS; then another sends the message.

What is guaranteed:

- A message is enqueued once for each (target, dedupe_key), however often `enqueue` is called, as long as the message is
  kept (KEEP_DAYS after it was settled).
- A message leaves the outbox only when its receiver accepted it, or refused it for good, or did not accept it for
  GIVE_UP_AFTER. Then it is `failed`, and stays readable.
- No two senders send a message at the same time. A message whose receiver accepted it is not sent again, except if the
  sender died, or lost the database, between the receiver's acceptance and the note of it. Such a repetition carries the
  same id, so a webhook that remembers ids sees each message once.
- The messages of one topic reach one target in the order in which they were enqueued.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, runtime_checkable

#: Longer than any delivery takes: a delivery that is slower counts as failed.
LEASE_SECONDS = 120.0
#: A receiver that accepts nothing for this long is gone.
GIVE_UP_AFTER = timedelta(days=3)
#: How long settled messages are kept. As long, the same dedupe key is not sent again.
KEEP_DAYS = 90

DeliveryState = Literal["waiting", "sent", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """A message to one target."""

    id: str
    """Identifies the message, also to its receiver."""
    topic: str
    """What it is about, such as `alert:queue_too_old`. Messages of one topic keep their order."""
    dedupe_key: str
    """A target gets one message with this key."""
    target: str
    """Where to: `notify:<id>` is an address of NOTIFY_URLS; otherwise a URL, or a name that its owner resolves."""
    title: str
    body: str
    data: Mapping[str, Any] = field(default_factory=dict)
    """For programs: a webhook gets it as JSON."""
    created_at: datetime
    state: DeliveryState = "waiting"
    attempts: int = 0
    next_at: datetime
    """Not sent before this time."""
    settled_at: datetime | None = None
    """When it was sent, or was given up."""
    error: str | None = None
    """Why the last attempt failed."""


@dataclass(frozen=True, slots=True)
class LeasedNotification:
    """A message that this sender, and no other, may send now."""

    notification: Notification
    token: str
    """Proves the lease when the message is settled."""


@runtime_checkable
class OutboxStore(Protocol):
    """The outbox. All times are those of the database."""

    def enqueue(
        self,
        *,
        topic: str,
        dedupe_key: str,
        target: str,
        title: str,
        body: str,
        data: Mapping[str, Any] | None = None,
    ) -> bool:
        """Enqueue a message, once for each target and key. Return whether this call did it."""

    def lease_notifications(self, limit: int = 20) -> Sequence[LeasedNotification]:
        """Lease messages that are due: of each target and topic the oldest one that waits."""

    def notification_sent(self, leased: LeasedNotification) -> bool:
        """The receiver accepted it. Return False if the lease had expired."""

    def notification_failed(self, leased: LeasedNotification, error: str) -> bool:
        """It will never be accepted. Return False if the lease had expired."""

    def notification_postponed(
        self, leased: LeasedNotification, error: str, seconds: float, *, whole_target: bool = False
    ) -> bool:
        """Try again after this many seconds; with `whole_target`, none of the target's messages is sent before. A
        message that waits for GIVE_UP_AFTER fails. Return False if the lease had expired."""

    def notifications(
        self,
        *,
        state: DeliveryState | None = None,
        topic: str | None = None,
        ids: Sequence[str] | None = None,
        limit: int = 20,
    ) -> Sequence[Notification]:
        """Messages that match, the newest first. `topic` is the beginning of a topic."""

    def retry_notifications(self, ids: Sequence[str]) -> int:
        """Send failed messages again. Return how many there were."""

    def drop_notifications(self, days: float = KEEP_DAYS) -> int:
        """Delete messages that were settled this long ago."""
