"""The outbox of notifications."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from psycopg2.extras import Json

from realestate.storage.outbox import (
    GIVE_UP_AFTER,
    KEEP_DAYS,
    LEASE_SECONDS,
    LeasedNotification,
    Notification,
    State,
)
from realestate.storage.postgres.connection import Statements

_FIELDS = [each.name for each in fields(Notification)]
_COLUMNS = ", ".join(f"notifications.{name}" for name in _FIELDS)
_ENQUEUE = """
    INSERT INTO notifications (topic, dedupe_key, target, title, body, data)
    VALUES (%(topic)s, %(dedupe_key)s, %(target)s, %(title)s, %(body)s, %(data)s)
    ON CONFLICT (target, dedupe_key) DO NOTHING RETURNING id
"""
#: The first waiting message of each target and topic, found by one step through the index for each. A message that
#: waits for its time, or is leased, holds back those behind it.
_LEASE = f"""
    WITH RECURSIVE first AS (
        (SELECT number, target, topic FROM notifications WHERE state = 'waiting' ORDER BY target, topic, number LIMIT 1)
        UNION ALL
        SELECT following.* FROM first CROSS JOIN LATERAL (
            SELECT number, target, topic FROM notifications
            WHERE state = 'waiting' AND (target, topic) > (first.target, first.topic)
            ORDER BY target, topic, number LIMIT 1
        ) AS following
    ),
    due AS (
        SELECT number FROM notifications
        WHERE number = ANY (ARRAY(SELECT number FROM first)) AND state = 'waiting' AND next_at <= now()
          AND (leased_until IS NULL OR leased_until <= now())
        ORDER BY next_at, number LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
    UPDATE notifications SET attempts = attempts + 1, leased_until = now() + make_interval(secs => %(lease)s),
        token = gen_random_uuid()
    FROM due WHERE notifications.number = due.number
    RETURNING notifications.token::text, {_COLUMNS}
"""
_HELD = "id = %(id)s::uuid AND token = %(token)s::uuid AND state = 'waiting'"
_SETTLE = f"""
    UPDATE notifications SET state = %(state)s, settled_at = now(), error = %(error)s, leased_until = NULL, token = NULL
    WHERE {_HELD} RETURNING 1
"""
_POSTPONE = f"""
    WITH postponed AS (
        UPDATE notifications SET error = %(error)s, leased_until = NULL, token = NULL,
            next_at = now() + make_interval(secs => %(seconds)s),
            state = CASE WHEN created_at < now() - %(give_up)s THEN 'failed' ELSE 'waiting' END,
            settled_at = CASE WHEN created_at < now() - %(give_up)s THEN now() END
        WHERE {_HELD} RETURNING number, target
    ),
    others AS (
        UPDATE notifications SET next_at = now() + make_interval(secs => %(seconds)s)
        FROM postponed WHERE %(whole_target)s AND notifications.target = postponed.target
            AND notifications.number <> postponed.number AND notifications.state = 'waiting'
            AND notifications.next_at < now() + make_interval(secs => %(seconds)s)
    )
    SELECT 1 FROM postponed
"""
_FIND = f"""
    SELECT {_COLUMNS} FROM notifications
    WHERE (%(state)s::text IS NULL OR state = %(state)s) AND (%(topic)s::text IS NULL OR starts_with(topic, %(topic)s))
      AND (%(ids)s::text[] IS NULL OR id::text = ANY (%(ids)s))
    ORDER BY number DESC LIMIT %(limit)s
"""
_RETRY = """
    UPDATE notifications SET state = 'waiting', settled_at = NULL, next_at = now(), created_at = now()
    WHERE id::text = ANY (%s) AND state = 'failed' RETURNING 1
"""
_DROP = (
    "DELETE FROM notifications WHERE state <> 'waiting' AND settled_at < now() - make_interval(secs => %s) RETURNING 1"
)


class Outbox(Statements):
    """See `OutboxStore`."""

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
        values = {"topic": topic, "dedupe_key": dedupe_key, "target": target, "title": title, "body": body}
        return bool(self._ask(_ENQUEUE, {**values, "data": Json(dict(data or {}))}))

    def lease_notifications(self, limit: int = 20) -> Sequence[LeasedNotification]:
        rows = self._ask(_LEASE, {"limit": limit, "lease": LEASE_SECONDS})
        leased = [LeasedNotification(_notification(row[1:]), row[0]) for row in rows]
        return sorted(leased, key=lambda each: each.notification.created_at)

    def notification_sent(self, leased: LeasedNotification) -> bool:
        return self._settle(leased, "sent", None)

    def notification_failed(self, leased: LeasedNotification, error: str) -> bool:
        return self._settle(leased, "failed", error)

    def notification_postponed(
        self, leased: LeasedNotification, error: str, seconds: float, *, whole_target: bool = False
    ) -> bool:
        values = {**_held(leased), "error": error, "seconds": seconds, "whole_target": whole_target}
        return bool(self._ask(_POSTPONE, {**values, "give_up": GIVE_UP_AFTER}))

    def notifications(
        self,
        *,
        state: State | None = None,
        topic: str | None = None,
        ids: Sequence[str] | None = None,
        limit: int = 20,
    ) -> Sequence[Notification]:
        wanted = {"state": state, "topic": topic, "ids": None if ids is None else list(ids), "limit": limit}
        return [_notification(row) for row in self._ask(_FIND, wanted)]

    def retry_notifications(self, ids: Sequence[str]) -> int:
        return len(self._ask(_RETRY, (list(ids),)))

    def drop_notifications(self, days: float = KEEP_DAYS) -> int:
        return len(self._ask(_DROP, (days * 86400,)))

    def _settle(self, leased: LeasedNotification, state: State, error: str | None) -> bool:
        return bool(self._ask(_SETTLE, {**_held(leased), "state": state, "error": error}))


def _held(leased: LeasedNotification) -> dict[str, Any]:
    return {"id": leased.notification.id, "token": leased.token}


def _notification(row: Sequence[Any]) -> Notification:
    values = dict(zip(_FIELDS, row, strict=True))
    return Notification(**{**values, "id": str(values["id"])})
