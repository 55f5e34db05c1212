import gc
from time import monotonic

from redis import Redis

from bench.rig.relay import Relay


def test_what_is_sent_together_is_one_round_trip(redis_url: str, server: Redis) -> None:
    with Relay(redis_url) as relay, Redis.from_url(relay.url) as client:
        client.ping()
        before = relay.round_trips
        for number in range(3):
            client.set(f"k{number}", b"x" * 300_000)
        with client.pipeline() as pipe:
            for number in range(50):
                pipe.incr(f"n{number}")
            pipe.execute()
        assert relay.round_trips - before == 4
    assert server.dbsize() == 53


def test_the_way_through_it_takes_the_delay(redis_url: str) -> None:
    """Not a speed: a lower bound that the delay itself guarantees."""
    with Relay(redis_url, delay_seconds=0.02) as relay, Redis.from_url(relay.url) as client:
        client.ping()
        began = monotonic()
        for number in range(5):
            client.set("order", number)
        assert monotonic() - began >= 0.1
        assert client.get("order") == b"4"


def test_clients_left_open_do_not_hold_it(redis_url: str) -> None:
    with Relay(redis_url) as relay:
        clients = [Redis.from_url(relay.url) for _ in range(3)]
        assert all(client.ping() for client in clients)
    for client in clients:
        client.close()


def test_it_can_be_stopped_in_the_moment_a_client_hangs_up(redis_url: str) -> None:
    """However the two fall together, no connection is left behind: that would be a warning, which is an error here."""
    for _ in range(200):
        with Relay(redis_url) as relay, Redis.from_url(relay.url) as client:
            assert client.ping()
    gc.collect()
