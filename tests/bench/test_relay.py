import gc
from time import monotonic

from redis import Redis

from bench.rig.relay import Relay


def test_commands_sent_together_are_one_round_trip(redis_url: str, server: Redis) -> None:
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


def test_data_through_the_relay_take_the_delay(redis_url: str) -> None:
    """Not a speed: a lower bound that the delay itself guarantees."""
    with Relay(redis_url, delay_seconds=0.02) as relay, Redis.from_url(relay.url) as client:
        client.ping()
        began = monotonic()
        for number in range(5):
            client.set("order", number)
        assert monotonic() - began >= 0.1
        assert client.get("order") == b"4"


def test_open_clients_do_not_prevent_the_stop(redis_url: str) -> None:
    with Relay(redis_url) as relay:
        clients = [Redis.from_url(relay.url) for _ in range(3)]
        assert all(client.ping() for client in clients)
    for client in clients:
        client.close()


def test_the_relay_can_be_stopped_while_a_client_disconnects(redis_url: str) -> None:
    """In any order of the two, no connection is left open. That would be a warning, and warnings are errors here."""
    for _ in range(200):
        with Relay(redis_url) as relay, Redis.from_url(relay.url) as client:
            assert client.ping()
    gc.collect()
