"""Bad weather: what visitors get in place of the portal, while the truth stays as it is."""

import asyncio
import json
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from aiohttp import ClientSession
from selectolax.lexbor import LexborHTMLParser

from realestate.simulator import PORTALS, Simulator, World, running, weather
from realestate.simulator.bina.search import HASH
from realestate.simulator.site import Site
from realestate.simulator.weather import WEATHERS
from tests.simulator.conftest import BASES


def search_of_bina(cursor: str | None = None) -> str:
    variables = {"first": 16, "filter": {}} | ({"cursor": cursor} if cursor else {})
    parameters = {"variables": variables, "extensions": {"persistedQuery": {"version": 1, "sha256Hash": HASH}}}
    asked = {"operationName": "SearchItems", **{name: json.dumps(each) for name, each in parameters.items()}}
    return f"/graphql?{urlencode(asked)}"


SEARCHES = {
    "immoweb": "/en/search-results/house-and-apartment/for-sale?countries=BE&orderBy=newest&page={}",
    "emlak": "/elanlar/?ann_type=3&sort_type=1&page={}",
    "lalafo": "/api/search/v3/feed/search?category_id=2029&expand=url&per-page=40&sort_by=newest&page={}",
    "bina": search_of_bina(),
    "tap": "/elanlar/dasinmaz-emlak/menziller",
}
MOVED = {"immoweb": "/en/classified/{}", "emlak": "/{}-x.html", "lalafo": "/baku/ads/x-id-{}"}
MOVED |= {"bina": "/items/{}/", "tap": "/elanlar/x/y/{}"}
SIZES = {"immoweb": 30, "emlak": 20, "lalafo": 40, "bina": 16, "tap": 50}
#: lalafo's API answers its own application alone; the others do not mind.
APPLICATION = {"device": "pc", "country-id": "13", "language": "az_AZ"}
Check = Callable[["Visitor", Simulator], Awaitable[None]]


