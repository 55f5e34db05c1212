"""The simulator over HTTP: one port for each portal, and one control port.

Requests to the control port:

    GET  /_portals                 the base URL of each portal
    GET  /_truth/<portal>          JSON lines: what a perfect crawl would store of each advert on the market today
    GET  /_truth/<portal>/events   JSON lines: what a perfect daily crawler would have recorded so far (`history.py`)
    GET  /_truth/homes             JSON lines: the home and the block of each advert on the market today
    GET  /_truth/homes/pairs       JSON lines: the pairs of adverts of one home, and which of them the data decide
    GET  /_truth/market            the price level of each day so far; that of the first day is 1
    GET  /_stats                   the requests to each portal by client, and what the adversary did to them
    GET  /_adversary               what the adversary did at each portal, and the proxies (`adversary/`, `proxies.py`)
    GET  /_day                     the world's day and date
    POST /_day/advance             let a day pass; returns what happened to which adverts (`days.py`)
    GET  /_weather                 the weather of each portal
    POST /_weather/<portal>        {"kind": "down"}: set the weather; "fine" ends it (`weather.py` has the kinds)
    POST /_latency/<portal>        {"seconds": 1.3}: from now on every response takes this long

The Date of every response is the world's time, not real time. The weather does not change the truth.
"""

import asyncio
import gc
import signal
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from email.utils import format_datetime
from functools import partial
from itertools import chain, islice
from typing import Annotated, Any

import msgspec
from aiohttp import web
from multidict import CIMultiDict

from realestate.simulator import linkage, ports
from realestate.simulator.adversary import PROFILES, Adversary, Visit
from realestate.simulator.adversary.sending import send
from realestate.simulator.conditional import unless_known
from realestate.simulator.days import Changes
from realestate.simulator.history import Event, History
from realestate.simulator.others import OTHERS, OtherSite
from realestate.simulator.portals import PORTALS
from realestate.simulator.proxies import Proxy, forwarding, kinds
from realestate.simulator.site import JSON, Response, Site
from realestate.simulator.sites import SITES
from realestate.simulator.stats import Stats
from realestate.simulator.traps import Traps
from realestate.simulator.weather import WEATHERS, Weather, seconds_to_wait, showing, weathered
from realestate.simulator.world import World

SHOWN = (*PORTALS, *OTHERS)
SERVED = ("control", *SHOWN)
OTHERS_STOCK = 130
ROWS_AT_ONCE = 200

