"""PostgreSQL is restarted, away, not started yet, slow, killed, full or failed over, or its responses are lost: the
workers wait, and each listing is stored once."""

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg2
import pytest
from redis import Redis

from realestate.jobs.fleet import look
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import IN_BOTH_MODES_IF_SLOW, Simulate, Worker, until
from tests.end_to_end.site import (
    LISTINGS,
    PORTAL,
    SHORT_LEASE,
    SHORT_OUTAGE,
    WORK,
    Site,
    assert_all_live_and_stop,
    until_finished,
    worker_with,
)
from tests.postgres_process import Pair, PostgresProcess
from tests.relay import Line

#: A part of the statement that writes a batch.
WRITES = "INSERT INTO listings"
#: A worker that waits for the database tries again at least every second.
SHORT_WAITS = "realestate.pipelines.store.LONGEST_DELAY_SECONDS=1"
#: How long a worker that is stopped waits for the database.
SHORT_CLOSING = "realestate.pipelines.store.CLOSING_SECONDS=2"


@pytest.fixture(scope="module")
def shared_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresProcess]:
    process = PostgresProcess(tmp_path_factory.mktemp("postgres"))
    process.start()
    yield process
    process.stop()


@pytest.fixture
def postgres(shared_postgres: PostgresProcess) -> Iterator[PostgresProcess]:
    """A running PostgreSQL with its usual settings. A test may stop or change it."""
    yield shared_postgres
    shared_postgres.change()
    shared_postgres.restart()


@pytest.fixture
def url(postgres: PostgresProcess) -> str:
    name = f"test_{uuid4().hex[:12]}"
    postgres.ask(f"CREATE DATABASE {name}")
    return postgres.database(name)


@pytest.fixture
def site(simulate: Simulate, env: dict[str, str], url: str, tmp_path: Path) -> Iterator[Site]:
    store = PostgresStore(url)
    yield Site(simulate(LISTINGS), store, {**env, "STORE_URL": url}, tmp_path)
    store.close()


def waits(*workers: Worker) -> bool:
    return all("store/unavailable" in worker.text() for worker in workers)


def finish(site: Site, server: "Redis", workers: list[Worker]) -> None:
    until_finished(server)
    assert look(server, PORTAL).dead == 0
    assert_all_live_and_stop(workers)
    assert_stored_once(site)


def assert_stored_once(site: Site) -> None:
    """Check that each listing is stored once, with its one event."""
    site.assert_stored_once()
    events = [numbered.event for numbered in site.store.events(limit=10 * LISTINGS)]
    assert [event.type for event in events] == ["listed"] * LISTINGS
    assert len({event.ref for event in events}) == LISTINGS
    assert all(len(site.store.prices(PORTAL, event.ref)) == 1 for event in events)


def stored(site: Site) -> int:
    return site.store.counts().get(PORTAL, (0, 0))[0]


@pytest.mark.parametrize(
    ("seconds", "command", "acceleration"),
    [
        pytest.param(SHORT_OUTAGE, worker_with(SHORT_LEASE, SHORT_WAITS), "on", id="longer than a short lease"),
        pytest.param(
            SHORT_OUTAGE, worker_with(SHORT_LEASE, SHORT_WAITS), "off", id="accelerate off", marks=pytest.mark.slow
        ),
        pytest.param(60.0, WORK, "on", id="a minute, longer than a lease", marks=pytest.mark.slow),
    ],
    indirect=["acceleration"],
)
def test_nothing_is_lost_while_the_database_is_away(
    site: Site, server: "Redis", postgres: PostgresProcess, seconds: float, command: list[str]
) -> None:
    with site.workers(2, command) as workers:
        site.seed(server)
        site.until_the_middle(server)
        postgres.stop()
        time.sleep(seconds)
        assert waits(*workers)
        postgres.start()
        finish(site, server, workers)
    assert site.listings_asked_for() == LISTINGS, "the workers kept the fetched items, so no page is fetched again"


def test_a_worker_that_starts_before_the_database_waits_for_it_and_for_every_restart(
    site: Site, server: "Redis", postgres: PostgresProcess
) -> None:
    postgres.stop()
    with site.workers(1) as workers:
        site.seed(server)
        until(lambda: waits(*workers), "the worker to notice")
        postgres.start()
        site.until_the_middle(server)
        postgres.restart()
        finish(site, server, workers)
    assert site.listings_asked_for() == LISTINGS


