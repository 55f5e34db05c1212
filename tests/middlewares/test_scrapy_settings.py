"""A setting of Scrapy whose part is off switches it on again, or is named in a warning."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpauth import HttpAuthMiddleware
from scrapy.settings import Settings, default_settings
from scrapy.spidermiddlewares.depth import DepthMiddleware
from scrapy.spidermiddlewares.referer import RefererMiddleware
from scrapy.spidermiddlewares.urllength import UrlLengthMiddleware
from scrapy.utils.misc import load_object

from realestate.jobs.work import project_settings
from realestate.middlewares.scrapy_settings import IGNORED, ScrapySettings
from realestate.spiders.immoweb import ImmowebSpider

MakeCrawler = Callable[..., Crawler]


def applied(make_crawler: MakeCrawler, spider: type[Spider] = ImmowebSpider, **given: Any) -> Settings:
    settings = project_settings()
    settings.setdict(given, priority="cmdline")
    ScrapySettings(make_crawler(spider)).update_settings(settings)
    return settings


def used(settings: Settings, name: str) -> set[type]:
    components = settings.get_component_priority_dict_with_base(name)
    return {load_object(each) for each, order in components.items() if order is not None}


@pytest.mark.parametrize(
    ("given", "middleware"),
    [
        ({"DEPTH_LIMIT": "2"}, DepthMiddleware),
        ({"DEPTH_PRIORITY": 1}, DepthMiddleware),
        ({"URLLENGTH_LIMIT": 100}, UrlLengthMiddleware),
        ({"REFERRER_POLICY": "same-origin"}, RefererMiddleware),
    ],
)
def test_the_part_that_a_setting_needs_is_switched_on(
    make_crawler: MakeCrawler, given: dict[str, Any], middleware: type
) -> None:
    assert middleware not in used(applied(make_crawler), "SPIDER_MIDDLEWARES")
    assert middleware in used(applied(make_crawler, **given), "SPIDER_MIDDLEWARES")


def test_a_spider_with_a_password_gets_http_authentication(make_crawler: MakeCrawler) -> None:
    with_password = type("Closed", (ImmowebSpider,), {"http_user": "me", "http_pass": "x"})
    assert HttpAuthMiddleware not in used(applied(make_crawler), "DOWNLOADER_MIDDLEWARES")
    assert HttpAuthMiddleware in used(applied(make_crawler, with_password), "DOWNLOADER_MIDDLEWARES")


def test_the_project_itself_gets_no_warning(make_crawler: MakeCrawler, caplog: pytest.LogCaptureFixture) -> None:
    applied(make_crawler)
    assert caplog.messages == []


@pytest.mark.parametrize("name", IGNORED)
def test_an_ignored_setting_is_named_in_one_line(
    make_crawler: MakeCrawler, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    applied(make_crawler, ImmowebSpider, **{name: "1"})
    (record,) = [each for each in caplog.records if each.name.startswith("realestate")]
    assert record.levelno == logging.WARNING
    assert record.getMessage() == f"queue/setting_ignored: {name}: {IGNORED[name]}"


def test_every_ignored_setting_is_one_of_scrapy() -> None:
    assert set(IGNORED) <= set(dir(default_settings))


def test_requests_are_not_retried_by_two_middlewares(make_crawler: MakeCrawler) -> None:
    assert not applied(make_crawler, RETRY_ENABLED=True).getbool("RETRY_ENABLED")