#: When the simulator stops, clients have this long to read their responses.
STOP_SECONDS = 1.0

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Ready = Callable[[dict[str, str]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adversity:
    """What makes the portals hard to crawl."""

    profile: str | None = None
    """One of adversary.PROFILES. None: no adversary."""
    proxies: int = 0
    proxy_password: str | None = None


class Simulator:
    """A world, its portals and their statistics. `bases` are the base URLs, with that of the control port."""

    def __init__(self, world: World, bases: dict[str, str], adversity: Adversity = Adversity()) -> None:  # noqa: B008
        self.world = world
        self.bases = bases
        self.adversity = adversity
        self.adversaries: dict[str, Adversary] = {}
        self.proxies: list[Proxy] = []
        self.clock: Callable[[], float] = time.monotonic
        self.sites = {name: SITES[name](world, bases[name]) for name in PORTALS}
        self.others = {
            name: kind(world.seed, OTHERS_STOCK, world.now, bases[name])
            for name, kind in OTHERS.items()
            if name in bases
        }
        self.stats = {name: Stats() for name in SHOWN}
        self.weather: dict[str, Weather] = dict.fromkeys(PORTALS, "fine")
        self.latency = dict.fromkeys(PORTALS, 0.0)
        self._histories = {name: History(name) for name in PORTALS}
        self._last_look: dict[str, int] = {}
        world.at_night = self._look
        world.in_the_morning = self._drop_pages
        self._headers: dict[str, CIMultiDict[str]] = {}
        if adversity.profile is not None:
            for name, site in self.sites.items():
                size = partial(lambda portal: len(world.listed(portal)), name)
                self.adversaries[name] = Adversary(adversity.profile, name, site.base, seed=world.seed, size=size)

    @property
    def addresses(self) -> dict[str, str]:
        """Return all base URLs. Those of proxies have user name and password."""
        return self.bases | {f"proxy{number}": proxy.url for number, proxy in enumerate(self.proxies, 1)}

    def portal(self, name: str) -> Handler:
        """Handles the requests to one portal."""
        site: Site | OtherSite = self.others[name] if name in OTHERS else self.sites[name]
        stats = self.stats[name]
        adversary = self.adversaries.get(name)

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            if request.method in ("GET", "HEAD"):
                response = site.response(request.raw_path, headers=request.headers)
            elif request.method == "POST" and isinstance(site, Site) and site.takes_posts:
                response = site.response(request.raw_path, headers=request.headers, body=await request.read())
            else:
                response = Response("other", b"Method not allowed", 405)
            if latency := self.latency.get(name):
                await asyncio.sleep(latency)
            weather = self.weather.get(name, "fine")
            if weather != "fine":
                await asyncio.sleep(seconds_to_wait(weather, response))
                response = weathered(weather, response, site.base + site.index)
            response = unless_known(response, request.headers)
            address = request.remote or ""
            if adversary is None or response.kind == "robots":
                stats.count(address, response.status, response.kind)
                return self._response(response)
            visit = Visit(address, request.raw_path, request.headers)
            treatment = adversary.treat(visit, response, self.clock())
            stats.count(address, treatment.status, response.kind)
            return await send(request, self._response(treatment.response), treatment.manner)

        return handle

    async def control(self, request: web.BaseRequest) -> web.StreamResponse:
        match request.method, request.path.split("/")[1:]:
            case "GET", ["_portals"]:
                return self._json({name: self.bases[name] for name in SHOWN})
            case "GET", ["_stats"]:
                return self._json(self._seen())
            case "GET", ["_adversary"]:
                return self._json(self._adversary_counts())
            case "GET", ["_day"]:
                return self._json(self._today())
            case "POST", ["_day", "advance"]:
                return self._json(self.advance())
            case "GET", ["_truth", "homes"]:
                return await self._lines(request, linkage.homes(self._shown()))
            case "GET", ["_truth", "homes", "pairs"]:
                return await self._lines(request, linkage.pair_rows(linkage.pairs(self._shown())))
            case "GET", ["_truth", "market"]:
                return self._json({"levels": self._levels()})
            case "GET", ["_truth", name] if name in PORTALS:
                return await self._lines(request, self.sites[name].truths())
            case "GET", ["_truth", name] if name in OTHERS:
                return await self._lines(request, self.others[name].truths())
            case "GET", ["_truth", name, "events"] if name in PORTALS:
                return await self._lines(request, iter(self.events(name)))
            case "GET", ["_weather"]:
                return self._json(self.weather)
            case "POST", ["_weather", name] if name in PORTALS:
                return self._change_weather(name, await request.read())
            case "POST", ["_latency", name] if name in PORTALS:
                return self._change_latency(name, await request.read())
        return self._json({"error": f"no {request.method} {request.path} here"}, 404)

    def advance(self) -> dict[str, Any]:
        """Let a day pass, and drop changed pages from the cache."""
        changes = self.world.advance()
        self._headers.clear()
        others = {name: stand.advance(self.world.day, self.world.now) for name, stand in self.others.items()}
        return {
            **self._today(),
            "portals": {name: _by_ref(changed, self.sites[name]) for name, changed in changes.items()},
            "others": others,
        }

    def events(self, portal: str) -> list[Event]:
        """Return the events that a perfect daily crawler would have recorded of a portal so far."""
        self.world.listed(portal)  # may create the portal, and its history
        self._look([portal])
        return self._histories[portal].events

    def _shown(self) -> list[linkage.Shown]:
        """The adverts of portals that are in use: to look at another would create its country."""
        return linkage.shown_of(self.world, self.sites, self.world.open_portals())

    def _levels(self) -> list[float]:
        traps = self.world.traps
        return [traps.level(day) if traps else 1.0 for day in range(self.world.day + 1)]

    def set_weather(self, portal: str, weather: Weather) -> None:
        self.weather[portal] = weather
        self.sites[portal].show(showing(weather))

    def _look(self, portals: list[str]) -> None:
        """Add today's events to the history, once, when they are first needed: that takes a while in a large world."""
        for name in portals:
            if self._last_look.get(name) != self.world.day:
                self._last_look[name] = self.world.day
                self._histories[name].look(self.world.day, self.sites[name].sights())

    def _drop_pages(self, portal: str, changes: Changes) -> None:
        # the response for a removed advert may still change: the page of a sold home disappears after some days
        self.sites[portal].drop_pages((*chain.from_iterable(changes.values()), *self.world.gone(portal)))

    def _change_weather(self, portal: str, body: bytes) -> web.Response:
        try:
            self.set_weather(portal, msgspec.json.decode(body, type=_Forecast).kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            return self._json({"error": f"{error}; kinds: {', '.join(WEATHERS)}"}, 400)
        return self._json(self.weather)

    def _change_latency(self, portal: str, body: bytes) -> web.Response:
        try:
            self.latency[portal] = msgspec.json.decode(body, type=_Distance).seconds
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            return self._json({"error": str(error)}, 400)
        return self._json(self.latency)

    def _today(self) -> dict[str, Any]:
        return {"day": self.world.day, "date": self.world.now.date().isoformat()}

    def _seen(self) -> dict[str, Any]:
        seen: dict[str, Any] = {name: stats.as_record() for name, stats in self.stats.items()}
        for name, adversary in self.adversaries.items():
            seen[name]["clients"] = adversary.clients()
        return {**seen, "refusals": {name: stats.refusals for name, stats in self.stats.items()}}

    def _adversary_counts(self) -> dict[str, Any]:
        return {
            "profile": self.adversity.profile,
            "seed": self.world.seed,
            "portals": {name: adversary.as_record() for name, adversary in self.adversaries.items()},
            "proxies": [proxy.as_record() for proxy in self.proxies],
        }

    def _response(self, response: Response) -> web.Response:
        headers = self._prepared(response.content_type)
        if response.location is not None or response.set_cookie is not None or response.extra is not None:
            extra = {"Location": response.location, "Set-Cookie": response.set_cookie, **(response.extra or {})}
            headers = headers.copy()
            headers.update({name: value for name, value in extra.items() if value is not None})
        return web.Response(body=response.body, status=response.status, headers=headers)

    def _json(self, value: object, status: int = 200) -> web.Response:
        return web.Response(body=msgspec.json.encode(value), status=status, headers=self._prepared(JSON))

    def _prepared(self, content_type: str) -> CIMultiDict[str]:
        """Return the headers of a response of this type today."""
        headers = self._headers.get(content_type)
        if headers is None:
            date = format_datetime(self.world.now, usegmt=True)
            headers = CIMultiDict({"Content-Type": content_type, "Date": date, "Server": "simulator"})
            self._headers[content_type] = headers
        return headers

    async def _lines(self, request: web.BaseRequest, rows: Iterator[dict[str, Any]]) -> web.StreamResponse:
        """Send some rows at a time, so that the portals can respond meanwhile."""
        response = web.StreamResponse(headers=self._prepared("application/x-ndjson"))
        await response.prepare(request)
        with suppress(ConnectionResetError):  # the client closed the connection
            while lines := _encoded(rows):
                await response.write(lines)
                await asyncio.sleep(0)
            await response.write_eof()
        return response


class _Forecast(msgspec.Struct, forbid_unknown_fields=True):
    kind: Weather


class _Distance(msgspec.Struct, forbid_unknown_fields=True):
    seconds: Annotated[float, msgspec.Meta(ge=0, le=600)]


def _by_ref(changes: Changes, site: Site) -> dict[str, Any]:
    """Return the refs of the adverts, and for removed ones how they were removed."""
    refs = {what: [site.ref(advert) for advert in adverts] for what, adverts in changes.items()}
    return {**refs, "removed": {site.ref(advert): advert.gone for advert in changes["removed"]}}


def _encoded(rows: Iterator[dict[str, Any]]) -> bytes:
    return msgspec.json.Encoder().encode_lines(list(islice(rows, ROWS_AT_ONCE)))


@asynccontextmanager
async def running(
    world: World,
    port: int = 0,
    host: str = "127.0.0.1",
    adversity: Adversity = Adversity(),  # noqa: B008
) -> AsyncIterator[Simulator]:
    """Run the simulator within the context, on `port` and those after it, or on any free ports if `port` is 0."""
    sockets = ports.sockets(host, port, SERVED, adversity.proxies)
    bases = {name: ports.base(host, bound) for name, bound in sockets.items() if name in SERVED}
    simulator = Simulator(world, bases, adversity)
    async with AsyncExitStack() as stack:
        for name in bases:
            handler = simulator.control if name == "control" else simulator.portal(name)
            runner = web.ServerRunner(web.Server(handler, access_log=None), shutdown_timeout=STOP_SECONDS)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.SockSite(runner, sockets[name], backlog=1024).start()
        if adversity.proxies:
            simulator.proxies = await stack.enter_async_context(_proxies(simulator, host, sockets))
        yield simulator


def _proxies(
    simulator: Simulator, host: str, sockets: dict[str, socket.socket]
) -> AbstractAsyncContextManager[list[Proxy]]:
    adversity = simulator.adversity
    seed = simulator.world.seed
    profile = PROFILES[adversity.profile] if adversity.profile is not None else None
    return forwarding(
        {ports.base(host, bound): bound for name, bound in sockets.items() if name not in SERVED},
        kinds(adversity.proxies, profile, seed),
        host=ports.reached_at(host),
        ports=[sockets[name].getsockname()[1] for name in SERVED],
        password=adversity.proxy_password,
        seed=seed,
    )


def serve(
    port: int,
    listings: int,
    seed: int,
    host: str = "127.0.0.1",
    ready: Ready | None = None,
    adversity: Adversity = Adversity(),  # noqa: B008
    traps: Traps | None = None,
    hostile_texts: bool = False,
) -> None:
    """Run the simulator until SIGTERM or SIGINT. `ready` is called with the addresses when all of them work."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        world = World(seed, listings, traps, hostile_texts=hostile_texts)
        runner.run(_serve(world, port, host, ready, adversity))


async def _serve(world: World, port: int, host: str, ready: Ready | None, adversity: Adversity) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with running(world, port, host, adversity) as simulator:
        gc.freeze()  # the world is never freed: the garbage collector need not check it
        if ready is not None:
            ready(simulator.addresses)
        await stop.wait()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # not available on Windows
        return None
    return uvloop.new_event_loop
