"""Real servers: each test process has a Redis, a PostgreSQL and a MongoDB, each test an empty database."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import hypothesis
import psycopg2
import pytest
from pymongo import MongoClient
from redis import Redis
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from realestate import embedded
from realestate.storage.postgres import PostgresStore
from tests import mongodb
from tests.redis_process import RedisProcess
from tests.web.browser import SKIPPED as NO_BROWSER

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # The tests run in the background: the processes that they start would ignore Ctrl-C too.
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: A file system in memory. On a disk, the databases of the tests would wait for it at each commit.
MEMORY = Path("/dev/shm")
#: What the tests' files need there at most.
MEMORY_BYTES = 4 << 30


def has_room_in_memory() -> bool:
    if not (MEMORY.is_dir() and os.access(MEMORY, os.W_OK)):
        return False
    found = os.statvfs(MEMORY)
    return not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize >= MEMORY_BYTES


if has_room_in_memory():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

#: No limit for the time of one example: it depends on the machine.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first: a long file that starts last would run alone while the other processes wait."""
    items.sort(key=lambda item: "end_to_end" not in item.path.parts)


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[embedded.Services]:
    with embedded.services(tmp_path_factory.mktemp("services")) as running:
        yield running


@pytest.fixture
def redis_url(services: embedded.Services) -> str:
    return services.redis_url


@pytest.fixture
def server(redis_url: str) -> Iterator[Redis]:
    """An empty Redis."""
    client = Redis.from_url(redis_url)
    client.flushall()
    yield client
    client.close()


@pytest.fixture
def redis_process(tmp_path: Path) -> Iterator[RedisProcess]:
    """A Redis only for this test, not started yet."""
    process = RedisProcess(tmp_path)
    yield process
    process.stop()


@contextmanager
def empty_database(server_url: str, template: str = "template1") -> Iterator[str]:
    """The address of a copy of `template`, by default an empty database. It is dropped afterwards."""
    name = f"test_{uuid4().hex[:12]}"
    connection = psycopg2.connect(server_url)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        yield address_of(server_url, name)
        cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")
    connection.close()


def address_of(server_url: str, database: str) -> str:
    return urlsplit(server_url)._replace(path=f"/{database}").geturl()


@cache
def migrated_template(server_url: str) -> str:
    """The name of a database with all tables and no rows. Copying it takes a fifth of the time of a migration."""
    name = "migrated"
    with closing(psycopg2.connect(server_url)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
    with closing(PostgresStore(address_of(server_url, name))) as store:
        store.migrate()
    return name


@contextmanager
def migrated_database(server_url: str) -> Iterator[str]:
    """The address of a database with all tables and no rows. It is dropped afterwards."""
    with empty_database(server_url, migrated_template(server_url)) as url:
        yield url


@pytest.fixture
def store_url(services: embedded.Services, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a database with all tables and no rows; with the mark `empty_database`, without tables."""
    is_empty = request.node.get_closest_marker("empty_database") is not None
    with (empty_database if is_empty else migrated_database)(services.store_url) as url:
        yield url


@pytest.fixture
def second_store_url(services: embedded.Services) -> Iterator[str]:
    """A second database with all tables and no rows."""
    with migrated_database(services.store_url) as url:
        yield url


@pytest.fixture
def store(store_url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(store_url)
    store.migrate()
    yield store
    store.close()


@pytest.fixture(scope="session")
def mongodb_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with mongodb.skipped_without_server(), mongodb.server(tmp_path_factory.mktemp("mongodb")) as url:
        yield url


@contextmanager
def empty_mongo_database(server_url: str) -> Iterator[str]:
    """The address of an empty MongoDB database, which is dropped afterwards."""
    name = f"test_{uuid4().hex[:12]}"
    yield mongodb.with_database(server_url, name)
    with MongoClient[Any](server_url) as client:
        client.drop_database(name)


@pytest.fixture
def mongodb_url(mongodb_server: str) -> Iterator[str]:
    with empty_mongo_database(mongodb_server) as url:
        yield url


@pytest.fixture
def second_mongodb_url(mongodb_server: str) -> Iterator[str]:
    """A second empty database."""
    with empty_mongo_database(mongodb_server) as url:
        yield url


@pytest.fixture
def mongo_process(tmp_path: Path) -> Iterator[mongodb.MongoProcess]:
    """A MongoDB only for this test, not started yet."""
    with mongodb.skipped_without_server():
        process = mongodb.MongoProcess(tmp_path)
    yield process
    process.stop()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests of MongoDB were skipped: a whole store that was not tested must not look like success."""
    skipped = sum(mongodb.SKIPPED in str(report.longrepr) for report in terminalreporter.getreports("skipped"))
    if skipped:
        line = f"TESTS OF MONGODB THAT DID NOT RUN: {skipped}. Set MONGODB_URI, or put mongod or go on the PATH."
        terminalreporter.write_line(line, red=True, bold=True)
    skipped = sum(NO_BROWSER in str(report.longrepr) for report in terminalreporter.getreports("skipped"))
    if skipped:
        line = f"TESTS IN A BROWSER THAT DID NOT RUN: {skipped}. Install chromium: apt-get install chromium"
        terminalreporter.write_line(line, red=True, bold=True)


@pytest.fixture
def sql(store_url: str) -> Iterator[Callable[..., list[tuple[Any, ...]]]]:
    """Run SQL in the test's database directly, not through the store."""
    connection = psycopg2.connect(store_url)
    connection.autocommit = True

    def ask(statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    yield ask
    connection.close()


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """A real S3 API on this machine."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of that API. Processes that the test starts use it too."""
    import boto3

    variables = {
        "AWS_ENDPOINT_URL": s3_endpoint,
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "NO_PROXY": "127.0.0.1",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return boto3.client("s3")


@pytest.fixture
def bucket(s3: Any) -> str:
    """The name of an empty bucket."""
    name = f"pages-{uuid4().hex[:12]}"
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    return name


@pytest.fixture
def make_crawler() -> Callable[..., Crawler]:
    """A crawler with the project's settings, its stats ready, nothing running."""

    def make(spidercls: Any, **changes: Any) -> Crawler:
        settings = Settings()
        settings.setmodule("realestate.settings", priority="project")
        settings.setdict({"TWISTED_REACTOR_ENABLED": False, "ASYNCIO_EVENT_LOOP": None, **changes}, priority="cmdline")
        crawler = Crawler(spidercls, settings)
        crawler._apply_settings()
        return crawler

    return make
