"""Alerts: one message when it begins to fire, one when it is over. They are remembered in the store.

While the store is away nothing can be enqueued: then a new alert is sent at once, without the outbox, so that the alert
about the database itself arrives.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable
from uuid import uuid4

from realestate.monitoring.channels import Channels, NotAccepted, RefusedForGood
from realestate.monitoring.delivery import notify_operators
from realestate.monitoring.rules import Match
from realestate.storage.errors import StoreError
from realestate.storage.outbox import Notification, OutboxStore
from realestate.storage.states import State, StateStore

logger = logging.getLogger(__name__)

ALERT = "alert:"
SILENCE = "silence:"


@runtime_checkable
class AlertStore(OutboxStore, StateStore, Protocol):
    """What alerts need of the store."""


@dataclass(frozen=True, slots=True)
class Open:
    """An alert that fires."""

    key: str
    rule: str
    severity: str
    title: str
    body: str
    since: str
    """When it began to fire, by the clock of the process that saw it first."""
    notified: bool
    """Whether a message was sent."""


def key_of(match: Match) -> str:
    """Names an alert, such as `queue_too_old/immoweb`: silences match its beginning."""
    return "/".join((match.rule.name, *match.labels.values()))


def open_alerts(store: StateStore) -> list[Open]:
    return [Open(**state) for state in store.states(ALERT).values()]


def silence(store: StateStore, beginning: str, until: datetime, reason: str) -> None:
    """Send no messages about alerts whose key begins so, until that time."""
    store.change_state(SILENCE + beginning, lambda _: {"until": until.timestamp(), "reason": reason})


def end_silence(store: StateStore, beginning: str) -> bool:
    """End a silence. Return whether there was one."""
    existed = SILENCE + beginning in store.states(SILENCE + beginning)
    store.change_state(SILENCE + beginning, lambda _: None)
    return existed


def silences(store: StateStore, now: datetime) -> Mapping[str, State]:
    """The silences that are not over, by the beginning of the keys they match."""
    found = {name.removeprefix(SILENCE): state for name, state in store.states(SILENCE).items()}
    return {name: state for name, state in found.items() if state["until"] > now.timestamp()}


class Alerts:
    """Compares what fires with what fired before, and sends the operators the difference."""

    def __init__(self, store: AlertStore, channels: Channels) -> None:
        self.store = store
        self.channels = channels
        self._sent_directly: dict[str, Open] = {}

    def update(self, matches: Iterable[Match], now: datetime) -> list[str]:
        """Record the alerts that fire now. Return a line for each one that began or ended."""
        firing = {key_of(match): match for match in matches}
        try:
            return self._update(firing, now)
        except StoreError:
            return self._tell_directly(firing, now)

    def _update(self, firing: Mapping[str, Match], now: datetime) -> list[str]:
        lines = []
        quiet = silences(self.store, now)
        known = {each.key: each for each in open_alerts(self.store)}
        for key, each in self._sent_directly.items():
            known.setdefault(key, each)
        for key, match in firing.items():
            old = known.get(key)
            alert = old or _opened(key, match, now, notified=False)
            is_silenced = any(key.startswith(beginning) for beginning in quiet)
            if old is None:
                lines.append(f"ALERT {alert.title}")
            if not alert.notified and not is_silenced:
                self._enqueue(alert, "fired", alert.title, alert.body)
                alert = _opened(key, match, datetime.fromisoformat(alert.since), notified=True)
            self._save(alert)
        for key, alert in known.items():
            if key not in firing:
                lines.append(f"OVER  {alert.title}")
                if alert.notified:
                    body = f"It began at {alert.since[:16].replace('T', ' ')} UTC."
                    self._enqueue(alert, "over", f"over: {alert.title}", body)
                self.store.change_state(ALERT + key, lambda _: None)
        self._sent_directly = {}
        return lines

    def _enqueue(self, alert: Open, what: str, title: str, body: str) -> None:
        notify_operators(
            self.store,
            self.channels,
            topic=f"{ALERT}{alert.key}",
            dedupe_key=f"{ALERT}{alert.key}:{alert.since}:{what}",
            title=title,
            body=body,
            data={"alert": alert.key, "rule": alert.rule, "severity": alert.severity, "state": what},
        )

    def _save(self, alert: Open) -> None:
        values: dict[str, Any] = {name: getattr(alert, name) for name in Open.__slots__}
        self.store.change_state(ALERT + alert.key, lambda _: values)

    def _tell_directly(self, firing: Mapping[str, Match], now: datetime) -> list[str]:
        """Without the store: once for each alert, to every address, by one attempt."""
        lines = []
        for key, match in firing.items():
            if key in self._sent_directly:
                continue
            alert = _opened(key, match, now, notified=True)
            self._sent_directly[key] = alert
            lines.append(f"ALERT {alert.title}")
            for target in self.channels.operators:
                self._send_now(target, alert)
        return lines

    def _send_now(self, target: str, alert: Open) -> None:
        now = datetime.now(UTC)
        message = Notification(
            id=str(uuid4()),
            topic=f"{ALERT}{alert.key}",
            dedupe_key="",
            target=target,
            title=alert.title,
            body=alert.body,
            created_at=now,
            next_at=now,
        )
        channel = self.channels.channel(target)
        try:
            if channel is not None:
                channel.send(message)
        except (NotAccepted, RefusedForGood) as error:
            logger.error("alert/unsent: alert=%s error=%s", alert.key, error)


def _opened(key: str, match: Match, since: datetime, *, notified: bool) -> Open:
    rule = match.rule
    return Open(
        key=key,
        rule=rule.name,
        severity=rule.severity,
        title=f"{rule.severity}: {match.filled(rule.text)}",
        body=f"{match.filled(rule.remedy)}\n{rule.link}",
        since=since.isoformat(timespec="seconds"),
        notified=notified,
    )
