"""The portal's queue in Redis: every operation is one script, done completely or not at all."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self
from uuid import uuid4

import msgpack
from redis.exceptions import ResponseError

from realestate.queue import keys, stored, wrong_types
from realestate.queue.migrate_keys import migrate_keys
from realestate.queue.proxy_health import KEEP_MS, ONE_AT_A_TIME_MS, START_RATE, ProxyRef
from realestate.queue.redis_client import AsyncRedis, is_wrong_type
from realestate.queue.request_ids import RequestId, buckets_for
from realestate.queue.script_batch import ScriptBatch
from realestate.queue.seed_source import SeedSource

if TYPE_CHECKING:
    import redis
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

Outcome = Literal["done", "retry", "dead", "back"]
Scope = Literal["job", "portal"]

#: The share of a proxy's interval by which a request may be later: intervals that are all equal show a robot.
PROXY_JITTER = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """Limits of the queue. Times in milliseconds."""

    lease: int = 9_000
    ahead: int = 2_000
    proxy_ahead: int = 600
    """`ahead` with proxies: requests that are leased when their proxy is refused are refused too."""
    keep_seconds: int = 7 * 24 * 3600
    scope: Scope = "job"
    last_seen: bool = False
    dead_letters_keep: int = 10_000
    buckets: int = 4_096
    poison: int = 3
    rate: float = 0.0
    burst: int = 1
    concurrency: int = 0
    jitter: float = 0.1
    recover: int = 30_000

    @classmethod
    def from_settings(cls, settings: "BaseSettings", most: float | None = None) -> Self:
        """`most` is the highest rate for the portal, if that is lower than RATE_LIMIT."""
        rate = settings.getfloat("RATE_LIMIT")
        return cls(
            lease=int(settings.getfloat("LEASE_SECONDS") * 1000),
            ahead=int(settings.getfloat("RATE_LIMIT_AHEAD_SECONDS") * 1000),
            keep_seconds=settings.getint("DUPEFILTER_KEEP_SECONDS"),
            scope=settings["DUPEFILTER_SCOPE"],
            last_seen=settings.getbool("DUPEFILTER_LAST_SEEN"),
            dead_letters_keep=settings.getint("DEADLETTERS_KEEP"),
            buckets=buckets_for(settings.getint("DUPEFILTER_EXPECTED")),
            poison=settings.getint("POISON_WORKERS"),
            rate=min(rate, most) if most is not None else rate,
            burst=settings.getint("RATE_LIMIT_BURST"),
            concurrency=settings.getint("RATE_LIMIT_CONCURRENCY"),
            jitter=settings.getfloat("RATE_LIMIT_JITTER"),
            recover=int(settings.getfloat("RATE_LIMIT_RECOVER_SECONDS") * 1000),
        )


class Pushed(NamedTuple):
    """A request to be enqueued, as the scripts take it."""

    id: bytes
    priority: int
    job: str
    stage: str
    due: int
    bucket: int
    member: str
    payload: bytes

    @classmethod
    def of(cls, request_id: RequestId, priority: int, job: str, stage: str, payload: bytes, due: int = 0) -> Self:
        return cls(request_id.id, priority, str(job), str(stage), due, request_id.bucket, request_id.member, payload)


class Lease(NamedTuple):
    """A worker's time-limited hold on a request."""

    id: bytes
    token: str
    send_at: float
    tries: int
    priority: int
    job: str
    stage: str
    payload: bytes
    proxy_id: str = ""
    """The proxy that was granted with it; "" is the direct connection."""


class Settlement(NamedTuple):
    """How a lease ends.

    `detail` is the JSON of the dead letter (outcome "dead"), or the delay in ms, the request, and 1 if it counts as a
    try (outcome "retry").
    """

    id: bytes
    token: str
    outcome: Outcome
    detail: Any = None
    children: Sequence[Pushed] = ()
    unused: str = ""
    """The id of the proxy that was granted and not used."""
    cost: tuple[int, int, int] = (0, 0, 0)
    """Requests sent, bytes received, and requests sent through a proxy."""


