"""The story of a user of docker-compose.yaml: the demo, a fleet that grows and shrinks, and what goes wrong meanwhile.

The compose file is used as it is. For the fleet, the simulator is put into the network `outside` by hand: there it
stands for the portals of the internet, which no test may reach.
"""

import json
import shutil
import time
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

from redis import Redis

from realestate.web.keys import new_key
from tests.containers.commands import CheckFailed, expect, run, say, until
from tests.containers.engine import Engine

ROOT = Path(__file__).parents[2]
PROJECT = "realestatecheck"
REDIS_PASSWORD = "check-redis"
#: What runs beside the workers after `up -d`.
#: A key of the web app, and its entry in API_KEYS.
API_KEY = new_key("check", "read")
ROLES = ("worker", "timetable", "watch", "searches", "web")
PORTALS = ("bina", "emlak", "immoweb", "lalafo", "tap")
#: Prints one line of JSON per portal: what the store has, compared with the truth.
COMPARE = """
import json
from contextlib import closing
from realestate import settings
from realestate.demo.truth import compare_stored
from realestate.storage import open_store
with closing(open_store(settings.STORE_URL)) as store:
    for portal in %r:
        it = compare_stored(store, settings.SIMULATOR_URL, portal)
        print(json.dumps({"portal": portal, "expected": it.expected, "stored": it.stored, "right": it.right,
                          "missing": len(it.missing), "wrong": it.wrong[:2], "duplicates": it.duplicates}))
"""