@contextmanager
def locked(url: str, mode: str) -> Iterator[Any]:
    """Lock the table of listings. Yield the cursor that holds the lock."""
    connection = psycopg2.connect(url)
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE listings IN {mode} MODE")
            yield cursor
    finally:
        connection.close()


def writing(cursor: Any) -> bool:
    """Whether a batch is being written and waits for the lock."""
    cursor.execute("SELECT FROM pg_locks WHERE relation = 'listings'::regclass AND NOT granted")
    return bool(cursor.rowcount)


@IN_BOTH_MODES_IF_SLOW
def test_nothing_is_lost_when_the_database_is_killed_in_the_middle_of_batches(
    site: Site, server: "Redis", postgres: PostgresProcess, url: str
) -> None:
    with site.workers(2, RATE_LIMIT="20") as workers:
        site.seed(server)
        site.until_the_middle(server, after=10)
        for _ in range(4):
            with locked(url, "EXCLUSIVE") as cursor:
                until(partial(writing, cursor), "a batch under way")
                postgres.kill()
            postgres.start()
            time.sleep(random.uniform(0, 0.5))
            postgres.kill()
            postgres.start()
        assert waits(*workers)
        finish(site, server, workers)


@pytest.fixture
def line(url: str) -> Iterator[Line]:
    with Line(url) as line:
        yield line


@pytest.mark.parametrize(
    ("delay", "locked_for", "command"),
    [
        pytest.param(1.0, 5.0, worker_with(SHORT_LEASE), id="longer than a short lease"),
        pytest.param(3.0, 20.0, WORK, id="longer than a lease", marks=pytest.mark.slow),
    ],
)
def test_a_database_that_answers_after_seconds_or_is_locked_is_waited_for(
    site: Site, server: "Redis", line: Line, url: str, delay: float, locked_for: float, command: list[str]
) -> None:
    with site.workers(1, command, STORE_URL=line.url) as workers:
        site.seed(server)
        site.until_the_middle(server)
        line.delay_seconds = delay
        before = stored(site)
        with locked(url, "ACCESS EXCLUSIVE"):
            time.sleep(locked_for)
            assert not look(server, PORTAL).finished
        until(lambda: stored(site) > before, "a batch, slowly")
        line.delay_seconds = 0.0
        finish(site, server, workers)
        assert not waits(*workers), "slow is not away"


@IN_BOTH_MODES_IF_SLOW
def test_a_batch_whose_acknowledgement_is_lost_is_written_again_and_changes_nothing(
    site: Site, server: "Redis", line: Line
) -> None:
    with site.workers(1, STORE_URL=line.url, RATE_LIMIT="20") as workers:
        site.seed(server)
        site.until_the_middle(server, after=10)
        for _ in range(3):
            line.lose_reply_to(WRITES.encode())
            until(line.lost.is_set, "a lost reply")
            line.hold()
            (heartbeat,) = look(server, PORTAL).workers.values()
            assert stored(site) > heartbeat.stored, "the batch is committed and its acknowledgement is lost"
            line.release()
        finish(site, server, workers)
        assert waits(*workers)


def test_nothing_is_lost_when_others_take_all_connections(
    site: Site, server: "Redis", postgres: PostgresProcess
) -> None:
    postgres.change(max_connections=10)
    postgres.restart()
    with ExitStack() as running:
        with exhausted(postgres):
            workers = running.enter_context(site.workers(1))
            site.seed(server)
            until(lambda: waits(*workers), "the worker to notice")
        site.until_the_middle(server)
        with exhausted(postgres):
            before = workers[0].text().count("too many clients")
            until(lambda: workers[0].text().count("too many clients") > before, "the worker to notice")
        finish(site, server, workers)


@contextmanager
def exhausted(postgres: PostgresProcess) -> Iterator[None]:
    """Close all other connections and take all free ones."""
    with ExitStack() as taken:
        cursor = taken.enter_context(postgres.session())
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE client_port > 0 AND pid <> ALL (%s)"
        mine = [cursor.connection.info.backend_pid]
        while True:
            cursor.execute(others, (mine,))
            try:
                mine.append(taken.enter_context(postgres.session()).connection.info.backend_pid)
            except psycopg2.OperationalError:
                cursor.execute(others, (mine,))
                if not cursor.fetchall():
                    break
        yield


