"""The text that describes a rate limit."""

import pytest

from realestate.queue.rate_limit import RateLimit


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        ({}, "no limit"),
        ({b"factor": b"0.5", b"reason": b"ban page: captcha"}, "no limit: ban page: captcha"),
        ({b"rate": b"2"}, "2/s"),
        ({b"rate": b"2", b"factor": b"0.25", b"reason": b"status 429"}, "0.5/s: status 429"),
        ({b"rate": b"2", b"blocked_until": b"31000", b"reason": b"status 503"}, "blocked 30 s: status 503"),
        ({b"rate": b"2", b"blocked_until": b"500"}, "2/s"),
        ({b"rate": b"2", b"crawl_delay": b"5000"}, "0.2/s: Crawl-delay"),
        ({b"rate": b"0.1", b"crawl_delay": b"5000"}, "0.1/s"),
        ({b"rate": b"2", b"paused": b"1", b"blocked_until": b"31000"}, "paused"),
    ],
)
def test_the_text_shows_the_rate_and_the_reason(stored: dict[bytes, bytes], text: str) -> None:
    assert str(RateLimit.read(stored, now_ms=1000)) == text
