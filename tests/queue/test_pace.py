import pytest

from realestate.queue.pace import Pace


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({}, "free"),
        ({b"rate": b"2"}, "2/s"),
        ({b"rate": b"2", b"factor": b"0.25", b"reason": b"status 429"}, "0.5/s: status 429"),
        ({b"rate": b"2", b"blocked_until": b"31000", b"reason": b"status 503"}, "blocked 30 s: status 503"),
        ({b"rate": b"2", b"blocked_until": b"500"}, "2/s"),
        ({b"rate": b"2", b"floor": b"5000"}, "0.2/s: Crawl-delay"),
        ({b"rate": b"0.1", b"floor": b"5000"}, "0.1/s"),
        ({b"rate": b"2", b"paused": b"1", b"blocked_until": b"31000"}, "paused"),
    ],
)
def test_the_pace_says_how_fast_and_why(told: dict[bytes, bytes], words: str) -> None:
    assert str(Pace.read(told, now_ms=1000)) == words
