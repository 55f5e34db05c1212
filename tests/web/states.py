"""What the store of tests has beside listings: alerts, and a listing in quarantine."""

from datetime import UTC, datetime, timedelta

from realestate.storage import Batch, FullStore
from tests.storage.batches import quarantined

ALERT_TEXT = "bina: the oldest request has waited 5,400 s."


def fill_states(store: FullStore) -> None:
    """An alert that fires, a silenced one, and an entry in quarantine."""
    store.write(Batch((), [quarantined()]))
    since = datetime.now(UTC) - timedelta(hours=2)
    _alert(store, "queue_too_old/bina", "warning", ALERT_TEXT, "Look at `realestate status`.", since)
    _alert(store, "disk_full", "critical", "Less than a tenth of the disk is free.", "Run `realestate retain`.", since)
    until = (datetime.now(UTC) + timedelta(hours=8)).timestamp()
    store.change_state("silence:disk_full", lambda _: {"until": until, "reason": "known"})


def _alert(store: FullStore, key: str, severity: str, text: str, remedy: str, since: datetime) -> None:
    values = {
        "key": key,
        "rule": key.partition("/")[0],
        "severity": severity,
        "title": f"{severity}: {text}",
        "body": f"{remedy}\ndocs/monitoring.md#{key.partition('/')[0]}",
        "since": since.isoformat(timespec="seconds"),
        "notified": True,
    }
    store.change_state(f"alert:{key}", lambda _: dict(values))
