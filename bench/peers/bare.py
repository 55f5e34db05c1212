"""The ceiling: aiohttp and selectolax in a loop on uvloop. No retries, no rate limit, no robots.txt, nothing stored."""

import asyncio
from asyncio import Queue

import aiohttp
import uvloop
from selectolax.lexbor import LexborHTMLParser

from bench.peers.task import CONCURRENCY, Task


class Crawl:
    def __init__(self, task: Task) -> None:
        self.reading = task.reading
        self.refs: list[str] = []
        self.seen: set[str] = set()
        self.waiting: Queue[tuple[str, bool]] = Queue()
        self.add(task.seeds, is_listing=False)

    def add(self, urls: list[str], *, is_listing: bool) -> None:
        for url in urls:
            if url not in self.seen:
                self.seen.add(url)
                self.waiting.put_nowait((url, is_listing))

    async def run(self) -> list[str]:
        async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._work(session)) for _ in range(CONCURRENCY)]
            await self.waiting.join()
            for task in tasks:
                task.cancel()
        return self.refs

    async def _work(self, session: aiohttp.ClientSession) -> None:
        while True:
            url, is_listing = await self.waiting.get()
            async with session.get(url) as response:
                text, url = await response.text("utf-8"), str(response.url)
            self._listing(text, url) if is_listing else self._search(text, url)
            self.waiting.task_done()

    def _search(self, text: str, url: str) -> None:
        found = self.reading.search_fast(text, url)
        self.add(found.listings, is_listing=True)
        self.add(found.pages, is_listing=False)

    def _listing(self, text: str, url: str) -> None:
        record = self.reading.listing_fast(LexborHTMLParser(text), url)
        self.add(record.pop("units", []), is_listing=True)
        self.refs.append(record["ref"])


def main() -> None:
    task = Task.given()
    task.done(uvloop.run(Crawl(task).run()))


if __name__ == "__main__":
    main()
