"""What a robots.txt says, what other answers mean, and how long a site is left alone that cannot be asked."""

import pytest

from realestate.middlewares.robotrules import (
    LONGEST_DELAY_SECONDS,
    LONGEST_WAIT_SECONDS,
    MOST_BYTES,
    RobotRules,
    origin_of,
    said,
    wait_seconds,
)

NAME = "realestate/0.1"
SITE = "https://www.example.com"


def rules(text: str) -> RobotRules:
    return RobotRules(text.encode(), NAME)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://www.example.com/a?b=c", "https://www.example.com"),
        ("https://WWW.Example.com:443/", "https://www.example.com"),
        ("http://www.example.com:80/", "http://www.example.com"),
        ("http://www.example.com:443/", "http://www.example.com:443"),
        ("https://me:s3cret@www.example.com:8443/", "https://www.example.com:8443"),
        ("http://[::1]:8080/x", "http://[::1]:8080"),
    ],
)
def test_whose_robots_txt_it_is(url: str, origin: str) -> None:
    assert origin_of(url) == origin


def test_it_is_read_for_who_asks() -> None:
    told = rules("User-agent: realestate\nDisallow: /private\n\nUser-agent: other\nDisallow: /\n")
    assert told.allows(f"{SITE}/homes/1")
    assert not told.allows(f"{SITE}/private/1")
    assert not told.allows(f"{SITE}/homes/1", "other/1.0")


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        ("Crawl-delay: 3", 3.0),
        ("Request-rate: 1/5s", 5.0),
        ("Request-rate: 1/1m 0600-0845", 60.0),
        ("Crawl-delay: 2\nRequest-rate: 1/5", 5.0),
        ("Crawl-delay: 99999999", LONGEST_DELAY_SECONDS),
        ("Disallow: /x", 0.0),
        *((f"Crawl-delay: {nonsense}", 0.0) for nonsense in ("inf", "nan", "-5", "1e400", "soon", "")),
        *((f"Request-rate: {nonsense}", 0.0) for nonsense in ("0/5s", "1/inf", "a/b", "1/0")),
    ],
)
def test_the_delay_it_asks_for(lines: str, seconds: float) -> None:
    assert rules(f"User-agent: *\n{lines}\n").delay_seconds == seconds
    assert rules(f"User-agent: other\n{lines}\n").delay_seconds == 0


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe" + b"\0" * 100,
        b"<!DOCTYPE html><html><body>Welcome</body></html>",
        b"Disallow: /\n",  # nobody is told
        b"User-agent: *\nDisallow: " + b"*a" * 5000 + b"$",
        b"User-agent: *\nDisallow: http://[::1\nDisallow: //[\nAllow: %zz",
        b"User-agent: " + b"x" * 100_000,
    ],
)
def test_nonsense_forbids_nothing(text: bytes) -> None:
    assert RobotRules(text, NAME).allows(f"{SITE}/homes/1?q=[%zz")


def test_a_mark_of_the_encoding_does_not_hide_the_first_line() -> None:
    assert not RobotRules(b"\xef\xbb\xbfUser-agent: *\nDisallow: /\n", NAME).allows(f"{SITE}/")


TEXT = b"User-agent: *\nDisallow: /private\n"


@pytest.mark.parametrize(
    ("status", "wall", "means"),
    [
        (200, None, TEXT),
        (206, None, TEXT),
        (200, "cloudflare", None),
        *((status, None, b"") for status in (302, 400, 404, 405, 410, 451)),
        (404, "captcha", None),
        *((status, None, None) for status in (401, 403, 407, 408, 429, 430, 500, 502, 503, 504, 520)),
    ],
)
def test_what_an_answer_means(status: int, wall: str | None, means: bytes | None) -> None:
    assert said(status, TEXT, wall) == means


def test_what_is_too_long_is_cut_between_two_lines() -> None:
    line = b"Disallow: /private/long\n"
    body = b"User-agent: *\n" + line * (MOST_BYTES // len(line) + 10)
    text = said(200, body)
    assert text is not None
    assert MOST_BYTES - len(line) < len(text) <= MOST_BYTES
    assert text.endswith(line)
    assert said(200, b"x" * (MOST_BYTES + 1)) == b"", "no line at all"


def test_a_site_that_cannot_be_asked_is_left_alone_longer_and_longer() -> None:
    waits = [wait_seconds(failures, 2.0) for failures in range(1, 12)]
    assert waits[:4] == [10, 20, 40, 80]
    assert waits == sorted(waits)
    assert waits[-1] == wait_seconds(10_000, 2.0) == LONGEST_WAIT_SECONDS
