"""Dead letters: requests and seeds that failed for good, each with its reason. They can be replayed."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import msgspec

from realestate.queue import keys, stored
from realestate.queue.credentials import MASK, without_credentials
from realestate.queue.request_queue import RequestQueue
from realestate.queue.seed_source import PUSH_ONCE, PUSHED_KEEP_MS

Reason = Literal[
    "seed",  # a seed that is not a request
    "http",  # a response with an error status
    "ban",  # the site refuses us
    "timeout",
    "download",  # any other download error
    "robots",  # forbidden by robots.txt
    "address",  # an address that must not be fetched: this machine's or its network's, another site's, not http
    "ignored",  # a middleware dropped it
    "parse",  # a page that could not be parsed
    "malformed",  # a value in Redis that is not a request
    "too_slow",  # a page that used more than PAGE_CPU_SECONDS of CPU time
    "poison",  # several workers died with it
    "swallowed",  # a middleware dropped it without an error
]

#: The site does not want this address.
FORBIDDEN_STATUSES = frozenset({401, 403})
#: Too many requests. 430 is Shopify's.
TOO_MANY_REQUESTS_STATUSES = frozenset({429, 430})
#: Statuses by which a site refuses us, whatever the page says. A request that ends with one is given up as `ban`.
REFUSED_STATUSES = FORBIDDEN_STATUSES | TOO_MANY_REQUESTS_STATUSES


def dead_letter(reason: Reason, error: str, **what: Any) -> str:
    """The JSON of a dead letter, without passwords. `what` holds more facts: url, seed, job, status."""
    facts = {"error": error[:500], **what}
    shown = {name: without_credentials(fact) if isinstance(fact, str) else fact for name, fact in facts.items()}
    return msgspec.json.encode({"reason": reason, **shown}, enc_hook=repr).decode()


@dataclass(frozen=True, slots=True)
class DeadLetter:
    id: bytes
    at: datetime
    details: dict[str, Any]
    """`reason`, `error`, and what else is known: url, job, stage, tries, seed."""

    def matches(self, reason: str | None, job: str | None) -> bool:
        """Whether it has this reason, and is of the job whose id begins so."""
        is_of_reason = reason is None or self.details.get("reason") == reason
        is_of_job = job is None or str(self.details.get("job") or "").startswith(job)
        return is_of_reason and is_of_job


class DeadLetters:
    """The dead letters of one portal."""

    def __init__(self, queue: RequestQueue) -> None:
        self.queue = queue
        self.server = queue.server
        self.portal = queue.portal

    async def newest(self, count: int = 20, *, reason: str | None = None, job: str | None = None) -> list[DeadLetter]:
        found = []
        async for each in self._all():
            if each.matches(reason, job):
                found.append(each)
            if len(found) >= count:
                break
        return found

    async def one(self, id: bytes) -> DeadLetter | None:
        """The dead letter with this id; None if there is none."""
        at: Any = await self.server.zscore(keys.dead_letter_times(self.portal), id)
        text: Any = await self.server.hget(keys.dead_letters(self.portal), id)
        if at is None or text is None:
            return None
        return DeadLetter(id, stored.moment(at / 1000), _details(text))

    async def replay(self, ids: Sequence[bytes], per_second: float) -> int:
        """Put them into the queue again, `per_second` each second. A refused seed becomes a seed again."""
        seeds = [await self._seed(id) for id in ids]
        for id, seed in zip(ids, seeds, strict=True):
            if seed is not None:
                await self._push_seed(seed, id)
                await self.drop([id])
        replayed = await self.queue.replay(ids, 1000 / per_second)
        return replayed + sum(seed is not None for seed in seeds)

    async def drop(self, ids: Sequence[bytes]) -> int:
        return await self.queue.drop(ids)

    async def _all(self) -> AsyncIterator[DeadLetter]:
        begin = 0
        step = 500
        key = keys.dead_letter_times(self.portal)
        while True:
            page: Any = await self.server.zrange(key, begin, begin + step - 1, desc=True, withscores=True)
            if not page:
                return
            values: Any = await self.server.hmget(keys.dead_letters(self.portal), [id for id, _ in page])
            for (id, at), text in zip(page, values, strict=True):
                if text is not None:
                    yield DeadLetter(id, stored.moment(at / 1000), _details(text))
            begin += step

    async def _seed(self, id: bytes) -> dict[str, Any] | None:
        """The fields of the dead letter of a seed; None if it is of a request, or had a password: that is not kept."""
        text: Any = await self.server.hget(keys.dead_letters(self.portal), id)
        fields: dict[str, Any] = _details(text) if text else {}
        seed = fields.get("seed")
        is_whole_seed = fields.get("reason") == "seed" and isinstance(seed, str) and bool(seed) and MASK not in seed
        return fields if is_whole_seed else None

    async def _push_seed(self, fields: dict[str, Any], id: bytes) -> None:
        """Push the seed again to the key that it came from."""
        key = str(fields.get("seeds_key") or keys.start_urls(self.portal))
        if fields.get("seeds_kind") == "set":
            await self.server.sadd(key, fields["seed"])
        elif fields.get("seeds_kind") == "zset":
            await self.server.zadd(key, {fields["seed"]: 0})
        else:
            pushed = keys.pushed(key, id.hex())
            await self.server.eval(PUSH_ONCE, 2, key, pushed, str(PUSHED_KEEP_MS), fields["seed"])


def _details(text: bytes) -> dict[str, Any]:
    """The fields of a dead letter. A value that somebody else wrote must not keep the others from being shown."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        return {"reason": "malformed", "error": f"not a dead letter: {error}"}
