"""The names of all keys in Redis.

| key                      | type | holds                                   | life                       |
|--------------------------|------|-----------------------------------------|----------------------------|
| `<portal>:start_urls`    | list | seeds: a bare URL or a JSON object      | until a worker takes them  |
| `{<portal>}:requests`    | zset | requests (msgpack) by minus priority    | until a worker takes them  |
| `{<portal>}:seen:<job>`  | set  | fingerprints of the job's requests      | DUPEFILTER_KEEP_SECONDS    |
| `{<portal>}:workers`     | hash | worker id -> its last heartbeat (JSON)  | while the worker beats     |
| `{<portal>}:deadletters` | list | what was given up, newest first (JSON)  | the newest DEADLETTERS_KEEP |

All but the seeds carry the hash tag `{<portal>}`, so that one script touches one slot of a Redis Cluster.
"""

#: scrapy-redis fills these two in itself, each with a name of its own for the portal.
START_URLS = "%(name)s:start_urls"
REQUESTS = "{%(spider)s}:requests"


def start_urls(portal: str) -> str:
    return START_URLS % {"name": portal}


def requests(portal: str) -> str:
    return REQUESTS % {"spider": portal}


def seen(portal: str, job: str) -> str:
    return f"{{{portal}}}:seen:{job}"


def workers(portal: str) -> str:
    return f"{{{portal}}}:workers"


def deadletters(portal: str) -> str:
    return f"{{{portal}}}:deadletters"
