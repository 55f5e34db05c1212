"""`realestate portal record` and `check`: a few live pages, fetched as politely as by a crawl."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.robotstxt import ProtegoRobotParser

from realestate.authoring.field_coverage import Share, shares
from realestate.authoring.live_pages import LivePages
from realestate.demo.simulators import simulator_process
from tests import recorded
from tests.authoring.conftest import Done, Run, run_in
from tests.end_to_end.conftest import Simulated

LISTINGS = 40
EMLAK_SEARCH = "/elanlar/?ann_type=3&sort_type=1&page=1"


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulated]:
    with ExitStack() as running:
        log = tmp_path_factory.mktemp("simulator") / "log"
        yield Simulated(running.enter_context(simulator_process(log, LISTINGS, 7)))


@pytest.fixture
def live(shared_checkout: Path, simulated: Simulated) -> Run:
    """`realestate portal …` in a process of its own: Scrapy's reactor can be started only once in a process."""

    def live(*arguments: str, folder: Path = shared_checkout, **env: str) -> Done:
        return run_in(folder, "realestate", "portal", *arguments, SIMULATOR_URL=simulated.url, **env)

    return live


@pytest.mark.parametrize("name", ["emlak", "immoweb"])
def test_a_recorded_listing_has_the_true_values_and_passes_the_test_of_recorded_pages(
    live: Run, command: Run, simulated: Simulated, shared_checkout: Path, name: str
) -> None:
    truth = next(each for each in simulated.truth(name) if each["price"])
    done = live("record", name, truth["url"], "--as", "listing-live")
    assert done.code == 0, done.err
    expectation = shared_checkout / "tests/portals" / name / "listing-live.json"
    values = json.loads(expectation.read_text("utf-8"))
    for field in ("ref", "price", "currency", "operation", "property_type", "title", "city"):
        assert values["listing"].get(field) == truth[field]
    assert "127.0.0.1" not in str(values), "as on the real site"
    assert done.out.count(f"tests/portals/{name}/listing-live") == 2
    assert recorded.page_of(expectation).exists()
    assert recorded.read(expectation) == values, "as tests/test_portals.py checks it"
    again = command("portal", "record", name, values["url"], "--as", "listing-live")
    assert again == (1, "", f"realestate: listing-live of {name} exists already; --force replaces it\n")


def test_a_search_is_recorded_too(live: Run, simulated: Simulated, shared_checkout: Path) -> None:
    done = live("record", "emlak", simulated.portals["emlak"] + EMLAK_SEARCH, "--as", "search-live")
    assert done.code == 0, done.err
    values = json.loads((shared_checkout / "tests/portals/emlak/search-live.json").read_text("utf-8"))
    assert values["url"] == "https://emlak.az" + EMLAK_SEARCH
    assert len(values["found"]) >= 20, "some results are pinned"
    assert values["total"] == LISTINGS


def test_a_page_that_cannot_be_parsed_yet_is_saved_too(live: Run, simulated: Simulated, checkout: Path) -> None:
    spider = checkout / "realestate/spiders/emlak.py"
    spider.write_text(spider.read_text("utf-8").replace('"h1.title"', '"h1.renamed"'), "utf-8")
    url = simulated.truth("emlak")[0]["url"]
    done = live("record", "emlak", url, "--as", "listing-new", folder=checkout)
    assert done.code == 0, done.err
    assert "cannot read the page yet: no title" in done.out
    assert json.loads((checkout / "tests/portals/emlak/listing-new.json").read_text("utf-8"))["listing"] == {}


def test_robots_txt_is_fetched_first_and_obeyed(live: Run, simulated: Simulated, shared_checkout: Path) -> None:
    before = simulated._json("/_stats")["emlak"]
    done = live("record", "emlak", simulated.portals["emlak"] + "/_private/x", "--as", "search-x")
    assert done.code == 1
    assert "Forbidden by robots.txt" in done.err
    assert done.err.count("\n") == 1
    after = simulated._json("/_stats")["emlak"]
    assert after["requests"] - before["requests"] == 1, "robots.txt alone"
    assert not (shared_checkout / "tests/portals/emlak/search-x.json").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["record", "emlak", "https://www.example.com/", "--as", "search-x"], 2, "not a URL of https://emlak.az"),
        (["record", "nowhere", "https://www.example.com/", "--as", "search-x"], 2, "no portal 'nowhere'"),
        (["record", "emlak", "https://emlak.az/nothing", "--as", "../x"], 1, "use a name such as listing-flat"),
        (["check", "nowhere"], 2, "no portal 'nowhere'"),
    ],
)
def test_a_wrong_argument_is_one_line_of_error(command: Run, arguments: list[str], code: int, why: str) -> None:
    done = command("portal", *arguments)
    assert done.code == code
    assert why in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(("name", "why"), [("search-x", "status 404"), ("listing-x", "is a search: use another name")])
def test_a_page_that_is_not_recorded_is_one_line_of_error(live: Run, simulated: Simulated, name: str, why: str) -> None:
    done = live("record", "emlak", simulated.portals["emlak"] + "/nothing", "--as", name)
    assert done.code == 1
    assert why in done.err
    assert done.err.count("\n") == 1


def test_check_shows_the_fields_of_live_pages(live: Run, simulated: Simulated) -> None:
    before = simulated.requests("immoweb")
    done = live("check", "immoweb", "--pages", "4", "--json")
    assert done.code == 0, done.err
    coverage = json.loads(done.out)
    assert (coverage["live"], coverage["unread"]) == (4, [])
    assert coverage["recorded"] >= 3
    shares = {share["name"]: share["live"] for share in coverage["shares"]}
    assert shares["operation"] == shares["property_type"] == shares["title"] == 100
    assert simulated.requests("immoweb") - before <= 1 + 1 + 2 * 4, "robots.txt, a search, and the listings"


def test_check_fails_if_live_pages_cannot_be_parsed(live: Run, simulated: Simulated) -> None:
    simulated.weather("emlak", "error_page")
    try:
        done = live("check", "emlak")
        assert done.code == 1
        assert (done.out + done.err).strip()
        assert "Traceback" not in done.err
    finally:
        simulated.weather("emlak", "fine")


def test_check_keeps_the_rate_limit_and_prints_a_table(live: Run, simulated: Simulated) -> None:
    """robots.txt, a search and two listings: without a rate limit all four would come within a second."""
    before = simulated._json("/_stats")["emlak"]["by_second"]
    done = live("check", "emlak", "--pages", "2", RATE_LIMIT="1")
    assert done.code == 0, done.err
    assert "emlak: 2 live listings" in done.out
    assert "recorded %" in done.out
    after = simulated._json("/_stats")["emlak"]["by_second"]
    sent = {second: count for second, count in after.items() if second not in before}
    assert sum(sent.values()) == 4
    assert max(sent.values()) <= 2, "one per second; on a slow machine two may come close together"


def test_a_share_counts_the_listings_that_have_the_field() -> None:
    found = shares([{"price": 1}, {"price": 2, "rooms": 3}], [{"rooms": 1}])
    assert found == [Share("price", 100, 0), Share("rooms", 50, 100)]
    assert [share.is_lost for share in found] == [True, False]
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
    assert asyncio.run(LivePages(spider)._robots_delay(Request("https://www.example.com/"))) == seconds
