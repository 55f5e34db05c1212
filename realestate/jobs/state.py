"""The state of a job: what the store and Redis know of it, in one record."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from realestate.queue import keys, stored
from realestate.queue.open_jobs import OpenJob, read_open_job
from realestate.queue.redis_client import in_one_step
from realestate.storage.orders import StoredOrder
from realestate.storage.store import Job, JobKey, Store

if TYPE_CHECKING:
    from redis import Redis

#: `queued`: no worker has opened it. `planning`: its searches are split. `running`: its pages are read. `concluding`:
#: what it did not find is checked, and what is gone is decided.
StateName = Literal["queued", "planning", "running", "concluding", "finished", "cancelled", "failed"]
OVER: frozenset[StateName] = frozenset({"finished", "cancelled", "failed"})
STAGES = ("plan", "discover", "extract")
#: The types of events that count as new, changed and gone.
NEW = ("listed", "appeared")
CHANGED = ("price_changed", "price_meaning_changed", "updated", "reserved", "relisted")
GONE = ("delisted", "sold", "rented")


class NoSuchJobId(LookupError):
    """There is no job with this id."""

    def __init__(self, job: str) -> None:
        super().__init__(f"there is no job with the id {job!r}")


@dataclass(frozen=True, slots=True)
class StagePages:
    """The pages of one stage."""

    found: int = 0
    done: int = 0
    failed: int = 0
    """Pages that were given up: dead letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """One job as it is now, or as it ended. Times are those of the database."""

    job: str
    portal: str
    state: StateName
    paused: bool = False
    key: str | None = None
    order: Mapping[str, Any] | None = None
    """What was ordered, as JSON; None for a job that began with a seed of another program."""
    mode: str = "full"
    submitted_at: datetime
    started_at: datetime | None = None
    """When a worker opened it."""
    ended_at: datetime | None = None
    deadline_at: datetime | None = None
    reason: str | None = None
    """Why it was cancelled, failed, or is not complete."""
    complete: bool | None = None
    """Whether every search page was read; None until that is known."""
    verdict: str | None = None
    """`applied`: the listings it found gone were delisted. `withheld`: they were too many."""
    pages: Mapping[str, StagePages] = field(default_factory=dict)
    """The pages by stage: plan, discover, extract."""
    parts: int = 0
    """How many searches were planned."""
    new: int = 0
    changed: int = 0
    gone: int = 0
    left: int = 0
    """Requests that are waiting or on their way."""
    rate: float | None = None
    """Pages per second since it started."""
    seconds_left: float | None = None
    """At that rate, for what is known to be left; None if nothing can be said."""
    requests: int = 0
    bytes: int = 0
    """Received, as they were transferred."""
    proxy_requests: int = 0

    @property
    def is_over(self) -> bool:
        return self.state in OVER

    @property
    def is_submitted(self) -> bool:
        """Whether it was submitted as an order."""
        return self.order is not None

    @property
    def done(self) -> int:
        return sum(each.done for each in self.pages.values())

    @property
    def failed(self) -> int:
        return sum(each.failed for each in self.pages.values())


@dataclass(frozen=True, slots=True)
class InRedis:
    """What Redis knows of a job. The cost of reading it does not depend on the length of the queue."""

    seeds: int = 0
    """Seeds of the portal that are not enqueued: some may be the job's."""
    opened: OpenJob | None = None
    left: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    """`<stage>:<what>` -> number."""
    is_cancelled: bool = False
    now: float = 0.0

    def pages(self) -> dict[str, StagePages]:
        def number(stage: str, what: str) -> int:
            return self.counts.get(f"{stage}:{what}", 0)

        return {
            stage: StagePages(number(stage, "pushed"), number(stage, "done"), number(stage, "dead")) for stage in STAGES
        }

    def total(self, what: str) -> int:
        return sum(count for name, count in self.counts.items() if name.rpartition(":")[2] == what)


def read_redis(server: "Redis", portal: str, job: str) -> InRedis:
    """Seeds first, then the rest: a job is opened before its seed is removed."""
    waiting: Any = server.llen(keys.start_urls(portal))
    workers, dead_workers = in_one_step(server, lambda commands: _read_workers(commands, portal))
    taken = sum(int(server.llen(keys.taken_seeds(portal, stored.text(each)))) for each in {*workers, *dead_workers})
    value, left, counts, cancelled = in_one_step(server, lambda commands: _read_job(commands, portal, job))
    return InRedis(
        seeds=int(waiting) + taken,
        opened=read_open_job(value) if value else None,
        left=left,
        counts={stored.text(name): stored.count(value) for name, value in counts.items()},
        is_cancelled=cancelled is not None,
    )


