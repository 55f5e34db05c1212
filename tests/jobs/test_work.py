"""What a worker imports, and when."""

import json
import subprocess
import sys

import pytest

WITHOUT_WAITING = """
import json, sys
from realestate.jobs.work import import_parts
import_parts()
print(json.dumps(sorted(sys.modules)))
"""
ITS_PARTS = """
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


def imported_by(program: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_who_waits_for_services_has_imported_what_it_is_made_of() -> None:
    found = imported_by(WITHOUT_WAITING)
    assert found >= {
        "realestate.queue.scheduler",
        "realestate.middlewares.download_handler",
        "realestate.queue.leases",
        "realestate.pipelines.store",
        "realestate.queue.heartbeat",
    }
    assert "twisted.internet.reactor" not in found, "which Scrapy has to choose when it begins"


@pytest.mark.parametrize("module", ["scrapy.core.downloader.handlers.http11", "scrapy.core.downloader.contextfactory"])
def test_a_worker_imports_no_other_way_to_ask_than_its_own(module: str) -> None:
    """Either takes a tenth of a second of every start."""
    found = imported_by(ITS_PARTS)
    assert "realestate.middlewares.download_handler" in found
    assert module not in found
