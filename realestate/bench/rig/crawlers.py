"""Those who crawl for a measure: ours as it is shipped, and its peers."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import msgspec

from realestate import settings
from realestate.bench.peers import stock
from realestate.bench.peers.task import Task
from realestate.bench.rig.context import Context
from realestate.bench.rig.database import Database
from realestate.bench.rig.race import DoesNotCount, Lap, Watch
from realestate.bench.rig.site import Site
from realestate.demo import compare_stored
from realestate.embedded import children
from realestate.embedded.poll import until
from realestate.jobs import local
from realestate.jobs.fleet import look
from realestate.jobs.submit import submit
from realestate.jobs.work import seed_urls

START_SECONDS = 60.0
#: A peer that has crawled everything and does not end is not waited for.
STOP_SECONDS = 20.0


class Ours:
    """`scrapy crawl <portal>` with the shipped settings; `overrides` are all that is told otherwise."""

    def __init__(self, context: Context, database: Database, site: Site, **pace: str) -> None:
        self.context, self.database, self.site = context, database, site
        self.overrides = {
            "SCRAPY_SETTINGS_MODULE": "realestate.settings",
            "REALESTATE_HOME": str(context.folder / "home"),
            "REDIS_URL": context.services.redis_url,
            "STORE_URL": database.url,
            "SIMULATOR_URL": site.simulator,
            "PACE_RATE": "0",
            "no_proxy": "127.0.0.1",
            **pace,
        }

    def run(self, workers: int = 1, *options: str) -> Lap:
        """From nothing queued and nothing stored. `options` are further ones of the command."""
        self.context.empty()
        self.database.empty()
        portal, server = self.site.portal, self.context.server
        command = [sys.executable, "-m", "scrapy", "crawl", portal, *options]
        env, log = settings.environment(**self.overrides), self.context.folder / "ours.log"
        processes = [children.spawn(command, env=env, log=log) for _ in range(workers)]
        try:
            if not until(lambda: len(look(server, portal).workers) == workers, START_SECONDS):
                raise DoesNotCount(f"ours did not start: {last_words(log)}")
            watch = Watch(self.site, processes, self._stored)
            submit(server, portal, seed_urls(portal, self.site.simulator))
            lap = watch.until(lambda: look(server, portal).finished)
        finally:
            children.stop(processes, local.STOP_SECONDS)
        self._check()
        return lap

    def _stored(self) -> int:
        return self.database.count("listings")

    def _check(self) -> None:
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
    """Without it there is nothing to measure."""
    stores: bool = False

    @property
    def is_there(self) -> bool:
        return find_spec(self.package) is not None

    def run(self, context: Context, database: Database, site: Site) -> Lap:
        context.empty()
        stored: Callable[[], int] | None = None
        if self.stores:
            stock.create_table(database.url, site.portal)
            stored = lambda: database.count(stock.TABLE)  # noqa: E731
        refs, log = context.folder / "refs.json", context.folder / f"{self.module}.log"
        refs.unlink(missing_ok=True)
        process = children.spawn(
            self._command(context, database, site, refs), env=settings.environment(no_proxy="127.0.0.1"), log=log
        )
        try:
            lap = Watch(site, [process], stored).until(refs.exists)
        finally:
            children.stop([process], STOP_SECONDS)
        self._check(site, refs, log)
        return lap

    def _command(self, context: Context, database: Database, site: Site, refs: Path) -> list[str]:
        task = Task(
            portal=site.portal,
            base=site.base,
            refs=str(refs),
            redis_url=context.services.redis_url,
            store_url=database.url,
        )
        module = f"realestate.bench.peers.{self.module}"
        return [sys.executable, "-m", module, msgspec.json.encode(task).decode()]

    def _check(self, site: Site, refs: Path, log: Path) -> None:
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
CEILING = Peer("bare aiohttp + selectolax: the ceiling", "bare", "aiohttp")
