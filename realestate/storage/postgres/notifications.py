"""The outbox of notifications, saved searches, and the small documents of monitoring."""

import select
from collections.abc import Mapping, Sequence
from dataclasses import fields
from time import monotonic
from typing import Any
from uuid import uuid4

from psycopg2.extras import Json

from realestate.storage.history import EventType
from realestate.storage.outbox import (
    GIVE_UP_AFTER,
    KEEP_DAYS,
    LEASE_SECONDS,
    DeliveryState,
    LeasedNotification,
    Notification,
)
from realestate.storage.postgres.connection import Duplicate, Statements
from realestate.storage.searches import NameTaken, Search
from realestate.storage.states import Change, State

_FIELDS = [each.name for each in fields(Notification)]
_NOTIFICATION_COLUMNS = ", ".join(f"notifications.{name}" for name in _FIELDS)
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
    RETURNING notifications.token::text, {_NOTIFICATION_COLUMNS}
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
    SELECT {_NOTIFICATION_COLUMNS} FROM notifications
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
        state: DeliveryState | None = None,
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

    def _settle(self, leased: LeasedNotification, state: DeliveryState, error: str | None) -> bool:
        return bool(self._ask(_SETTLE, {**_held(leased), "state": state, "error": error}))


def _held(leased: LeasedNotification) -> dict[str, Any]:
    return {"id": leased.notification.id, "token": leased.token}


def _notification(row: Sequence[Any]) -> Notification:
    values = dict(zip(_FIELDS, row, strict=True))
    return Notification(**{**values, "id": str(values["id"])})


#: The channel on which the trigger `events_notify` says that there are new events.
CHANNEL = "realestate_events"
_SEARCH_COLUMNS = 'id, name, filter, "on", notify, is_paused, after, created_at'
_NEWEST = "(SELECT coalesce(max(seq), 0) FROM events)"
_SAVE = f"""
    INSERT INTO searches (id, name, filter, "on", notify, after) VALUES (%s, %s, %s, %s, %s, {_NEWEST})
    RETURNING {_SEARCH_COLUMNS}
"""
#: A search that is resumed gets what happens from now on.
_PAUSE = f"""
    UPDATE searches SET is_paused = %(paused)s, after = CASE WHEN %(paused)s THEN after ELSE {_NEWEST} END
    WHERE id = %(id)s RETURNING 1
"""
_FOLLOWED = "SELECT seq FROM cursors WHERE name = 'searches'"
_BEGIN = f"INSERT INTO cursors (name, seq) VALUES ('searches', {_NEWEST}) ON CONFLICT (name) DO NOTHING"
_FOLLOW = "UPDATE cursors SET seq = greatest(seq, %s) WHERE name = 'searches'"


#: xmin is the transaction that wrote the row: a later one has a larger number, so that no two changes cancel out.
_SEARCHES_VERSION = "SELECT count(*), sum(xmin::text::bigint) FROM searches"


class SavedSearches(Statements):
    """See `SearchStore`."""

    def save_search(self, name: str, filter: str, on: Sequence[EventType], notify: Sequence[str]) -> Search:
        self.followed()
        try:
            (row,) = self._ask(_SAVE, (uuid4().hex, name, filter, list(on), list(notify)))
        except Duplicate as error:
            raise NameTaken(f"there is a search {name!r} already: delete it first, or choose another name") from error
        return _search(row)

    def searches(self) -> Sequence[Search]:
        return [_search(row) for row in self._ask(f"SELECT {_SEARCH_COLUMNS} FROM searches ORDER BY name")]

    def searches_version(self) -> object:
        return self._ask(_SEARCHES_VERSION)

    def pause_search(self, id: str, *, paused: bool) -> bool:
        return bool(self._ask(_PAUSE, {"id": id, "paused": paused}))

    def delete_search(self, id: str) -> bool:
        return bool(self._ask("DELETE FROM searches WHERE id = %s RETURNING 1", (id,)))

    def followed(self) -> int:
        rows = self._ask(_FOLLOWED)
        if not rows:
            self._ask(_BEGIN)
            rows = self._ask(_FOLLOWED)
        return int(rows[0][0])

    def follow(self, upto: int) -> None:
        self._ask(_FOLLOW, (upto,))

    def wait_for_events(self, after: int, seconds: float) -> bool:
        """Listens before it looks, so that no event is missed in between."""
        end = monotonic() + seconds
        with self.connection.cursor() as cursor:
            self.connection.once(f"LISTEN {CHANNEL}")
            while True:
                cursor.execute(f"SELECT {_NEWEST} > %s", (after,))
                if cursor.fetchone()[0]:
                    return True
                left = end - monotonic()
                if left <= 0:
                    return False
                if select.select([cursor.connection], [], [], left)[0]:
                    cursor.connection.poll()
                    cursor.connection.notifies.clear()


def _search(row: Sequence[Any]) -> Search:
    id, name, filter, on, notify, is_paused, after, created_at = row
    return Search(
        id=id,
        name=name,
        filter=filter,
        on=tuple(on),
        notify=tuple(notify),
        is_paused=is_paused,
        after=after,
        created_at=created_at,
    )


_PUT = """
    INSERT INTO states (name, data, revision) VALUES (%(name)s, %(data)s, 1)
    ON CONFLICT (name) DO UPDATE SET data = excluded.data, revision = states.revision + 1
    WHERE states.revision = %(revision)s RETURNING 1
"""
_DELETE = "DELETE FROM states WHERE name = %(name)s AND revision = %(revision)s RETURNING 1"


class States(Statements):
    """See `StateStore`."""

    def states(self, prefix: str = "") -> Mapping[str, State]:
        return dict(self._ask("SELECT name, data FROM states WHERE starts_with(name, %s) ORDER BY name", (prefix,)))

    def change_state(self, name: str, change: Change) -> State | None:
        while True:
            found = self._ask("SELECT data, revision FROM states WHERE name = %s", (name,))
            old, revision = found[0] if found else (None, 0)
            new = change(old)
            values = {"name": name, "revision": revision, "data": Json(new)}
            if new == old or self._ask(_DELETE if new is None else _PUT, values):
                return new