def _read_workers(commands: Any, portal: str) -> None:
    commands.zrange(keys.workers(portal), 0, -1)
    commands.smembers(keys.dead_workers(portal))


def _read_job(commands: Any, portal: str, job: str) -> None:
    commands.hget(keys.open_jobs(portal), job)
    commands.scard(keys.job(portal, job))
    commands.hgetall(keys.counts(portal, job))
    commands.zscore(keys.cancelled_jobs(portal), job)


def state_of(store: Store, server: "Redis", order: StoredOrder | None, record: Job | None) -> JobState:
    """The state of a job that has an order, a record, or both."""
    if order is not None and order.ended_at is not None:
        return _ended(order, record)
    known = order or record
    assert known is not None
    found = read_redis(server, known.portal, known.job)
    if record is None or record.concluded_at is None:  # it may have been opened, or concluded, since it was read
        record = next(iter(store.jobs(known.portal, 1, job=known.job)), record)
    events: Mapping[str, int] = {}
    if record is not None and order is not None:
        events = store.event_counts(order.events_after).get(JobKey(known.portal, known.job), {})
    now = store.server_state().now
    return _running(order, record, found, events, now)


def _ended(order: StoredOrder, record: Job | None) -> JobState:
    summary = order.summary or {}
    return JobState(
        job=order.job,
        portal=order.portal,
        state=order.outcome or "finished",
        key=order.key,
        order=order.content,
        mode=str(order.content.get("mode", "full")),
        submitted_at=order.submitted_at,
        started_at=record.started_at if record else None,
        ended_at=order.ended_at,
        deadline_at=order.deadline_at,
        reason=order.reason or (record.reason if record else None),
        complete=record.complete if record else None,
        verdict=record.verdict if record else None,
        pages={stage: StagePages(**pages) for stage, pages in summary.get("pages", {}).items()},
        parts=summary.get("parts", 0),
        new=summary.get("new", 0),
        changed=summary.get("changed", 0),
        gone=summary.get("gone", 0),
        rate=summary.get("rate"),
        requests=summary.get("requests", 0),
        bytes=summary.get("bytes", 0),
        proxy_requests=summary.get("proxy_requests", 0),
    )


def _running(
    order: StoredOrder | None, record: Job | None, found: InRedis, events: Mapping[str, int], now: datetime
) -> JobState:
    known = order or record
    assert known is not None
    pages = found.pages()
    started_at = record.started_at if record else None
    concluded_at = record.concluded_at if record else None
    done = sum(each.done for each in pages.values())
    seconds = ((concluded_at or now) - started_at).total_seconds() if started_at else 0.0
    rate = round(done / seconds, 3) if done and seconds > 0 else None
    state = _name(order, record, found)
    failure = why_failed(found) if state == "failed" else None
    return JobState(
        job=known.job,
        portal=known.portal,
        state=state,
        paused=order is not None and order.paused_at is not None,
        key=order.key if order else None,
        order=order.content if order else None,
        mode=record.mode if record else str(order.content.get("mode", "full")) if order else "full",
        submitted_at=order.submitted_at if order else started_at or datetime.fromtimestamp(0, UTC),
        started_at=started_at,
        ended_at=concluded_at,
        deadline_at=order.deadline_at if order else None,
        reason=(order.reason if order else None) or failure or (record.reason if record else None),
        complete=record.complete if record else None,
        verdict=record.verdict if record else None,
        pages=pages,
        parts=pages["plan"].found,
        new=sum(events.get(type, 0) for type in NEW),
        changed=sum(events.get(type, 0) for type in CHANGED),
        gone=sum(events.get(type, 0) for type in GONE),
        left=found.left,
        rate=rate,
        seconds_left=found.left / rate if rate and found.left and state == "running" else None,
        requests=found.total("requests"),
        bytes=found.total("bytes"),
        proxy_requests=found.total("proxied"),
    )


def _name(order: StoredOrder | None, record: Job | None, found: InRedis) -> StateName:
    if found.is_cancelled or (order is not None and order.cancelled_at is not None):
        return "cancelled"
    if record is not None and record.concluded_at is not None:
        return "failed" if why_failed(found) else "finished"
    if record is None and found.opened is None:
        return "queued"
    if found.opened is not None and found.opened.checking:
        return "concluding"
    if not found.left and not found.seeds:
        return "concluding"
    pages = found.pages()
    is_planned = pages["plan"].found == pages["plan"].done + pages["plan"].failed
    return "planning" if not is_planned and not pages["extract"].done else "running"


def why_failed(found: InRedis) -> str | None:
    """Why a job that has ended failed: it read no page at all. None if it did not."""
    if found.total("done") or not found.total("dead"):
        return None
    dead = found.total("dead")
    return f"no page could be read: {dead} dead letter{'' if dead == 1 else 's'}"
