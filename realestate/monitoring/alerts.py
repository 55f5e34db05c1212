"""Alerts: one message when it begins to fire, one when it is over. They are remembered in the store.

While the store is away nothing can be enqueued: then a new alert is sent at once, without the outbox, so that the alert
about the database itself arrives. Who does not accept it is asked again.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable
from uuid import NAMESPACE_URL, uuid5

from realestate.monitoring.channels import Channels, NotAccepted, RefusedForGood
from realestate.monitoring.rules import Labels, Match
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


def labels_of(alert: Open) -> Labels:
    """The values of the labels in its key."""
    return tuple(alert.key.split("/")[1:])


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


IsOver = Callable[[str, Labels], bool]
"""Gets the rule and the labels of an alert that does not fire here, and returns whether it is certainly over."""


class Alerts:
    """Compares what fires with what fired before, and sends the operators the difference. Any number of processes may
    do that, and each may be started again at any time."""

    def __init__(self, store: AlertStore, channels: Channels, is_over: IsOver = lambda rule, labels: True) -> None:
        """`is_over` is asked about alerts that are remembered and do not fire (`Evaluator.is_over`)."""
        self.store = store
        self.channels = channels
        self._is_over = is_over
        self._known: dict[str, Open] = {}
        """The alerts that fired at the last look, for when the store is away."""
        self._quiet: Sequence[str] = ()
        """What was silenced then."""
        self._sent_directly: dict[str, Open] = {}
        self._unsent: dict[str, list[str]] = {}
        """The targets that did not accept an alert that was sent directly."""

    def update(self, matches: Iterable[Match], now: datetime) -> list[str]:
        """Record the alerts that fire now. Return a line for each one that began or ended."""
        firing = {key_of(match): match for match in matches}
        try:
            return self._update(firing, now)
        except StoreError:
            return self._send_directly(firing, now)

    def _update(self, firing: Mapping[str, Match], now: datetime) -> list[str]:
        lines = []
        self._quiet = list(silences(self.store, now))
        known = {each.key: each for each in open_alerts(self.store)}
        self._enqueue_unsent()
        for key, alert in self._sent_directly.items():
            known[key] = self._begun(alert)
        self._sent_directly = {}
        self._known = {key: each for key, each in self._known.items() if key in firing or key in known}
        for key, match in firing.items():
            fires = known.get(key)
            if fires is None:
                if self._known.pop(key, None) is not None:
                    continue  # another process has just seen that it is over; does it still fire at the next look?
                fires = self._begun(_opened(key, match, now, notified=False))
                lines.append(f"ALERT {fires.title}")
            if not fires.notified and not self._is_silenced(key):
                fires = _opened(key, match, datetime.fromisoformat(fires.since), notified=True)
                self._enqueue(fires, "fired", fires.title, fires.body)
                self._save(fires)
            self._known[key] = fires
        for key, alert in known.items():
            if key not in firing and self._is_over(alert.rule, labels_of(alert)):
                lines.append(f"OVER  {alert.title}")
                if alert.notified:
                    body = f"It began at {alert.since[:16].replace('T', ' ')} UTC."
                    self._enqueue(alert, "over", f"over: {alert.title}", body)
                self.store.change_state(ALERT + key, lambda _: None)
                self._known.pop(key, None)
        return lines

    def _is_silenced(self, key: str) -> bool:
        return any(key.startswith(beginning) for beginning in self._quiet)

    def _begun(self, alert: Open) -> Open:
        """The alert as it is stored: another process may have seen it first. Its beginning names its messages, so it is
        stored before they are."""
        stored = self.store.change_state(ALERT + alert.key, lambda old: old or _state(alert))
        return Open(**stored) if stored else alert

    def _save(self, alert: Open) -> None:
        self.store.change_state(ALERT + alert.key, lambda _: _state(alert))

    def _enqueue(self, alert: Open, what: str, title: str, body: str) -> None:
        self._enqueue_to(self.channels.operators, alert, what, title, body)

    def _enqueue_to(self, targets: Iterable[str], alert: Open, what: str, title: str, body: str) -> None:
        for target in targets:
            self.store.enqueue(
                topic=f"{ALERT}{alert.key}",
                dedupe_key=f"{ALERT}{alert.key}:{alert.since}:{what}",
                target=target,
                title=title,
                body=body,
                data=_data(alert, what),
            )

    # ----- without the store

    def _send_directly(self, firing: Mapping[str, Match], now: datetime) -> list[str]:
        """Send what is new to every address. Who does not accept it is asked again at the next look, and when the store
        is back, by the outbox."""
        lines = []
        for key, match in firing.items():
            if key in self._known or key in self._sent_directly or self._is_silenced(key):
                continue
            alert = _opened(key, match, now, notified=True)
            self._sent_directly[key] = alert
            self._unsent[key] = self.channels.operators
            lines.append(f"ALERT {alert.title}")
        for key, targets in list(self._unsent.items()):
            left = [target for target in targets if not self._send_now(target, self._sent_directly[key])]
            self._unsent[key] = left
        return lines

    def _enqueue_unsent(self) -> None:
        for key, targets in list(self._unsent.items()):
            alert = self._sent_directly[key]
            self._enqueue_to(targets, alert, "fired", alert.title, alert.body)
            del self._unsent[key]

    def _send_now(self, target: str, alert: Open) -> bool:
        """Try once. Return whether it was accepted, or will never be."""
        now = datetime.now(UTC)
        message = Notification(
            id=str(uuid5(NAMESPACE_URL, f"{ALERT}{alert.key}:{alert.since}:fired:{target}")),
            topic=f"{ALERT}{alert.key}",
            dedupe_key="",
            target=target,
            title=alert.title,
            body=alert.body,
            created_at=now,
            next_at=now,
            data=_data(alert, "fired"),
        )
        channel = self.channels.channel(target)
        try:
            if channel is not None:
                channel.send(message)
        except NotAccepted as error:
            logger.warning("alert/unsent: alert=%s error=%s; trying again", alert.key, error)
            return False
        except RefusedForGood as error:
            logger.error("alert/unsent: alert=%s error=%s", alert.key, error)
        return True


def _data(alert: Open, what: str) -> dict[str, str]:
    return {"alert": alert.key, "rule": alert.rule, "severity": alert.severity, "state": what}


def _state(alert: Open) -> State:
    return {name: getattr(alert, name) for name in Open.__slots__}


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
