"""`realestate portal record` and `check`: a few live pages, asked for as politely as by a crawl."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.robotstxt import ProtegoRobotParser

from realestate.authoring.coverage import Share, shares
from realestate.authoring.visiting import Visit
from realestate.demo.simulators import simulator_process
from tests.authoring.conftest import Run
from tests.end_to_end.conftest import Simulated

LISTINGS = 40
EMLAK_SEARCH = "/elanlar/?ann_type=3&sort_type=1&page=1"


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulated]:
    with ExitStack() as running:
        log = tmp_path_factory.mktemp("simulator") / "log"
        yield Simulated(running.enter_context(simulator_process(log, LISTINGS, 7)))


@pytest.fixture
def portal(run: Run, simulated: Simulated) -> Callable[..., tuple[int, str, str]]:
    def portal(*arguments: str, **env: str) -> tuple[int, str, str]:
        done = run("realestate", "portal", *arguments, SIMULATOR_URL=simulated.url, **env)
        return done.returncode, done.stdout, done.stderr

    return portal


Portal = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("name", ["emlak", "immoweb"])
def test_a_recorded_listing_is_the_truth_and_passes_the_walker(
    portal: Portal, run: Run, simulated: Simulated, checkout: Path, name: str
) -> None:
    truth = next(each for each in simulated.truth(name) if each["price"])
    code, out, err = portal("record", name, truth["url"], "--as", "listing-live")
    assert code == 0, err
    told = json.loads((checkout / "tests/portals" / name / "listing-live.json").read_text("utf-8"))
    for field in ("ref", "price", "currency", "operation", "property_type", "title", "city"):
        assert told["listing"].get(field) == truth[field]
    assert "127.0.0.1" not in str(told), "as on the real site"
    assert out.count(f"tests/portals/{name}/listing-live") == 2
    done = run("pytest", "tests/test_portals.py", "-n", "0", "-k", f"{name} or every", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout[-2000:]
    code, _, err = portal("record", name, truth["url"], "--as", "listing-live")
    assert (code, err) == (1, f"realestate: listing-live of {name} is there already\n")


def test_a_search_is_recorded_too(portal: Portal, simulated: Simulated, checkout: Path) -> None:
    code, _, err = portal("record", "emlak", simulated.portals["emlak"] + EMLAK_SEARCH, "--as", "search-live")
    assert code == 0, err
    told = json.loads((checkout / "tests/portals/emlak/search-live.json").read_text("utf-8"))
    assert told["url"] == "https://emlak.az" + EMLAK_SEARCH
    assert len(told["found"]) >= 20, "and some that are pinned"
    assert told["total"] == LISTINGS


def test_a_page_the_parser_cannot_read_is_kept_for_who_writes_it(
    portal: Portal, simulated: Simulated, checkout: Path
) -> None:
    spider = checkout / "realestate/spiders/emlak.py"
    spider.write_text(spider.read_text("utf-8").replace('"h1.title"', '"h1.renamed"'), "utf-8")
    code, out, err = portal("record", "emlak", simulated.truth("emlak")[0]["url"], "--as", "listing-new")
    assert code == 0, err
    assert "cannot read it yet: no title" in out
    assert json.loads((checkout / "tests/portals/emlak/listing-new.json").read_text("utf-8"))["listing"] == {}


def test_it_asks_robots_txt_first_and_obeys(portal: Portal, simulated: Simulated, checkout: Path) -> None:
    before = simulated._json("/_stats")["emlak"]
    code, _, err = portal("record", "emlak", simulated.portals["emlak"] + "/_private/x", "--as", "search-x")
    assert code == 1
    assert "Forbidden by robots.txt" in err
    assert err.count("\n") == 1
    after = simulated._json("/_stats")["emlak"]
    assert after["requests"] - before["requests"] == 1, "robots.txt alone"
    assert not (checkout / "tests/portals/emlak/search-x.json").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["record", "emlak", "https://www.example.com/", "--as", "search-x"], 2, "is not a URL of emlak"),
        (["record", "nowhere", "https://www.example.com/", "--as", "search-x"], 2, "no portal 'nowhere'"),
        (["record", "emlak", "SITE/nothing", "--as", "search-x"], 1, "status 404"),
        (["record", "emlak", "SITE/nothing", "--as", "listing-x"], 1, "is a search: another name"),
        (["record", "emlak", "SITE/nothing", "--as", "../x"], 1, "a name such as listing-flat"),
        (["check", "nowhere"], 2, "no portal 'nowhere'"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    portal: Portal, simulated: Simulated, arguments: list[str], code: int, why: str
) -> None:
    arguments = [each.replace("SITE", simulated.portals["emlak"]) for each in arguments]
    told, _, err = portal(*arguments)
    assert told == code
    assert why in err
    assert err.count("\n") == 1


def test_check_shows_what_live_pages_tell(portal: Portal, simulated: Simulated) -> None:
    before = simulated.requests("immoweb")
    code, out, err = portal("check", "immoweb", "--pages", "4", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert (told["live"], told["unread"]) == (4, [])
    assert told["recorded"] >= 3
    live = {share["name"]: share["live"] for share in told["shares"]}
    assert live["operation"] == live["property_type"] == live["title"] == 100
    assert simulated.requests("immoweb") - before <= 1 + 1 + 2 * 4, "robots.txt, a search, and the listings"
    code, out, _ = portal("check", "emlak", "--pages", "2")
    assert code == 0
    assert "emlak: 2 live listings" in out
    assert "recorded %" in out


def test_check_fails_where_live_pages_cannot_be_read(portal: Portal, simulated: Simulated) -> None:
    simulated.weather("emlak", "error_page")
    try:
        code, out, err = portal("check", "emlak")
        assert code == 1
        assert (out + err).strip()
        assert "Traceback" not in err
    finally:
        simulated.weather("emlak", "fine")


def test_the_pace_is_kept(portal: Portal, simulated: Simulated) -> None:
    """robots.txt, a search and two listings: without a pace all four would come within a second."""
    before = simulated._json("/_stats")["emlak"]["by_second"]
    code, _, err = portal("check", "emlak", "--pages", "2", RATE_LIMIT="1")
    assert code == 0, err
    after = simulated._json("/_stats")["emlak"]["by_second"]
    asked = {second: count for second, count in after.items() if second not in before}
    assert sum(asked.values()) == 4
    assert max(asked.values()) <= 2, "one a second; a slow machine may bring two near each other"


def test_shares_are_of_those_that_tell() -> None:
    told = shares([{"price": 1}, {"price": 2, "rooms": 3}], [{"rooms": 1}])
    assert told == [Share("price", 100, 0), Share("rooms", 50, 100)]
    assert [share.is_lost for share in told] == [True, False]
    assert shares([], [{"price": 1}]) == [Share("price", None, 100)]


@pytest.mark.parametrize(
    ("robots", "seconds"),
    [("User-agent: *\nCrawl-delay: 3", 3.0), ("User-agent: other\nCrawl-delay: 3", 0.0), ("", 0.0)],
)
def test_the_crawl_delay_of_robots_txt_is_kept(robots: str, seconds: float) -> None:
    class Middleware:
        async def robot_parser(self, request: Request) -> ProtegoRobotParser:
            return ProtegoRobotParser(robots.encode(), None)

    crawler = SimpleNamespace(get_downloader_middleware=lambda kind: Middleware())
    spider = SimpleNamespace(crawler=crawler, settings={"USER_AGENT": "realestate/0.1"})
    assert asyncio.run(Visit(spider)._asked_for(Request("https://www.example.com/"))) == seconds