class Visitor:
    """Asks a portal and its control over HTTP."""

    def __init__(self, simulator: Simulator, session: ClientSession, portal: str) -> None:
        self.site: Site = simulator.sites[portal]
        self.control, self._session, self._portal = simulator.bases["control"], session, portal
        self._cursor: str | None = None
        advert = simulator.world.listed(portal)[0]
        self.pages = {
            "robots": "/robots.txt",
            "search": SEARCHES[portal].format(1),
            "listing": self.site.path(advert),
            "moved": MOVED[portal].format(advert.ref),
        }

    async def set(self, kind: str) -> None:
        async with self._session.post(f"{self.control}/_weather/{self._portal}", json={"kind": kind}) as response:
            assert (response.status, (await response.json())[self._portal]) == (200, kind)

    async def get(self, path: str) -> tuple[int, bytes, str | None]:
        async with self._session.get(self.site.base + path, allow_redirects=False) as response:
            return response.status, await response.read(), response.headers.get("Location")

    async def statuses(self) -> dict[str, int]:
        return {what: (await self.get(path))[0] for what, path in self.pages.items()}

    async def truth(self) -> list[bytes]:
        responses = []
        for path in ("", "/events"):
            async with self._session.get(f"{self.control}/_truth/{self._portal}{path}") as response:
                responses.append(await response.read())
        return responses

    async def search(self, page: int) -> tuple[int, list[str]]:
        """The total shown, and the refs or addresses shown, without what is promoted."""
        if self._portal == "bina":
            return await self._search_bina(page)
        if self._portal == "tap":
            return await self._search_tap(page)
        _, body, _ = await self.get(SEARCHES[self._portal].format(page))
        if self._portal == "immoweb":
            response = json.loads(body)
            shown = response["results"][int(response["hasPremiumPosition"]) :]
            return response["totalItems"], [str(result["id"]) for result in shown]
        if self._portal == "lalafo":
            response = json.loads(body)
            items = response["items"][4 if response["_meta"]["feed"] == "ppv-category" else 0 :]
            return response["_meta"]["totalCount"], [str(item["id"]) for item in items]
        parsed = LexborHTMLParser(body)
        count = parsed.css_first("h1.title span")
        assert count is not None
        links = parsed.css("div.ticket-list > div.ticket:not(.pinned) h6.title a")
        return int(count.text().split()[1]), [link.attributes["href"] or "" for link in links]

    async def _search_bina(self, page: int) -> tuple[int, list[str]]:
        """Each page leads to the next, and the last one to nothing; the first begins with what is promoted."""
        self._cursor = self._cursor if page > 1 else None
        _, body, _ = await self.get(search_of_bina(self._cursor))
        response = json.loads(body)["data"]["itemsConnection"]
        self._cursor = response["pageInfo"]["endCursor"] or self._cursor
        return response["totalCount"], [edge["node"]["id"] for edge in response["edges"]][-SIZES["bina"] :]

    async def _search_tap(self, page: int) -> tuple[int, list[str]]:
        after = b64encode(str((page - 1) * SIZES["tap"]).encode()).decode()
        query = (
            "query($n: Int, $a: String) { ads(first: $n, after: $a, source: DESKTOP) { totalCount nodes { path } } }"
        )
        parameters = {"query": query, "variables": {"n": SIZES["tap"], "a": after}}
        async with self._session.post(self.site.base + "/graphql", json=parameters) as response:
            response = (await response.json())["data"]["ads"]
        return response["totalCount"], [node["path"] for node in response["nodes"]]

    async def all_pages(self) -> tuple[int, list[list[str]]]:
        """The total, and what each page shows, as many pages as the total needs."""
        size = SIZES[self._portal]
        total, first = await self.search(1)
        return total, [first, *[(await self.search(page))[1] for page in range(2, -(-total // size) + 1)]]


def visit(portal: str, check: Check, *, listings: int = 200) -> None:
    async def go() -> None:
        async with running(World(2, listings)) as simulator, ClientSession(headers=APPLICATION) as session:
            await check(Visitor(simulator, session, portal), simulator)

    asyncio.run(go())


FINE = {"robots": 200, "search": 200, "listing": 200, "moved": 301}


@pytest.mark.parametrize("portal", SEARCHES)
@pytest.mark.parametrize(
    ("kind", "statuses"),
    [
        ("fine", {}),
        ("down", dict.fromkeys(FINE, 503)),
        ("blocked", dict.fromkeys(FINE, 403)),
        ("error_page", {"moved": 200}),
        ("all_404", {"listing": 404, "moved": 404}),
        ("all_redirected", {"listing": 302, "moved": 302}),
        ("half_empty", {}),
        ("half_pages", {}),
        ("new_layout", {}),
    ],
)
def test_each_kind_answers_as_it_says_until_it_is_fine_again(portal: str, kind: str, statuses: dict[str, int]) -> None:
    async def check(visitor: Visitor, simulator: Simulator) -> None:
        before = await visitor.truth()
        assert await visitor.statuses() == FINE
        await visitor.set(kind)
        assert await visitor.statuses() == {**FINE, **statuses}
        assert await visitor.truth() == before
        await visitor.set("fine")
        assert await visitor.statuses() == FINE

    visit(portal, check, listings=60)


@pytest.mark.parametrize("portal", SEARCHES)
def test_weather_does_not_change_later_days(portal: str) -> None:
    calm, rough = (Simulator(World(2, 60), BASES) for _ in range(2))
    for kind in WEATHERS:
        rough.set_weather(portal, kind)
        assert rough.advance() == calm.advance()
    assert rough.events(portal) == calm.events(portal)
    assert list(rough.sites[portal].truths()) == list(calm.sites[portal].truths())


@pytest.mark.parametrize("portal", SEARCHES)
def test_a_half_empty_portal_shows_and_counts_the_same_half_each_time(portal: str) -> None:
    async def check(visitor: Visitor, simulator: Simulator) -> None:
        total, pages = await visitor.all_pages()
        whole = {ref for page in pages for ref in page}
        assert len(whole) == total
        await visitor.set("half_empty")
        half_total, pages = await visitor.all_pages()
        half = {ref for page in pages for ref in page}
        assert half < whole
        assert len(half) == half_total
        assert 0.3 * total < half_total < 0.7 * total
        assert await visitor.all_pages() == (half_total, pages)
        await visitor.set("fine")
        assert (await visitor.all_pages())[0] == total

    visit(portal, check)


def test_a_half_empty_portal_promotes_none_of_the_missing_half() -> None:
    async def check(visitor: Visitor, simulator: Simulator) -> None:
        await visitor.set("half_empty")
        known = {advert.ref for advert in visitor.site.shown().adverts}
        for number in range(1, 5):
            _, body, _ = await visitor.get(SEARCHES["immoweb"].format(number))
            assert {result["id"] for result in json.loads(body)["results"]} <= known

    visit("immoweb", check)


@pytest.mark.parametrize("portal", SEARCHES)
def test_half_of_the_pages_are_empty_though_the_total_is_right(portal: str) -> None:
    async def check(visitor: Visitor, simulator: Simulator) -> None:
        total, whole = await visitor.all_pages()
        await visitor.set("half_pages")
        count, pages = await visitor.all_pages()
        assert (count, len(pages)) == (total, len(whole))
        assert [ref for page in pages for ref in page] == [ref for page in whole for ref in page][: total // 2]
        assert pages[-1] == []

    visit(portal, check)


@pytest.mark.parametrize("portal", SEARCHES)
def test_an_error_page_is_not_a_listing_and_a_ban_page_has_its_kind(portal: str) -> None:
    async def check(visitor: Visitor, simulator: Simulator) -> None:
        await visitor.set("error_page")
        for what in ("search", "listing"):
            _, body, _ = await visitor.get(visitor.pages[what])
            assert b"went wrong" in body
            assert len(body) < 1000
        await visitor.set("blocked")
        assert b"challenge-platform" in (await visitor.get(visitor.pages["listing"]))[1]
        await visitor.set("all_redirected")
        assert (await visitor.get(visitor.pages["listing"]))[2] == visitor.site.base + visitor.site.index
        assert (await visitor.get(visitor.site.index))[0] == 200

    visit(portal, check, listings=60)


def test_refusals_are_counted_as_such() -> None:
    async def check(visitor: Visitor, simulator: Simulator) -> None:
        await visitor.set("down")
        await visitor.statuses()
        await visitor.set("blocked")
        await visitor.statuses()
        seen = simulator.stats["emlak"].as_record()
        assert seen["by_status"] == {"503": 4, "403": 4}
        assert seen["by_kind"] == {"search": 2, "listing": 4, "robots": 2, "other": 0}
        assert simulator.stats["emlak"].refusals == 8

    visit("emlak", check, listings=60)


def test_a_slow_search_does_not_delay_other_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    released = asyncio.Event()
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if seconds:
            await released.wait()

    async def check(visitor: Visitor, simulator: Simulator) -> None:
        await visitor.set("slow_search")
        monkeypatch.setattr("realestate.simulator.server.asyncio.sleep", sleep)
        search = asyncio.ensure_future(visitor.get(visitor.pages["search"]))
        assert (await visitor.get(visitor.pages["listing"]))[0] == 200
        assert not search.done()
        released.set()
        assert (await search)[0] == 200
        assert sorted(slept) == [0.0, weather.SLOW_SECONDS]

    visit("emlak", check, listings=60)


HOSTILE: list[Any] = [
    b"",
    b"{",
    b"null",
    b"[]",
    b"{}",
    b'"down"',
    b'{"kind": null}',
    b'{"kind": "rain"}',
    b'{"kind": "down", "until": 3}',
    b'{"kind": "\xff"}',
    b'{"kind": ' + b"[" * 100_000,
]


def test_invalid_weather_is_refused_and_changes_nothing() -> None:
    async def go() -> None:
        async with running(World(1, 5)) as simulator, ClientSession() as session:
            control = simulator.bases["control"]
            for body in HOSTILE:
                async with session.post(f"{control}/_weather/emlak", data=body) as response:
                    assert response.status == 400, body[:40]
                    assert "half_empty" in (await response.json())["error"]
            async with session.post(f"{control}/_weather/nowhere", json={"kind": "down"}) as response:
                assert response.status == 404
            async with session.get(f"{control}/_weather") as response:
                assert await response.json() == dict.fromkeys(PORTALS, "fine")

    asyncio.run(go())


def test_every_kind_is_explained() -> None:
    documented = [line.split()[0] for line in (weather.__doc__ or "").splitlines() if line.startswith("    ")]
    assert sorted(documented) == sorted(WEATHERS)
