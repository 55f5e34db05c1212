"""The undocumented parts of Scrapy's engine that the queue uses. These tests fail when Scrapy changes them."""

import json
import subprocess
import sys

#: A crawl whose scheduler has nothing yet: the engine asked once and would ask again only in five seconds.
CRAWL = """
import asyncio, json
from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess
from realestate.queue.engine import in_work, wake, work_count

class Nothing:
    asked = 0
    @classmethod
    def from_crawler(cls, crawler): return cls()
    def open(self, spider): pass
    def close(self, reason): pass
    def has_pending_requests(self): return True
    def enqueue_request(self, request): return True
    def next_request(self): Nothing.asked += 1

class Waiting(Spider):
    name = "waiting"
    async def start(self):
        await asyncio.sleep(0.5)
        before = Nothing.asked
        await asyncio.sleep(1)
        unasked = Nothing.asked
        wake(self.crawler.engine)
        await asyncio.sleep(1)
        engine = self.crawler.engine
        counts = [len(in_work(engine)), work_count(engine), engine.scraper.slot.itemproc_size]
        print(json.dumps([before, unasked, Nothing.asked, counts]), flush=True)
        await self.crawler.engine.close_spider_async(reason="seen")
        yield

process = AsyncCrawlerProcess({"SCHEDULER": Nothing, "LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False})
process.crawl(Waiting)
process.start()
"""


def test_a_woken_engine_asks_for_requests_at_once() -> None:
    ran = subprocess.run([sys.executable, "-c", CRAWL], capture_output=True, text=True, timeout=60)
    assert ran.stdout, ran.stderr
    before, unasked, woken, counts = json.loads(ran.stdout)
    assert before == unasked, "by itself the engine would have asked: waking it proves nothing"
    assert woken > unasked
    assert counts == [0, 0, 0]
