"""The other parts of the accelerator: what they skip, and when they do not apply."""

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from scrapy.crawler import Crawler

from realestate.accelerate.items import Pipelines
from realestate.accelerate.memory import EVERY, GarbageCollection
from realestate.accelerate.methods import inspected
from realestate.spiders.immoweb import ImmowebSpider

MAKE = Callable[..., Crawler]


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
