"""The names of all keys in Redis.

| key | type | holds | kept |
|---|---|---|---|
| `<portal>:start_urls` | list | seeds: a bare URL or a JSON object | until a worker takes them |
| `{<portal>:start_urls}:taken:<worker>` | list | seeds that a worker has taken | until they are in the queue |
| `{<portal>:start_urls}:removed:<call>` | string | a call has removed its seed: it is not repeated | 10 minutes |
| `{<portal>:start_urls}:pushed:<job>` | string | a command has pushed its seeds: it is not repeated | 1 day |
| `{<portal>:start_urls}:wrong_type:<n>` | any | a key for seeds that had a wrong type | until somebody deletes it |
| `{<portal>}:<key>:wrong_type:<n>` | any | the same for a key of the queue | until somebody deletes it |
| `{<portal>}:calls:<call>` | string | the reply of a script that must not be executed twice | 5 minutes |
| `{<portal>}:seed_names` | hash | seed -> its name, also if another worker takes it over | while it is taken |
| `{<portal>}:requests` | hash | id -> priority, arrival, job, stage, request | until done or deleted |
| `{<portal>}:ready` | zset | ids by priority, then arrival | until leased |
| `{<portal>}:delayed` | zset | ids by the time before which they are not sent | until that time |
| `{<portal>}:inflight` | zset | ids that are leased, by their send time | until settled |
| `{<portal>}:suspects` | zset | ids of requests that may have crashed a worker | until leased, one at a time |
| `{<portal>}:suspect_worker` | string | the worker that finishes its work to take a suspect | until it has taken it |
| `{<portal>}:leases` | hash | id -> token and worker of the last lease | until settled |
| `{<portal>}:held:<worker>` | set | ids leased to the worker | while it holds any |
| `{<portal>}:started:<worker>` | set | ids that the worker is downloading | until its next heartbeat |
| `{<portal>}:workers` | zset | worker by the time at which it counts as dead | while the worker lives |
| `{<portal>}:heartbeats` | hash | worker -> the data of its last heartbeat (JSON) | while the worker lives |
| `{<portal>}:dead_workers` | set | dead workers whose seeds have not been put back | until they are |
| `{<portal>}:last_heartbeat` | string | the time of the last heartbeat of any worker | for ever |
| `{<portal>}:grace_until` | string | no worker counts as dead before this time | for ever |
| `{<portal>}:tries` | hash | id -> number of retries | until done or deleted |
| `{<portal>}:crashes` | hash | id -> number of workers that died with it | until done or deleted |
| `{<portal>}:dead_letters` | hash | id -> reason and error (JSON) | the newest DEADLETTERS_KEEP |
| `{<portal>}:dead_letters:times` | zset | ids of dead letters by time | as long as `dead_letters` |
| `{<portal>}:rate_limit` | hash | rate, factor, free_at, blocked_until, paused, paused_until … | for ever |
| `{<portal>}:proxies` | hash | proxy id -> its health at the site (JSON) | about 15 days after its last use |
| `{<portal>}:proxies:free_at` | hash | proxy id -> when it may be used next | as long as `proxies` |
| `{<portal>}:proxies:used_at` | hash | proxy id -> when it was last used | as long as `proxies` |
| `{<portal>}:robots:<origin>` | hash | a host's robots.txt, and when it was fetched | 30 days after the fetch |
| `{<portal>}:robots:<origin>:lock` | string | the worker that fetches it | until the fetch ends, 2 minutes at most |
| `{<portal>}:crawl_delays` | hash | origin -> its Crawl-delay, in ms | for ever |
| `{<portal>}:seen:<job>:<n>` | set or hash | the job's fingerprints, or these with times | DUPEFILTER_KEEP_SECONDS |
| `{<portal>}:job:<job>` | set | ids of the job that are neither done nor dead letters | until there are none |
| `{<portal>}:jobs` | zset | jobs by the time of their last change | the newest 1,000 |
| `{<portal>}:counts:<job>` | hash | numbers of requests pushed, done, retried …, by stage | DUPEFILTER_KEEP_SECONDS |
| `{<portal>}:limit:<job>` | hash | page or item -> how many a job with a limit may take | DUPEFILTER_KEEP_SECONDS |
| `{<portal>}:open_jobs` | hash | job -> its mode, scope and progress (JSON) | until the job is finished |
| `{<portal>}:cancelled_jobs` | zset | cancelled jobs by time: nothing of theirs is enqueued | DUPEFILTER_KEEP_SECONDS |
| `{<portal>}:removed_jobs` | set | cancelled jobs of which requests are left | until none is left |
| `{<portal>}:paused_jobs` | set | paused jobs | until they are resumed or cancelled |
| `{<portal>}:aside_jobs` | set | jobs with requests that were set aside | until there are none |
| `{<portal>}:aside:<job>` | zset | requests of a paused job, by priority, then arrival | until it is resumed |
| `{<portal>}:deadlines` | zset | jobs by the time at which they are cancelled | until then, or their end |
| `{<portal>}:finishing:<job>` | string | a worker is finishing the job | until it is done, 30 s at most |
| `{<portal>}:arrivals`, `{<portal>}:tokens`, `{<portal>}:grants` | string | counters | for ever |
| `{<portal>}:wake_ups` | list | one entry for each waiting worker to wake, at most 64 | until a worker reads it |
| `realestate:timetable_error` | string | why the changed timetable file cannot be used | until it can |
| `realestate:finish_jobs` | string | a process looks at the jobs that have not ended | some seconds |

All keys but the seeds and the last two carry the hash tag `{<portal>}`: a script touches one slot of a Redis Cluster.
"""

