"""The crawlers that are measured: ours as it is shipped, and its peers."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from subprocess import Popen

import msgspec
from redis import Redis

from bench import DoesNotCount
from bench.peers import stock
from bench.peers.task import Task
from bench.rig.context import Context
from bench.rig.database import Database
from bench.rig.race import Lap, Watch
from bench.rig.site import Site
from realestate import environment
from realestate.demo.truth import compare_stored
from realestate.embedded import children
from realestate.embedded.poll import until
from realestate.jobs import local
from realestate.jobs.fleet import look
from realestate.jobs.submit import submit
from realestate.jobs.work import seed_urls

START_SECONDS = 60.0
#: A peer that has crawled everything and does not end is stopped after this time.
STOP_SECONDS = 20.0


class Ours:
    """`scrapy crawl <portal>` with the shipped settings, except for `overrides` and `changes`."""

    def __init__(
        self, context: Context, database: Database, site: Site, redis_url: str | None = None, **changes: str
    ) -> None:
        self.context = context
        self.database = database
        self.site = site
        self.redis_url = redis_url or context.services.redis_url
        self.server = Redis.from_url(self.redis_url)
        self.overrides = {
            "SCRAPY_SETTINGS_MODULE": "realestate.settings",
            "REALESTATE_HOME": str(context.folder / "home"),
            "REDIS_URL": self.redis_url,
            "STORE_URL": database.url,
            "SIMULATOR_URL": site.simulator,
            "RATE_LIMIT": "0",
            "no_proxy": "127.0.0.1",
            **changes,
        }

    def run(self, workers: int = 1, *options: str) -> Lap:
        """Crawl the whole portal and check what was stored. `options` are added to the command."""
        self.begin()
        with self.working(workers, *options) as processes:
            watch = Watch(self.site, processes, self.stored)
            self.submit()
            lap = watch.until(self.is_over)
        self.check()
        return lap

    def begin(self) -> None:
        """Empty the queue and the store."""
        self.server.flushdb()
        self.database.empty()

    @contextmanager
    def working(self, workers: int = 1, *options: str) -> Iterator[list[Popen[bytes]]]:
        """Workers that have started; they are stopped afterwards."""
        log = self.context.folder / "ours.log"
        processes = [self.start(log, *options) for _ in range(workers)]
        try:
            if not until(lambda: len(look(self.server, self.site.portal).workers) >= workers, START_SECONDS):
                raise DoesNotCount(f"ours did not start: {last_words(log)}")
            yield processes
        finally:
            children.stop(processes, local.STOP_SECONDS)

    def start(self, log: Path, *options: str) -> Popen[bytes]:
        command = [sys.executable, "-m", "scrapy", "crawl", self.site.portal, *options]
        return children.spawn(command, env=environment.changed(**self.overrides), log=log)

    def submit(self) -> None:
        submit(self.server, self.site.portal, seed_urls(self.site.portal, self.site.simulator))

    def is_over(self) -> bool:
        return look(self.server, self.site.portal).finished

    def stored(self) -> int:
        return self.database.count("listings", self.site.portal)

    def close(self) -> None:
        self.server.close()

    def check(self) -> None:
        found = compare_stored(self.database.store, self.site.simulator, self.site.portal)
        if not found.right:
            raise DoesNotCount(
                f"ours stored {found.stored} listings of {found.expected}: {len(found.missing)} missing, "
                f"{len(found.unexpected)} too many, {len(found.wrong)} fields wrong {', '.join(found.wrong[:3])}"
            )


@dataclass(frozen=True)
class Peer:
    name: str
    module: str
    package: str
    """The Python package that it needs."""
    stores: bool = False

    @property
    def is_there(self) -> bool:
        return find_spec(self.package) is not None

    def run(self, context: Context, database: Database, site: Site) -> Lap:
        context.empty()
        stored: Callable[[], int] | None = None
        if self.stores:
            stock.create_table(database.url, site.portal)
            stored = partial(database.count, stock.TABLE)
        refs = self._refs(context)
        refs.unlink(missing_ok=True)
        process = self.start(context, database, site)
        try:
            lap = Watch(site, [process], stored).until(refs.exists)
        except DoesNotCount as error:
            raise DoesNotCount(f"{self.name}: {error}; {last_words(self._log(context))}") from error
        finally:
            children.stop([process], STOP_SECONDS)
        self.check(site, refs, self._log(context))
        return lap

    def start(self, context: Context, database: Database, site: Site) -> Popen[bytes]:
        task = Task(
            portal=site.portal,
            base=site.base,
            refs=str(self._refs(context)),
            redis_url=context.services.redis_url,
            store_url=database.url,
        )
        module = f"bench.peers.{self.module}"
        command = [sys.executable, "-m", module, msgspec.json.encode(task).decode()]
        return children.spawn(command, env=environment.changed(no_proxy="127.0.0.1"), log=self._log(context))

    def _refs(self, context: Context) -> Path:
        return context.folder / "refs.json"

    def _log(self, context: Context) -> Path:
        return context.folder / f"{self.module}.log"

    def check(self, site: Site, refs: Path, log: Path) -> None:
        if not refs.exists():
            raise DoesNotCount(f"{self.name} failed: {last_words(log)}")
        yielded = msgspec.json.decode(refs.read_bytes(), type=list[str])
        if sorted(yielded) != sorted(site.refs):
            raise DoesNotCount(f"{self.name} yielded {len(set(yielded))} listings of {len(site.refs)}")


def last_words(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").strip().splitlines() if log.exists() else []
    return lines[-1] if lines else "it said nothing"


PLAIN = Peer("plain Scrapy", "plain", "scrapy")
PEERS = (
    Peer("scrapy-redis, an INSERT each", "stock", "scrapy_redis", stores=True),
    Peer("Crawlee", "crawlee", "crawlee"),
)
CEILING = Peer("the ceiling, bare aiohttp + selectolax", "bare", "aiohttp")
