"""A relay before a server: it counts round trips and adds a delay, as if the server were on another machine."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from threading import Thread
from typing import Any, Self
from urllib.parse import urlsplit

CHUNK = 1 << 16


class Relay:
    """Listens on this machine while its context is entered; `url` leads through it to the Redis or PostgreSQL behind.

    What a client sends before it is answered is one round trip, however many commands it holds.
    """

    def __init__(self, url: str, delay_seconds: float = 0.0) -> None:
        self._behind = urlsplit(url)
        self.delay_seconds = delay_seconds
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="relay", daemon=True)
        self._talks: set[asyncio.Task[None]] = set()
        self.round_trips = 0

    @property
    def url(self) -> str:
        login = self._behind.netloc.rpartition("@")[0]
        return self._behind._replace(netloc=f"{login}@127.0.0.1:{self._port}").geturl()

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *error: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def carries(self, asked: bytearray, answer: bytes | None = None) -> bool:
        """Whether more bytes of a command or of its reply are passed on. Otherwise the connection is closed."""
        return True

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._talk, "127.0.0.1", 0)

    async def _stop(self) -> None:
        self._server.close()
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    async def _talk(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        try:
            server, to_server = await asyncio.open_connection(self._behind.hostname, self._behind.port)
        except (OSError, asyncio.CancelledError):
            to_client.close()
            self._talks.discard(task)
            return
        pumps = [asyncio.create_task(act) for act in _Talk(self).pumps(client, to_server, server, to_client)]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            pass  # a stopped server's handlers must end without an error
        finally:
            # Both tasks are made before anything is awaited: one of the sides may be closing already.
            to_client.close()
            to_server.close()
            for pump in pumps:
                pump.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*pumps, return_exceptions=True)
            self._talks.discard(task)


class _Talk:
    """One connection through the relay."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self._answered = True
        self._asked = bytearray()
        self._on_its_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    def pumps(
        self,
        client: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
        server: asyncio.StreamReader,
        to_client: asyncio.StreamWriter,
    ) -> tuple[Coroutine[Any, Any, None], ...]:
        return self._listen(client), self._deliver(to_server), self._answer(server, to_client)

    async def _listen(self, client: asyncio.StreamReader) -> None:
        with suppress(ConnectionError):
            while data := await client.read(CHUNK):
                if self._answered:
                    self._relay.round_trips += 1
                    self._asked.clear()
                self._answered = False
                self._asked += data
                due = asyncio.get_running_loop().time() + self._relay.delay_seconds
                self._on_its_way.put_nowait((due, data))

    async def _deliver(self, to_server: asyncio.StreamWriter) -> None:
        while True:
            due, data = await self._on_its_way.get()
            if (wait := due - asyncio.get_running_loop().time()) > 0:
                await asyncio.sleep(wait)
            if not await self._relay.carries(self._asked):
                return
            to_server.write(data)
            await to_server.drain()

    async def _answer(self, server: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await server.read(CHUNK):
                self._answered = True
                if not await self._relay.carries(self._asked, data):
                    return
                to_client.write(data)
                await to_client.drain()
