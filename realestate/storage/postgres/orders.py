"""Submitted jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from realestate.storage.orders import Outcome, StoredOrder
from realestate.storage.postgres.connection import Statements
from realestate.storage.postgres.rows import encoded

_NAMES = tuple(each.name for each in fields(StoredOrder))
_COLUMNS = ", ".join(_NAMES)
_ADD = """
    INSERT INTO job_orders (job, portal, key, content, seeds, events_after, deadline_at)
    VALUES (%(job)s, %(portal)s, %(key)s, %(content)s, %(seeds)s, (SELECT coalesce(max(seq), 0) FROM events),
        now() + %(deadline)s * interval '1 second')
    ON CONFLICT (job) DO NOTHING
"""
_PUSHED = "UPDATE job_orders SET pushed_at = coalesce(pushed_at, now()) WHERE job = %s"
_PAUSED = """
    UPDATE job_orders SET paused_at = CASE WHEN %(paused)s THEN coalesce(paused_at, now()) END WHERE job = %(job)s
"""
_CANCELLED = """
    UPDATE job_orders SET cancelled_at = coalesce(cancelled_at, now()),
        reason = CASE WHEN cancelled_at IS NULL THEN %(reason)s ELSE reason END
    WHERE job = %(job)s AND ended_at IS NULL RETURNING job
"""
_ENDED = """
    UPDATE job_orders SET ended_at = now(), outcome = %(outcome)s, reason = coalesce(reason, %(reason)s),
        summary = %(summary)s
    WHERE job = %(job)s AND ended_at IS NULL RETURNING job
"""


class StoredOrders(Statements):
    """See `storage.orders.Orders`."""

    def add_order(self, order: StoredOrder, deadline_seconds: float | None = None) -> StoredOrder:
        values = {
            "job": order.job,
            "portal": order.portal,
            "key": order.key,
            "content": encoded(order.content).decode(),
            "seeds": encoded(order.seeds).decode(),
            "deadline": deadline_seconds,
        }
        self._ask(_ADD, values)
        (stored,) = self.orders(limit=1, jobs=[order.job])
        return stored

    def orders(
        self,
        portal: str | None = None,
        limit: int = 20,
        *,
        jobs: Sequence[str] | None = None,
        key: str | None = None,
        unended: bool = False,
    ) -> Sequence[StoredOrder]:
        # Only the conditions that are asked for: so each question can use its index.
        conditions = {
            "portal = %(portal)s": portal is not None,
            "job = ANY (%(jobs)s)": jobs is not None,
            "key = %(key)s": key is not None,
            "ended_at IS NULL": unended,
        }
        wanted = " AND ".join([text for text, is_asked in conditions.items() if is_asked] or ["true"])
        newest = "ORDER BY submitted_at DESC, job DESC LIMIT %(limit)s"
        statement = f"SELECT {_COLUMNS} FROM job_orders WHERE {wanted} {newest}"
        values = {"portal": portal, "jobs": None if jobs is None else list(jobs), "key": key, "limit": limit}
        return [order_of(row) for row in self._ask(statement, values)]

    def order_pushed(self, job: str) -> None:
        self._ask(_PUSHED, (job,))

    def order_paused(self, job: str, *, paused: bool) -> None:
        self._ask(_PAUSED, {"job": job, "paused": paused})

    def order_cancelled(self, job: str, reason: str) -> bool:
        return bool(self._ask(_CANCELLED, {"job": job, "reason": reason}))

    def order_ended(self, job: str, outcome: Outcome, reason: str | None, summary: Mapping[str, Any]) -> bool:
        values = {"job": job, "outcome": outcome, "reason": reason, "summary": encoded(summary).decode()}
        return bool(self._ask(_ENDED, values))


def order_of(row: Sequence[Any]) -> StoredOrder:
    return StoredOrder(**dict(zip(_NAMES, row, strict=True)))


def order_row(order: StoredOrder) -> list[Any]:
    """Its columns, as a COPY takes them."""
    values = {name: getattr(order, name) for name in _NAMES}
    for name in ("content", "seeds", "summary"):
        if values[name] is not None:
            values[name] = encoded(values[name]).decode()
    return list(values.values())
