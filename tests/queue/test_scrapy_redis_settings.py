"""A setting that the queue cannot honour is named in a warning, with what to do instead."""

import logging
from typing import Any

import pytest
from scrapy.settings import Settings
from scrapy_redis import defaults

from realestate.queue import connection
from realestate.queue.addon import QueueAddon
from realestate.queue.request_queue import QueueSettings
from realestate.queue.scrapy_redis_settings import IGNORED, QUEUE_CLASS

#: Honoured, or said in a warning of its own.
OTHERS = {
    *("REDIS_CLS", "REDIS_ENCODING", "REDIS_PARAMS", "REDIS_CONCURRENT_REQUESTS", "SCHEDULER_QUEUE_CLASS"),
    *("SCHEDULER_PERSIST", "START_URLS_KEY", "START_URLS_AS_SET", "START_URLS_AS_ZSET", "MAX_IDLE_TIME"),
    *("PIPELINE_KEY", "STATS_KEY"),  # of its pipeline and its statistics, which work as before
}


def applied(**given: Any) -> Settings:
    settings = Settings()
    settings.setdict(given, priority="project")
    QueueAddon().update_settings(settings)
    return settings


def test_a_project_that_sets_none_of_them_gets_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    settings = applied(SCHEDULER_FLUSH_ON_START=False, SCHEDULER_PERSIST=True, MAX_IDLE_TIME_BEFORE_CLOSE=5)
    assert caplog.messages == []
    assert settings["SCHEDULER_QUEUE_CLASS"] == QUEUE_CLASS
    assert QueueSettings.from_settings(settings) == QueueSettings(), "all defaults are those of the queue"


@pytest.mark.parametrize("name", IGNORED)
def test_an_ignored_setting_is_named_in_one_line(name: str, caplog: pytest.LogCaptureFixture) -> None:
    applied(**{name: "something"})
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == f"queue/setting_ignored: {name}: {IGNORED[name]}"


def test_a_queue_of_scrapy_redis_is_replaced_and_named(caplog: pytest.LogCaptureFixture) -> None:
    settings = applied(SCHEDULER_QUEUE_CLASS="scrapy_redis.queue.LifoQueue")
    assert settings["SCHEDULER_QUEUE_CLASS"] == QUEUE_CLASS
    assert "SCHEDULER_QUEUE_CLASS = scrapy_redis.queue.LifoQueue" in caplog.text


def test_a_crawl_that_does_not_persist_gets_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    applied(SCHEDULER_PERSIST=False)
    assert "a worker that stops never clears the queue" in caplog.text


def test_every_setting_of_scrapy_redis_is_honoured_or_named() -> None:
    assert {name for name in vars(defaults) if name.isupper()} <= {*IGNORED, *OTHERS}


def test_the_server_is_found_by_the_settings_of_scrapy_redis() -> None:
    given = {"REDIS_HOST": "redis.example", "REDIS_PORT": 6380, "REDIS_PARAMS": {"password": "p", "socket_timeout": 1}}
    found = connection.connect(Settings(given)).connection_pool.connection_kwargs
    assert (found["host"], found["port"], found["password"]) == ("redis.example", 6380, "p")
    assert found["socket_timeout"] == connection.ANSWER_SECONDS
