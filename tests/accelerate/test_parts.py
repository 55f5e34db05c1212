"""The other parts of the accelerator: what they skip, and when they do not apply."""

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares import cookies, offsite, redirect
from scrapy.utils.misc import load_object
from scrapy.utils.test import get_crawler

from realestate.accelerate import downloader_middlewares, downloader_stats
from realestate.accelerate.addon import Accelerate
from realestate.accelerate.garbage_collection import EVERY, GarbageCollection
from realestate.accelerate.methods import inspected
from realestate.accelerate.pipelines import Pipelines
from realestate.spiders.immoweb import ImmowebSpider

MAKE = Callable[..., Crawler]
OURS = {downloader_middlewares.__name__, downloader_stats.__name__}


@pytest.fixture
def as_before() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    gc.unfreeze()


@pytest.mark.usefixtures("as_before")
def test_objects_that_exist_at_the_start_are_not_collected_again(make_crawler: MAKE) -> None:
    extension = GarbageCollection.from_crawler(make_crawler(ImmowebSpider))
    imported = gc.get_freeze_count()
    assert imported > 10_000
    made_since = [[] for _ in range(1_000)]  # type: ignore[var-annotated]
    extension.opened()
    assert gc.get_freeze_count() > imported + len(made_since)
    assert gc.get_threshold()[0] == EVERY
    assert gc.isenabled()


class Old:
    def process_item(self, item: str, spider: Any) -> str:
        return f"{item} {spider}"


class Plain:
    def process_item(self, item: str) -> str:
        return f"{item} plain"


class Waiting:
    async def process_item(self, item: str) -> str:
        return f"{item} waited"


def test_every_kind_of_pipeline_is_understood(make_crawler: MAKE) -> None:
    crawler = make_crawler(ImmowebSpider)
    crawler.spider = "spider"  # type: ignore[assignment]
    steps = [each.process_item for each in (Old(), Plain(), Waiting())]
    assert [method.is_async for method in inspected(steps, crawler)] == [False, False, True]
    pipelines = Pipelines.__new__(Pipelines)
    pipelines._methods = inspected(steps, crawler)
    work = pipelines.process_item_async("item")
    with pytest.raises(StopIteration) as over:
        work.send(None)
    assert over.value.value == "item spider plain waited"


def middlewares_of(**settings: Any) -> dict[type[Any], int]:
    """The downloader middlewares of a project with these settings, as the add-on leaves them."""
    crawler = get_crawler(ImmowebSpider, {"ADDONS": {Accelerate: 0}, **settings})
    components = crawler.settings.get_component_priority_dict_with_base("DOWNLOADER_MIDDLEWARES")
    return {load_object(component): order for component, order in components.items()}


@pytest.mark.usefixtures("as_before")
def test_the_middlewares_take_the_places_of_scrapys() -> None:
    orders = middlewares_of()
    assert {kind.__name__: order for kind, order in orders.items() if kind.__module__ in OURS} == {
        "OffsiteMiddleware": 50,
        "RedirectMiddleware": 600,
        "CookiesMiddleware": 700,
        "DownloaderStats": 850,
    }
    assert not {offsite.OffsiteMiddleware, redirect.RedirectMiddleware, cookies.CookiesMiddleware} & orders.keys()


class OwnCookies(cookies.CookiesMiddleware):
    """A project's own."""


@pytest.mark.usefixtures("as_before")
@pytest.mark.parametrize(
    "scrapys",
    [cookies.CookiesMiddleware, "scrapy.downloadermiddlewares.cookies.CookiesMiddleware"],
    ids=["class", "path"],
)
def test_a_middleware_that_a_project_has_switched_off_stays_off(scrapys: Any) -> None:
    orders = middlewares_of(DOWNLOADER_MIDDLEWARES={scrapys: None, OwnCookies: 700})
    assert [kind for kind in orders if issubclass(kind, cookies.CookiesMiddleware)] == [OwnCookies]


@pytest.mark.usefixtures("as_before")
def test_a_middleware_that_a_project_has_moved_stays_there() -> None:
    orders = middlewares_of(DOWNLOADER_MIDDLEWARES={redirect.RedirectMiddleware: 640})
    assert [order for kind, order in orders.items() if issubclass(kind, redirect.RedirectMiddleware)] == [640]
