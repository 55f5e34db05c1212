"""The names of all keys in Redis.

| key | type | holds | life |
|---|---|---|---|
| `<portal>:start_urls` | list | seeds: a bare URL or a JSON object | until a worker takes them |
| `{<portal>:start_urls}:taken:<worker>` | list | seeds a worker is about to enqueue | until they are enqueued |
| `{<portal>}:seeding` | hash | seed -> its name, for who has to take it over | until it is enqueued |
| `{<portal>}:requests` | hash | id -> priority, arrival, job, stage, request | until done or dropped |
| `{<portal>}:ready` | zset | ids by priority, then arrival | until taken |
| `{<portal>}:delayed` | zset | ids by the time before which they may not go | until due |
| `{<portal>}:inflight` | zset | ids that are leased, by when they may be sent | until settled |
| `{<portal>}:suspects` | zset | ids that may have brought a worker down | until taken, alone |
| `{<portal>}:emptying` | string | the worker that makes room for a suspect | until it took it |
| `{<portal>}:leases` | hash | id -> token and worker of the last lease | until settled |
| `{<portal>}:held:<worker>` | set | ids leased to the worker | while it holds any |
| `{<portal>}:started:<worker>` | set | ids the worker is downloading | until the next beat |
| `{<portal>}:workers` | zset | worker by when it is taken for dead | while the worker beats |
| `{<portal>}:beats` | hash | worker -> its last heartbeat (JSON) | while the worker beats |
| `{<portal>}:departed` | set | workers taken for dead, their seeds to recover | until recovered |
| `{<portal>}:pulse`, `{<portal>}:mercy` | string | last heard of anyone; none is dead before | for ever |
| `{<portal>}:tries`, `{<portal>}:crashes` | hash | id -> retries; workers it took down | until done or dropped |
| `{<portal>}:dead` | zset | ids given up, by when | the newest DEADLETTERS_KEEP |
| `{<portal>}:letters` | hash | id -> why it was given up (JSON) | as long as it is dead |
| `{<portal>}:rate_limit` | hash | rate, factor, free_at, blocked_until, paused … | for ever |
| `{<portal>}:proxies` | hash | proxy id -> its health at the site (JSON) | about 15 days after its last use |
| `{<portal>}:proxies:free_at` | hash | proxy id -> when it may be used next | as long as `proxies` |
| `{<portal>}:robots:<origin>` | hash | a host's robots.txt, and when it was fetched | 30 days after the fetch |
| `{<portal>}:robots:<origin>:lock` | string | the worker that fetches it | until it is fetched, 5 minutes at most |
| `{<portal>}:crawl_delays` | hash | origin -> its Crawl-delay, in ms | for ever |
| `{<portal>}:proxies:used_at` | hash | proxy id -> when it was last used | as long as `proxies` |
| `{<portal>}:seen:<job>:<n>` | set or hash | the job's fingerprints, or each with when | DUPEFILTER_KEEP_SECONDS |
| `{<portal>}:job:<job>` | set | ids of the job that are not done or dead | until the last is |
| `{<portal>}:jobs` | zset | jobs by when they last moved | the newest 1,000 |
| `{<portal>}:counts:<job>` | hash | what happened to the job's requests, by stage | DUPEFILTER_KEEP_SECONDS |
| `{<portal>}:open` | hash | job -> what was asked for and how far it is (JSON) | until the job is concluded |
| `{<portal>}:concluding:<job>` | string | somebody concludes the job | until it is done, 30 s at most |
| `{<portal>}:arrivals`, `{<portal>}:tokens`, `{<portal>}:grants` | string | counters | for ever |
| `{<portal>}:bell` | list | rung when something is ready | until heard |

All but the seeds carry the hash tag `{<portal>}`, so that one script touches one slot of a Redis Cluster.
"""

#: scrapy-redis fills it in itself.
START_URLS = "%(name)s:start_urls"


def prefix(portal: str) -> str:
    """What all keys of a portal's queue begin with."""
    return f"{{{portal}}}:"


def start_urls(portal: str) -> str:
    return START_URLS % {"name": portal}


def taken_seeds(portal: str, worker: str) -> str:
    """In the slot of the seeds, so that one command moves a seed."""
    return f"{{{start_urls(portal)}}}:taken:{worker}"


def seeding(portal: str) -> str:
    return prefix(portal) + "seeding"


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


def beats(portal: str) -> str:
    return prefix(portal) + "beats"


def workers(portal: str) -> str:
    return prefix(portal) + "workers"


def departed(portal: str) -> str:
    return prefix(portal) + "departed"


def dead(portal: str) -> str:
    return prefix(portal) + "dead"


def letters(portal: str) -> str:
    return prefix(portal) + "letters"


def rate_limit(portal: str) -> str:
    return prefix(portal) + "rate_limit"


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


def counts(portal: str, name: str) -> str:
    return f"{prefix(portal)}counts:{name}"


def open_jobs(portal: str) -> str:
    return prefix(portal) + "open"


def concluding(portal: str, job: str) -> str:
    return f"{prefix(portal)}concluding:{job}"


def bell(portal: str) -> str:
    return prefix(portal) + "bell"
