"""What a worker imports, and when."""

import json
import subprocess
import sys
from functools import cache

import pytest

from realestate.jobs.finish_reasons import ended_well
from realestate.jobs.work import project_settings, without_crawl

IMPORTED_FIRST = """
import json, sys
from realestate.jobs.work import import_components
import_components()
print(json.dumps(sorted(sys.modules)))
"""
COMPONENTS = """
import json, sys
from scrapy.core.downloader.handlers import DownloadHandlers
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.crawler import Crawler
from realestate.jobs.work import project_settings, without_crawl
crawler = without_crawl("immoweb", project_settings())
DownloaderMiddlewareManager.from_crawler(crawler)
DownloadHandlers(crawler)
print(json.dumps(sorted(sys.modules)))
"""


@cache
def imported_by(program: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_the_components_of_a_worker_are_imported_while_services_start() -> None:
    found = imported_by(IMPORTED_FIRST)
    assert found >= {
        "realestate.queue.scheduler",
        "realestate.middlewares.download_handler",
        "realestate.queue.leases",
        "realestate.pipelines.store",
        "realestate.queue.heartbeat",
    }
    assert "twisted.internet.reactor" not in found, "Scrapy has to choose the reactor when it starts"


@pytest.mark.parametrize("module", ["scrapy.core.downloader.handlers.http11", "scrapy.core.downloader.contextfactory"])
def test_a_worker_imports_no_download_handler_but_its_own(module: str) -> None:
    """Each would add a tenth of a second to every start."""
    found = imported_by(COMPONENTS)
    assert "realestate.middlewares.download_handler" in found
    assert module not in found


@pytest.mark.parametrize(
    ("reason", "is_done"),
    [("finished", True), ("shutdown", True), ("store_failed", False), ("start_error", False), (None, False)],
)
def test_only_the_end_of_the_work_or_of_the_worker_counts_as_done(reason: str | None, is_done: bool) -> None:
    crawler = without_crawl("emlak", project_settings())
    assert crawler.stats is not None
    crawler.stats.set_value("finish_reason", reason)
    assert ended_well(crawler) == is_done