class Story:
    def __init__(self, engine: Engine, folder: Path, redis_port: int, web_port: int, listings: int) -> None:
        self.engine = engine
        self.folder = folder
        self.redis_port = redis_port
        self.web_port = web_port
        self.listings = listings

    def prepare(self) -> None:
        """A copy of what the repository has, with an .env as a user writes it."""
        files = run(["git", "ls-files", "-z"], cwd=ROOT).split("\0")
        for name in filter(None, files):
            target = self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
        (self.folder / ".env").write_text(
            "\n".join(
                [
                    "POSTGRES_PASSWORD=check-postgres",
                    f"REDIS_PASSWORD={REDIS_PASSWORD}",
                    "REDIS_WORKER_PASSWORD=check-worker",
                    "REDIS_EXPORTER_PASSWORD=check-exporter",
                    f"REDIS_PORT={self.redis_port}",
                    f"WEB_PORT={self.web_port}",
                    f"API_KEYS={API_KEY[1]}",
                    f"DEMO_LISTINGS={self.listings}",
                    "WORKERS=2",
                    "SIMULATOR_URL=http://simulator:8800",
                    "SNAPSHOTS_SAMPLE=1",
                    "RATE_LIMIT=40",
                ]
            ),
            "utf-8",
        )

    # ----- what a user types

    def compose(self, *words: str, timeout: float = 600, check: bool = True) -> str:
        command = ("compose", "--project-name", PROJECT, *words)
        return self.engine.docker(*command, cwd=self.folder, timeout=timeout, check=check)

    def inside(self, service: str, *words: str, check: bool = True) -> str:
        return self.compose("exec", "-T", service, *words, check=check, timeout=180)

    def redis(self, database: int = 0) -> "Redis":
        """As `redis-cli` on this machine, through the published port."""
        return Redis(port=self.redis_port, db=database, password=REDIS_PASSWORD, decode_responses=True)

    def containers(self, service: str) -> list[dict[str, Any]]:
        lines = self.compose("ps", "--all", "--format", "json", service, check=False).splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def running(self, service: str) -> int:
        return sum(each["State"] == "running" for each in self.containers(service))

    def is_healthy(self, service: str) -> bool:
        containers = self.containers(service)
        return bool(containers) and all(each["Health"] == "healthy" for each in containers)

    def stored(self, service: str) -> list[dict[str, Any]]:
        printed = self.inside(service, "python", "-c", COMPARE % (PORTALS,), check=False)
        return [json.loads(line) for line in printed.splitlines() if line.startswith("{")]

    def is_complete(self, service: str) -> bool:
        rows = self.stored(service)
        return len(rows) == len(PORTALS) and all(row["stored"] >= row["expected"] for row in rows)

    def expect_truth(self, service: str, what: str) -> None:
        rows = self.stored(service)
        wrong = [row for row in rows if not row["right"]]
        expect(len(rows) == len(PORTALS) and not wrong, f"{what}: the store equals the truth {wrong or ''}".strip())

    # ----- the story

    def build(self) -> None:
        """Once by hand: Debian's engine has no BuildKit, and Compose would build the image of each service anew."""
        self.engine.docker("build", "--file", "docker/Dockerfile", "--tag", "check", ".", cwd=self.folder, timeout=1500)
        self.compose("--profile", "demo", "build", timeout=600)
        say("the image is built from docker/Dockerfile")

    def demo(self) -> None:
        printed = self.compose("up", "demo", timeout=600)
        expect("exited with code 0" in printed, "`docker compose up demo` ends with 0")
        expect(self.running("worker") == 0, "the demo starts no idle worker of the fleet")
        until(lambda: self.is_complete("demo-worker"), "the crawl of the demo", 400, every=5)
        self.expect_truth("demo-worker", "demo")
        jobs = self._jobs("demo-worker")
        self.compose("start", "demo", timeout=120)
        until(lambda: self.running("demo") == 0, "the second run of the one-shot service", 120)
        expect(self._jobs("demo-worker") == jobs, "a second start submits nothing")
        self.compose("stop", "demo-worker", "demo", timeout=120)

    def _jobs(self, service: str) -> int:
        return len(json.loads(self.inside(service, "realestate", "jobs", "list", "--json")))

    def fleet(self) -> None:
        """The fleet of three, its seeds by both ways, and the commands of the README."""
        self.compose("up", "-d", "--scale", "worker=3", timeout=300)
        simulator = self.containers("simulator")[0]["ID"]
        self.engine.docker("network", "connect", "--alias", "simulator", f"{PROJECT}_outside", simulator)
        expect(self.running("worker") == 3, "three workers run")
        for service in ROLES:
            until(lambda service=service: self.is_healthy(service), f"{service} to be healthy", 400, every=5)  # type: ignore[misc]
        say(f"ok: {', '.join(ROLES)} are healthy")
        with build_opener(ProxyHandler({})).open(f"http://127.0.0.1:{self.web_port}/", timeout=20) as page:
            expect("<html" in page.read().decode(), "the pages are at the published port of this machine")
        portals = json.loads(self._from_simulator("/_portals"))
        search = self._seeds("immoweb")
        with self.redis() as server:
            server.lpush("immoweb:start_urls", *search)
            server.lpush("immoweb:start_urls", "http://169.254.169.254/latest/meta-data")
        for portal in PORTALS:
            if portal != "immoweb":
                url = ["redis-cli", "lpush", f"{portal}:start_urls", *self._seeds(portal)]
                self.inside("redis", *url)
        say(f"seeds are pushed for {', '.join(portals)}")
        listed = self.inside("worker", "scrapy", "list")
        expect(set(PORTALS) <= set(listed.split()), "`scrapy list` works in a worker")
        expect("immoweb" in self.inside("worker", "realestate", "status"), "`realestate status` works in a worker")
        letters = ["realestate", "deadletters", "list", "immoweb", "--json"]
        until(lambda: "169.254" in self.inside("worker", *letters, check=False), "the dead letter of the bad seed", 60)
        say("ok: the bad seed is a dead letter")

    def _from_simulator(self, path: str) -> str:
        code = f"import urllib.request as web; print(web.urlopen('http://127.0.0.1:8800{path}').read().decode())"
        return self.inside("simulator", "python", "-c", code)

    def _seeds(self, portal: str) -> list[str]:
        code = (
            "from realestate import settings; from realestate.jobs.work import seed_urls;"
            f"print(*seed_urls({portal!r}, settings.SIMULATOR_URL))"
        )
        return self.inside("worker", "python", "-c", code).split()

    def trouble(self) -> None:
        """Scale, kill and restart while the fleet crawls, then compare."""
        until(lambda: sum(row["stored"] for row in self.stored("worker")) > 20, "the first listings", 120)
        self.compose("up", "-d", "--scale", "worker=1", timeout=180)
        expect(self.running("worker") == 1, "scaled down to one")
        self.compose("up", "-d", "--scale", "worker=4", timeout=180)
        expect(self.running("worker") == 4, "scaled up to four")
        victim = next(each["ID"] for each in self.containers("worker") if each["State"] == "running")
        self.engine.docker("kill", victim)
        say("a worker is killed")
        self.compose("restart", "redis", timeout=120)
        say("Redis is restarted")
        self.compose("stop", "postgres", timeout=120)
        time.sleep(5)
        expect("FAULT  store" in self._health(), "a worker without a store is unhealthy")
        self.compose("start", "postgres", timeout=120)
        say("PostgreSQL was stopped and started")
        until(lambda: self.is_complete("worker"), "the crawl of the fleet", 500, every=5)
        self.expect_truth("worker", "fleet")

    def _health(self) -> str:
        ids = [each["ID"] for each in self.containers("worker") if each["State"] == "running"]
        command = ("realestate", "health", "--role", "worker")
        return self.engine.docker("exec", ids[0], *command, check=False, timeout=120)

    def afterwards(self) -> None:
        pages = self.compose(
            "run",
            "--rm",
            "-T",
            "--no-deps",
            "worker",
            "realestate",
            "reparse",
            "--portal",
            "immoweb",
            "--dry-run",
            timeout=300,
        )
        expect(
            any(word.isdigit() and int(word) > 0 for word in pages.split()),
            f"another container reads the raw pages: {pages.strip()[-150:]}",
        )
        self._confined()
        began = time.monotonic()
        self.compose("stop", "worker", timeout=180)
        seconds = time.monotonic() - began
        codes = {each["ExitCode"] for each in self.containers("worker")} - {137}
        expect(seconds < 60 and codes <= {0}, f"`docker compose stop` drains within the grace period ({seconds:.0f} s)")
        self.compose("up", "-d", timeout=180)
        expect(self.running("worker") == 2, "plain `up -d` has the number of workers of .env")
        self.compose("up", "-d", "--scale", "scraper=2", timeout=180)
        expect(self.running("scraper") == 2, "the workers have the other name `scraper` too")
        self.expect_truth("worker", "after the restart")

    def _confined(self) -> None:
        """What a worker's container may not do."""
        expect(self.inside("worker", "id", "-u").strip() == "10001", "the workers are not root")
        touched = self.inside("worker", "touch", "/opt/realestate/x", check=False)
        expect("Read-only" in touched, "the root file system is read-only")
        expect("no such" in self.inside("worker", "sh", "-c", "command -v cc gcc || echo no such"), "no compiler")
        code = "import redis; from realestate import settings; redis.Redis.from_url(settings.REDIS_URL).flushall()"
        expect(
            "NoPermission" in self.inside("worker", "python", "-c", code, check=False), "a worker may not flush Redis"
        )

    def tell(self) -> None:
        """Print what the containers wrote, after a failure."""
        raise_from = self.compose("--profile", "demo", "ps", "--all", check=False)
        logs = self.compose("--profile", "demo", "logs", "--tail", "15", "--no-color", check=False)
        print(raise_from, logs, sep="\n", flush=True)

    def down(self) -> None:
        self.compose("--profile", "demo", "down", "--volumes", "--timeout", "5", check=False, timeout=300)


def play(story: Story, *, short: bool) -> None:
    try:
        story.build()
        story.demo()
        if not short:
            story.fleet()
            story.trouble()
            story.afterwards()
    except (CheckFailed, OSError):
        story.tell()
        raise
    finally:
        story.down()