#: Whoever has it looks at the jobs that have not ended.
FINISH_JOBS = "realestate:finish_jobs"
#: The types of the keys that a portal has one of.
TYPES = {
    "arrivals": "string",
    "aside_jobs": "set",
    "cancelled_jobs": "zset",
    "crashes": "hash",
    "crawl_delays": "hash",
    "dead_letters": "hash",
    "dead_letters:times": "zset",
    "dead_workers": "set",
    "deadlines": "zset",
    "delayed": "zset",
    "grace_until": "string",
    "grants": "string",
    "heartbeats": "hash",
    "inflight": "zset",
    "jobs": "zset",
    "last_heartbeat": "string",
    "leases": "hash",
    "open_jobs": "hash",
    "paused_jobs": "set",
    "proxies": "hash",
    "proxies:free_at": "hash",
    "proxies:used_at": "hash",
    "rate_limit": "hash",
    "ready": "zset",
    "removed_jobs": "set",
    "requests": "hash",
    "seed_names": "hash",
    "suspect_worker": "string",
    "suspects": "zset",
    "tokens": "string",
    "tries": "hash",
    "wake_ups": "list",
    "workers": "zset",
}
#: Why the changed timetable file cannot be used.
TIMETABLE_ERROR = "realestate:timetable_error"
#: scrapy-redis fills it in itself.
START_URLS = "%(name)s:start_urls"


def prefix(portal: str) -> str:
    """What all keys of a portal's queue begin with."""
    return f"{{{portal}}}:"


def start_urls(portal: str) -> str:
    return START_URLS % {"name": portal}


def taken_seeds(portal: str, worker: str) -> str:
    """The seeds of a portal that a worker is about to enqueue."""
    return taken_from(start_urls(portal), worker)


def taken_from(seeds: str, worker: str) -> str:
    """In the slot of the seeds, so that one command moves a seed."""
    return f"{{{seeds}}}:taken:{worker}"


def removed(seeds: str, call: str) -> str:
    """Says that this call has removed its seed."""
    return f"{{{seeds}}}:removed:{call}"


def pushed(seeds: str, job: str) -> str:
    """Says that the seeds of this job have been pushed."""
    return f"{{{seeds}}}:pushed:{job}"


def seed_names(portal: str) -> str:
    return prefix(portal) + "seed_names"


def arrivals(portal: str) -> str:
    """How many requests were ever put into the queue."""
    return prefix(portal) + "arrivals"


def ready(portal: str) -> str:
    return prefix(portal) + "ready"


def delayed(portal: str) -> str:
    return prefix(portal) + "delayed"


def inflight(portal: str) -> str:
    return prefix(portal) + "inflight"


def suspects(portal: str) -> str:
    return prefix(portal) + "suspects"


def requests(portal: str) -> str:
    return prefix(portal) + "requests"


def heartbeats(portal: str) -> str:
    return prefix(portal) + "heartbeats"


def workers(portal: str) -> str:
    return prefix(portal) + "workers"


def dead_workers(portal: str) -> str:
    return prefix(portal) + "dead_workers"


def dead_letter_times(portal: str) -> str:
    return prefix(portal) + "dead_letters:times"


def dead_letters(portal: str) -> str:
    return prefix(portal) + "dead_letters"


def rate_limit(portal: str) -> str:
    return prefix(portal) + "rate_limit"


def last_heartbeat(portal: str) -> str:
    return prefix(portal) + "last_heartbeat"


def proxies(portal: str) -> str:
    return prefix(portal) + "proxies"


def robots(portal: str, origin: str) -> str:
    return f"{prefix(portal)}robots:{origin}"


def seen(portal: str, job: str, bucket: int) -> str:
    return f"{prefix(portal)}seen:{job}:{bucket}"


def job(portal: str, name: str) -> str:
    return f"{prefix(portal)}job:{name}"


def jobs(portal: str) -> str:
    return prefix(portal) + "jobs"


def limit(portal: str, name: str) -> str:
    return f"{prefix(portal)}limit:{name}"


def counts(portal: str, name: str) -> str:
    return f"{prefix(portal)}counts:{name}"


def open_jobs(portal: str) -> str:
    return prefix(portal) + "open_jobs"


def cancelled_jobs(portal: str) -> str:
    return prefix(portal) + "cancelled_jobs"


def removed_jobs(portal: str) -> str:
    return prefix(portal) + "removed_jobs"


def paused_jobs(portal: str) -> str:
    return prefix(portal) + "paused_jobs"


def deadlines(portal: str) -> str:
    return prefix(portal) + "deadlines"


def finishing(portal: str, job: str) -> str:
    return f"{prefix(portal)}finishing:{job}"


def wake_ups(portal: str) -> str:
    return prefix(portal) + "wake_ups"
