"""The line that tests break."""

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


def test_an_answer_is_lost_after_the_deed(redis_url: str, server: Redis) -> None:
    with Line(redis_url) as line, impatient(line.url) as client:
        client.ping()
        line.lose_an_answer_to(b"INCR")
        assert client.set("other", 1)
        assert not line.lost.is_set()
        with pytest.raises(RedisConnectionError):
            client.incr("n")
        assert line.lost.is_set()
        assert server.get("n") == b"1"
        assert client.incr("n") == 2, "new lines are whole"


def test_the_word_may_stand_at_the_beginning_of_a_long_command(store_url: str) -> None:
    with Line(store_url) as line:
        connection = psycopg2.connect(line.url)
        line.lose_an_answer_to(b"octet_length")
        with connection.cursor() as cursor, pytest.raises(psycopg2.OperationalError):
            cursor.execute("SELECT octet_length(%s)", ("x" * 1_000_000,))
        assert line.lost.is_set()
        connection.close()


def test_what_is_held_arrives_when_it_is_released(redis_url: str, server: Redis) -> None:
    with Line(redis_url) as line, impatient(line.url, socket_timeout=0.2) as client:
        client.ping()
        line.hold()
        with pytest.raises(RedisTimeoutError):
            client.set("held", 1)
        assert server.get("held") is None
        line.release()
        assert client.ping()


def test_cut_lines_are_broken_and_new_ones_whole(store_url: str) -> None:
    with Line(store_url) as line:
        connection = psycopg2.connect(line.url)
        line.cut()
        with connection.cursor() as cursor, pytest.raises(psycopg2.OperationalError):
            cursor.execute("SELECT pg_sleep(60)")
        connection.close()
        psycopg2.connect(line.url).close()


def test_the_way_may_grow_long_at_any_time(redis_url: str) -> None:
    with Line(redis_url) as line, impatient(line.url) as client:
        client.ping()
        line.delay_seconds = 0.05
        began = monotonic()
        client.ping()
        assert monotonic() - began >= 0.05


def test_a_server_that_is_not_there_shows_as_a_broken_line() -> None:
    nobody = f"redis://127.0.0.1:{free_port()}/0"
    with Line(nobody) as line, impatient(line.url) as client, pytest.raises(RedisConnectionError):
        client.ping()