@dataclass(frozen=True, slots=True)
class Taken:
    now: int
    ask_again_at: int
    paused: bool
    leases: list[Lease]
    reclaimed: Mapping[str, int] = field(default_factory=dict)
    """The workers that were found dead, and how many requests each held."""


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    now: int
    paused: bool
    blocked_until: int
    known: bool
    waiting: int = 0
    """Requests in the queue."""
    cancelled: frozenset[str] = frozenset()
    """Jobs whose requests must not be sent any more."""
    takeable: bool = True
    """Whether there is something to take, or a dead worker to notice."""
    open_jobs: int = 1
    dead_workers: int = 1
    """Dead workers whose seeds have not been put back."""
    seeds: int | None = None
    """Seeds to take; None if they were not counted."""


class RequestQueue:
    """One portal's requests: ready, delayed, in flight, done or dead; each in exactly one of these."""

    def __init__(self, server: AsyncRedis, portal: str, limits: QueueSettings) -> None:
        self.server = server
        self.portal = portal
        self.limits = limits
        self.prefix = keys.prefix(portal)
        self.seeds = SeedSource(keys.start_urls(portal))
        self.proxies: Sequence[ProxyRef] | None = None
        """The worker's proxies: None is the direct connection, an empty list takes nothing."""
        self.batch: ScriptBatch | None = None
        """Sends the heartbeats of all portals of this process together."""
        self._scripts: dict[str, Any] = {}
        # If all jobs share their fingerprints, these are stored under the empty name, which no job has.
        self._scope = "" if limits.scope == "portal" else None
        self._seen = {"scope": self._scope, "times": limits.last_seen, "keep": limits.keep_seconds}

    async def push(self, requests: Sequence[Pushed]) -> list[bool]:
        """Enqueue requests. Return for each whether it was new."""
        replies = await self.run("push", requests=requests, seen=self._seen)
        return [bool(new) for new in replies]

    async def take(self, worker: str, most: int, mine: Sequence[bytes] | None = None) -> Taken:
        """Lease up to `most` requests.

        `mine` is all that the worker knows it holds. What Redis counts as the worker's beside that is ready again: its
        reply was lost, or its settlement was lost in a failover.
        """
        limits = self.limits
        now, again, paused, reclaimed, *leases = await self.run(
            "take",
            worker=worker,
            most=most,
            mine=mine,
            lease=limits.lease,
            ahead=limits.ahead if self.proxies is None else min(limits.ahead, limits.proxy_ahead),
            poison=limits.poison,
            dead_letters_keep=limits.dead_letters_keep,
            rate=limits.rate,
            burst=limits.burst,
            concurrency=limits.concurrency,
            jitter=limits.jitter,
            recover=limits.recover,
            keep=limits.keep_seconds,
            proxies=self.proxies,
            proxy_rate=START_RATE,
            proxy_jitter=PROXY_JITTER,
            proxy_one_at_a_time=ONE_AT_A_TIME_MS,
        )
        dead = {stored.text(name): int(count) for name, count in reclaimed}
        return Taken(now, again, bool(paused), [_lease(*each) for each in leases], dead)

    async def settle(self, settlements: Sequence[Settlement], early: Sequence[Pushed] = ()) -> list[bool]:
        """End leases, and enqueue their children in the same step. Returns which leases were still ours."""
        replies = await self.run(
            "settle", leases=settlements, early=early, seen=self._seen, dead_letters_keep=self.limits.dead_letters_keep
        )
        return [bool(ours) for ours in replies]

    async def heartbeat(
        self, worker: str, heartbeat: bytes, started: Sequence[bytes], known_seeds: int = 0
    ) -> HeartbeatReply:
        """`known_seeds` is how many seeds the worker knows that it has taken."""
        counts_seeds = self.batch is not None and self.seeds.kind == "list"
        arguments = {
            "worker": worker,
            "lease": self.limits.lease,
            "heartbeat": heartbeat,
            "started": started,
            "seeds": self.seeds.key if counts_seeds else "",
            "taken_seeds": self.seeds.taken_by(worker) if counts_seeds else "",
            "known_seeds": known_seeds,
        }
        found = None
        if self.batch is not None:
            found = await self.batch.run(self.prefix, msgpack.packb(arguments, use_bin_type=False))
        if found is None:
            found = await self.run("heartbeat", **arguments)
        now, paused, blocked, known, waiting, cancelled, takeable, open_jobs, dead_workers, seeds = found
        return HeartbeatReply(
            now=now,
            paused=bool(paused),
            blocked_until=blocked,
            known=bool(known),
            waiting=waiting,
            cancelled=frozenset(stored.text(job) for job in cancelled),
            takeable=bool(takeable),
            open_jobs=open_jobs,
            dead_workers=dead_workers,
            seeds=seeds if counts_seeds else None,
        )

    async def leave(self, worker: str) -> int:
        """Make what the worker holds ready again. Returns how many requests that were."""
        return int(await self.run("leave", worker=worker))

    async def refuse(self, reason: str, wait_seconds: float = 0.0) -> None:
        """The site refused: halve the rate of the fleet, and send nothing before the wait is over."""
        await self.run("refuse", call=_call_id(), reason=reason, wait=int(wait_seconds * 1000), least=1 / 64)

    async def set_proxy_health(self, proxy_id: str, old: bytes | None, new: bytes) -> bool:
        """Replace a proxy's health. Returns False if it is not `old` any more: another worker has changed it."""
        previous = False if old is None else old
        return bool(await self.run("proxy_health", proxy=proxy_id, old=previous, new=new, keep=KEEP_MS))

    async def add_dead_letter(self, id: bytes, dead_letter: str) -> None:
        """Add a dead letter that is not a request, such as a refused seed."""
        await self.run("add_dead_letter", id=id, dead_letter=dead_letter, keep=self.limits.dead_letters_keep)

    async def replay(self, ids: Sequence[bytes], spacing: float) -> int:
        return int(await self.run("replay", call=_call_id(), ids=ids, spacing=spacing))

    async def drop(self, ids: Sequence[bytes]) -> int:
        return int(await self.run("drop", call=_call_id(), ids=ids))

    async def set_crawl_delay(self, seconds: float, origin: str) -> None:
        """Set the Crawl-delay of one of the portal's hosts, 0 for none. The longest limits the portal's rate."""
        await self.run("crawl_delay", origin=origin, delay=int(seconds * 1000))

    async def pause(self, reason: str, by: str, seconds: float = 0.0) -> None:
        """Stop the portal everywhere at once: for this many seconds, or with 0 until somebody resumes it."""
        await migrate_keys(self)
        await self.run("pause", reason=reason, by=by, wait=int(seconds * 1000))

    async def resume(self, *, automatic: bool = False) -> bool:
        """End a pause; with `automatic`, only one that a worker made. A robots.txt that could not be fetched is tried
        again at once. Returns whether there was anything to end."""
        await migrate_keys(self)
        return bool(await self.run("resume", automatic=automatic))

    async def remove_job(self, job: str, most: int) -> tuple[int, int]:
        """Remove up to `most` requests of a cancelled job. Returns how many were removed, and how many are left: those
        that workers hold are removed when they are settled."""
        removed, left = await self.run("remove_job", job=job, most=most, buckets=self._own_buckets)
        return int(removed), int(left)

    @property
    def _own_buckets(self) -> int:
        """The number of sets with fingerprints that each job has for itself."""
        return self.limits.buckets if self._scope is None else 0

    async def grant(self, job: str, page: str, wanted: int, limit: int) -> tuple[int, int]:
        """How many of the wanted items of a page the job may fetch, and how many it may fetch after that."""
        keep = self.limits.keep_seconds
        granted, left = await self.run("grant", job=job, page=page, wanted=wanted, limit=limit, keep=keep)
        return int(granted), int(left)

    async def drop_fingerprints(self, job: str, request_id: RequestId | None = None) -> None:
        """Delete the job's fingerprint of this request, or of all requests if `request_id` is None."""
        if request_id is not None:
            remove = self.server.hdel if self.limits.last_seen else self.server.srem
            await remove(self._memory(job, request_id.bucket), request_id.member)
            return
        names = [self._memory(job, bucket) for bucket in range(self.limits.buckets)]
        for begin in range(0, len(names), 1000):
            # `unlink` of a cluster would use a pipeline, which does not wait; all keys are in one slot
            await self.server.execute_command("UNLINK", *names[begin : begin + 1000])

    async def last_seen(self, job: str, request_id: RequestId) -> int | None:
        """When the job last requested it, in seconds; only with DUPEFILTER_LAST_SEEN."""
        seconds: Any = await self.server.hget(self._memory(job, request_id.bucket), request_id.member)
        return None if seconds is None else stored.count(seconds)

    def _memory(self, job: str, bucket: int) -> str:
        return keys.seen(self.portal, job if self._scope is None else self._scope, bucket)

    async def is_over(self, job: str) -> bool:
        """Whether no request of the job is ready, delayed or leased, and no seed is left that could belong to it."""
        return not await self._seeds() and not await self.server.scard(keys.job(self.portal, job))

    async def is_empty(self) -> bool:
        """Whether there are no seeds, no requests and no open jobs.

        Seeds are counted first: a seed that is being enqueued is counted twice rather than not at all.
        """
        seeds = await self._seeds()

        def lengths(commands: Any) -> None:
            for key in (keys.ready, keys.suspects, keys.delayed, keys.inflight):
                commands.zcard(key(self.portal))
            commands.hlen(keys.open_jobs(self.portal))

        return not seeds and not any(await self.server.in_one_step(lengths))

    async def _seeds(self) -> int:
        """Seeds that are not enqueued: waiting, or taken by a worker, living or dead."""
        waiting = await self.seeds.count(self.server)
        workers: Any = await self.server.zrange(keys.workers(self.portal), 0, -1)
        dead_workers: Any = await self.server.smembers(keys.dead_workers(self.portal))
        for worker in {*workers, *dead_workers}:
            waiting += await self.seeds.count(self.server, self.seeds.taken_by(stored.text(worker)))
        return waiting

    async def wait_for_wake_up(self, seconds: float) -> None:
        """Wait until a request is pushed, or the time is over."""
        await self.server.blpop([keys.wake_ups(self.portal)], timeout=seconds)

    async def run(self, script: str, **arguments: Any) -> Any:
        """Run one of the scripts in `lua/`. If a key has a wrong type, it is set aside, and the script is run again."""
        try:
            return await self._run(script, arguments)
        except ResponseError as error:
            if not is_wrong_type(error) or not await wrong_types.set_aside(
                self.server, self._types(arguments), _refused
            ):
                raise
        return await self._run(script, arguments)

    def _types(self, arguments: Mapping[str, Any]) -> dict[str, str]:
        """The types of the keys that a script with these arguments may touch."""
        names = dict(keys.TYPES)
        if worker := arguments.get("worker"):
            names |= {f"held:{worker}": "set", f"started:{worker}": "set"}
        if origin := arguments.get("origin"):
            names |= {f"robots:{origin}": "hash", f"robots:{origin}:lock": "string"}
        if job := arguments.get("job"):
            names |= {f"job:{job}": "set", f"limit:{job}": "hash", f"aside:{job}": "zset"}
        for each in arguments.get("requests", ()):
            scope = each.job if self._scope is None else self._scope
            kind = "hash" if self.limits.last_seen else "set"
            names |= {f"job:{each.job}": "set", f"seen:{scope}:{each.bucket}": kind}
        return {self.prefix + name: kind for name, kind in names.items()}

    async def _run(self, script: str, arguments: Mapping[str, Any]) -> Any:
        if script not in self._scripts:
            self._scripts[script] = self.server.register_script(script_text(script))
        # Lua in Redis reads only the old format of msgpack, in which text and bytes are the same type.
        packed = msgpack.packb(arguments, use_bin_type=False)
        return await self._scripts[script](keys=[self.prefix], args=[packed])


def _lease(id: bytes, token: bytes, send_at: float, tries: int, priority: int, *rest: bytes) -> Lease:
    job, stage, payload, proxy_id = rest
    return Lease(
        id,
        token.decode(),
        float(send_at),
        tries,
        priority,
        stored.text(job),
        stored.text(stage),
        payload,
        stored.text(proxy_id),
    )


def _refused(reason: str) -> None:
    logger.error("queue/wrong_type: %s", reason)


def _call_id() -> str:
    """Names one call of a script that must not be executed twice, also if its reply was lost and it is sent again."""
    return uuid4().hex


def run_script(server: "redis.Redis", portal: str, script: str, **arguments: Any) -> Any:
    """Run one of the scripts in `lua/` with a blocking client."""
    packed = msgpack.packb(arguments, use_bin_type=False)
    return server.eval(script_text(script), 1, keys.prefix(portal), packed)


@cache
def script_text(script: str) -> str:
    folder = files("realestate.queue.lua")
    return "\n".join(folder.joinpath(f"{name}.lua").read_text("utf-8") for name in ("common", script))
