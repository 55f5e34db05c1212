"""No password reaches a log, a dead letter or a message."""

import logging
import time
from collections.abc import Callable, Iterator

import msgspec
import pytest
from scrapy.crawler import Crawler

from realestate.cli import errors
from realestate.crawling.seeds import BadSeed, parse
from realestate.monitoring.logs import MaskedRecord, mask_credentials
from realestate.queue.credentials import without_credentials
from realestate.queue.dead_letters import dead_letter
from realestate.spiders.immoweb import ImmowebSpider
from realestate.storage import StoreError, open_store
from tests.crawling.fake_fleet import FakeFleet

SECRETS = [
    "http://user:hunter2@www.immoweb.be/en/classified/1",
    "http://user:hunter2@[",
    "https://:hunter2@host",
    "https://hunter2@host/",
    "//user:hunter2@host/x",
    "user:hunter2@www.immoweb.be/en",
    "http://user:hunt/hunter2@host/",
    "http://user:p@hunter2@host/",
    "redis://:hunter2@127.0.0.1:6379/0",
    "sentinel://:hunter2@a:1,b:2/service/0",
    "postgresql://user:hunter2@db/realestate",
    "redis://host/0?password=hunter2",
    "https://host/x?a=1&api_key=hunter2&b=2",
    '{"url": "https://host/", "headers": {"Authorization": "Basic hunter2"}}',
]


@pytest.mark.parametrize("text", SECRETS)
def test_credentials_are_masked(text: str) -> None:
    for around in (text, f"seed={text!r}: refused", f"<GET {text}> and more"):
        assert "hunter2" not in without_credentials(around)


@pytest.mark.parametrize(
    "text",
    [
        "https://www.immoweb.be/en/classified/1?page=2",
        "http://127.0.0.1:8080/a@b",
        "https://example.org/@me/photos:1",
        "page/plan/ok portal=generic job=12:30 url=https://example.org/a",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert without_credentials(text) == text


@pytest.mark.parametrize("piece", ["//", "//a:", "a:", "@", "//a:b", "?token=", "authorization:"])
def test_long_texts_take_little_time(piece: str) -> None:
    begin = time.process_time()
    without_credentials(piece * 20_000 + "@=uthorization")
    assert time.process_time() - begin < 2.0


def test_a_dead_letter_has_no_password() -> None:
    letter = dead_letter("seed", f"bad: {SECRETS[0]}", seed=SECRETS[0], url=SECRETS[0], job="j", tries=3)
    assert "hunter2" not in letter
    assert msgspec.json.decode(letter)["tries"] == 3


@pytest.mark.parametrize(
    "seed", [SECRETS[0], SECRETS[5], SECRETS[-1], '{"url": "http://user:hunter2@www.immoweb.be/"}']
)
def test_a_refused_seed_shows_no_password(
    seed: str, make_crawler: Callable[..., Crawler], caplog: pytest.LogCaptureFixture
) -> None:
    crawler = make_crawler(ImmowebSpider)
    spider = crawler.spider = ImmowebSpider.from_crawler(crawler)
    fleet = FakeFleet()
    fleet.register(crawler)
    assert spider.make_request_from_data(seed.encode()) is None
    assert len(fleet.dead_letters) == 1
    assert "hunter2" not in str(fleet.dead_letters) + caplog.text
    assert "seed/refused" in caplog.text
    assert "hunter2" not in str(ImmowebSpider.refuses(seed))


def test_a_seed_with_a_password_is_refused() -> None:
    with pytest.raises(BadSeed, match="user name or password"):
        parse(b"https://user:hunter2@www.immoweb.be/")
    assert parse(b"https://www.immoweb.be/@me?a=b@c").url == "https://www.immoweb.be/@me?a=b@c"


@pytest.fixture
def masked() -> Iterator[None]:
    before = logging.getLogRecordFactory()
    mask_credentials()
    yield
    logging.setLogRecordFactory(before)


@pytest.mark.usefixtures("masked")
def test_no_line_of_a_workers_log_has_a_password(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("somebody.else")
    logger.warning("Redirecting to %s from %r", SECRETS[0], SECRETS[0])
    try:
        raise ValueError(SECRETS[0])
    except ValueError:
        logger.exception("failed")
    assert all(isinstance(record, MaskedRecord) for record in caplog.records)
    assert "hunter2" not in caplog.text
    assert "ValueError: http://***@www.immoweb.be" in caplog.text


def test_an_error_of_a_command_shows_no_password(capsys: pytest.CaptureFixture[str]) -> None:
    errors._print_error(f"REDIS_URL: {SECRETS[8]}", 1)
    errors.print_warning(SECRETS[8])
    assert "hunter2" not in capsys.readouterr().err
    for url in ("hunter2", "user:hunter2@host/db", "http://user:hunter2@host"):
        with pytest.raises(StoreError) as raised:
            open_store(url)
        assert "hunter2" not in str(raised.value)
