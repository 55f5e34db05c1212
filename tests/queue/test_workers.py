from redis import Redis

from realestate.queue import keys
from realestate.queue.workers import SILENT_SECONDS, Beat, Workers


def test_a_beat_is_stamped_by_redis_and_heard(server: Redis) -> None:
    workers = Workers(server, "bina")
    before = workers.clock()
    workers.beat("w1", Beat(pages=3, in_work=1))
    (beat,) = workers.alive().values()
    assert before <= beat.at <= workers.clock()
    assert (beat.pages, beat.idle) == (3, False)


def test_who_leaves_or_falls_silent_is_forgotten(server: Redis) -> None:
    workers = Workers(server, "bina")
    workers.beat("leaves", Beat())
    workers.beat("stays", Beat())
    workers.leave("leaves")
    silent = f'{{"at": {workers.clock() - SILENT_SECONDS - 1}}}'
    server.hset(keys.workers("bina"), "silent", silent)
    server.hset(keys.workers("bina"), "garbled", "not json")
    assert set(workers.alive()) == {"stays"}
    assert not server.hexists(keys.workers("bina"), "silent")
