"""Tests of the relay that other tests use to break connections."""

from time import monotonic

import psycopg2
import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from realestate.embedded.server import free_port
from tests.relay import Line


def impatient(url: str, **options: float) -> Redis:
    return Redis.from_url(url, retry=Retry(NoBackoff(), 0), **options)


def test_a_reply_is_lost_after_the_command_was_executed(redis_url: str, server: Redis) -> None:
    with Line(redis_url) as line, impatient(line.url) as client:
        client.ping()
        line.lose_reply_to(b"INCR")
        assert client.set("other", 1)
        assert not line.lost.is_set()
        with pytest.raises(RedisConnectionError):
            client.incr("n")
        assert line.lost.is_set()
        assert server.get("n") == b"1"
        assert client.incr("n") == 2, "new connections work"


def test_the_word_may_be_at_the_beginning_of_a_long_command(store_url: str) -> None:
    with Line(store_url) as line:
        connection = psycopg2.connect(line.url)
        line.lose_reply_to(b"octet_length")
        with connection.cursor() as cursor, pytest.raises(psycopg2.OperationalError):
            cursor.execute("SELECT octet_length(%s)", ("x" * 1_000_000,))
        assert line.lost.is_set()
        connection.close()


def test_held_data_arrive_when_they_are_released(redis_url: str, server: Redis) -> None:
    with Line(redis_url) as line, impatient(line.url, socket_timeout=0.2) as client:
        client.ping()
        line.hold()
        with pytest.raises(RedisTimeoutError):
            client.set("held", 1)
        assert server.get("held") is None
        line.release()
        assert client.ping()


def test_cut_connections_are_broken_and_new_ones_work(store_url: str) -> None:
    with Line(store_url) as line:
        connection = psycopg2.connect(line.url)
        line.cut()
        with connection.cursor() as cursor, pytest.raises(psycopg2.OperationalError):
            cursor.execute("SELECT pg_sleep(60)")
        connection.close()
        psycopg2.connect(line.url).close()


def test_the_delay_can_be_changed_at_any_time(redis_url: str) -> None:
    with Line(redis_url) as line, impatient(line.url) as client:
        client.ping()
        line.delay_seconds = 0.05
        began = monotonic()
        client.ping()
        assert monotonic() - began >= 0.05


def test_a_missing_server_is_a_broken_connection() -> None:
    nobody = f"redis://127.0.0.1:{free_port()}/0"
    with Line(nobody) as line, impatient(line.url) as client, pytest.raises(RedisConnectionError):
        client.ping()