def test_a_synchronous_standby_takes_over_without_loss(
    simulate: Simulate, env: dict[str, str], server: "Redis", tmp_path: Path
) -> None:
    with Pair.running(tmp_path / "postgres") as pair:
        site = Site(simulate(LISTINGS), PostgresStore(pair.address), {**env, "STORE_URL": pair.address}, tmp_path)
        with site.workers(2) as workers:
            site.seed(server)
            site.until_the_middle(server)
            pair.primary.kill()
            until(lambda: waits(*workers), "the workers to notice")
            pair.standby.promote()
            finish(site, server, workers)
        assert pair.standby.ask("SELECT count(*) FROM listings") == [(LISTINGS,)]
        site.store.close()


def test_listings_that_a_lagging_standby_did_not_have_are_stored_by_the_next_job(
    simulate: Simulate, env: dict[str, str], server: "Redis", tmp_path: Path
) -> None:
    """They were acknowledged, so no worker fetches them again before that. See docs/operations.md."""
    with Pair.running(tmp_path / "postgres", synchronous=False) as pair:
        site = Site(simulate(LISTINGS), PostgresStore(pair.address), {**env, "STORE_URL": pair.address}, tmp_path)
        site.store.migrate()
        until(pair.has_caught_up, "the standby to have the tables")
        pair.line.hold()
        with site.workers(1) as workers:
            site.seed(server)
            site.until_the_middle(server)
            until(lambda: stored(site) > 10, "listings that the standby does not know")
            pair.primary.kill()
            pair.standby.promote()
            until_finished(server)
            site.store.close()
            assert stored(site) < LISTINGS
            assert "sweep/record_lost" in workers[0].text()
            site.seed(server)
            finish(site, server, workers)
        site.store.close()


#: A worker that stops fetching as soon as a few items wait for the database.
CAREFUL = worker_with(
    "STORE_WAITING_MAX=10",
    "STORE_BATCH_SIZE=5",
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE=100000",
    SHORT_WAITS,
    SHORT_CLOSING,
)


def stand_still(site: Site) -> bool:
    """Whether no request is made for some time."""
    before = site.requests()
    time.sleep(1)
    return site.requests() == before


def test_the_crawl_waits_for_a_slow_database(site: Site, server: "Redis", postgres: PostgresProcess) -> None:
    with site.workers(1, CAREFUL) as workers:
        site.seed(server)
        site.until_the_middle(server, after=10)
        postgres.stop()
        until(lambda: stand_still(site), "the crawl to wait")
        assert site.listings_asked_for() < LISTINGS // 2
        (heartbeat,) = look(server, PORTAL).workers.values()
        assert 10 < heartbeat.unstored <= 10 + 5 + 16, heartbeat
        postgres.start()
        finish(site, server, workers)


def test_a_stopped_worker_ends_although_the_crawl_waits_for_a_database_that_stays_away(
    site: Site, server: "Redis", postgres: PostgresProcess
) -> None:
    with site.workers(1, CAREFUL) as workers:
        site.seed(server)
        site.until_the_middle(server, after=10)
        postgres.stop()
        until(lambda: stand_still(site), "the crawl to wait")
        assert workers[0].stop() == 0
        state = look(server, PORTAL)
        assert (state.in_flight, state.workers, state.dead) == (0, {}, 0)
        assert not state.finished
        postgres.start()
        with site.workers(1) as others:
            finish(site, server, others)


def test_a_stopped_worker_ends_although_the_database_is_silent(site: Site, server: "Redis", line: Line) -> None:
    with site.workers(1, worker_with(SHORT_CLOSING), STORE_URL=line.url) as workers:
        site.seed(server)
        site.until_the_middle(server)
        line.hold()
        until(lambda: stand_still(site), "the crawl to have nothing to do")
        assert workers[0].stop() == 0
        state = look(server, PORTAL)
        assert (state.in_flight, state.workers, state.dead) == (0, {}, 0)
        with site.workers(1) as others:
            finish(site, server, others)
