"""Rules every portal keeps; a new one needs no test file of its own."""

import ast
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest
from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader

from realestate.crawling.base import PortalSpider
from realestate.crawling.engine import SearchSpider
from realestate.items.others import OTHERS as KINDS
from realestate.jobs import work
from realestate.simulator.adversary.ban_pages import LOGIN, WALLS
from tests import recorded

RECORDED = Path(__file__).parent / "portals"
FOLDER = Path(__file__).parents[1] / "realestate" / "spiders"
#: Portals that prove their family: all they have of their own is where the data sits.
SMALL = ("daft", "willhaben", "otodom", "onthemarket", "property24")
#: Portals of their own kind. What their words mean stands in `words/`, what two of them share in a module beside.
LARGE = ("bina", "emlak", "immoweb", "lalafo", "tap")
#: What collects no homes: only what every spider keeps to is asked of it.
OTHERS = ("ecommerce", "finance")
EVERYTHING = sorted(path.stem for path in FOLDER.glob("[!_]*.py") if not path.stem.endswith("_words"))
PORTALS = [portal for portal in EVERYTHING if portal not in OTHERS]


@pytest.fixture
def spider(portal: str) -> Any:
    return recorded.spider_class(portal)


def test_scrapy_lists_every_portal() -> None:
    settings = Settings()
    settings.setmodule("realestate.settings", priority="project")
    assert sorted(get_spider_loader(settings).list()) == EVERYTHING
    assert (work.all_portals(), work.portals()) == (EVERYTHING, PORTALS)


@pytest.mark.parametrize(
    ("portal", "most"), [*((portal, 50) for portal in SMALL), *((portal, 120) for portal in LARGE)]
)
def test_a_portal_is_one_short_file(portal: str, most: int) -> None:
    assert 30 <= len((FOLDER / f"{portal}.py").read_text("utf-8").splitlines()) <= most


@pytest.mark.parametrize("portal", EVERYTHING)
class TestEverySpider:
    def test_its_file_name_and_class_are_one(self, portal: str, spider: Any) -> None:
        assert spider.__name__ == portal.title().replace("_", "") + "Spider"
        assert spider.name == portal
        assert issubclass(spider, SearchSpider)
        assert spider.kind in ("listing", *KINDS)

    def test_its_site_is_no_more_than_a_host(self, portal: str, spider: Any) -> None:
        """`parsing.urls` puts paths behind it."""
        parts = urlsplit(spider.site)
        assert spider.site == f"{parts.scheme}://{parts.netloc}"

    def test_no_wall_has_its_mark(self, portal: str, spider: Any) -> None:
        for mark in spider.page_marks:
            assert len(mark) > 8, "a word that may stand anywhere"
            assert not any(mark in wall for wall in (*WALLS.values(), LOGIN))
        pages = [path for path in (RECORDED / portal).glob("*.html") if spider.page_marks]
        assert all(any(mark in page.read_bytes() for mark in spider.page_marks) for page in pages), "or it is of no use"

    def test_its_docstring_says_where_the_data_sits(self, portal: str) -> None:
        docstring = ast.get_docstring(ast.parse((FOLDER / f"{portal}.py").read_text("utf-8")))
        assert docstring is not None
        assert len(docstring) > 80

    def test_it_says_what_it_is(self, portal: str, spider: Any) -> None:
        assert spider.site.startswith("https://")
        assert not spider.site.endswith("/")

    def test_it_says_how_we_stand_to_it(self, portal: str, spider: Any) -> None:
        assert spider.terms.startswith("https://")
        assert spider.checked_on >= date(2026, 11, 15)
        assert spider.robots == "obeyed" or len(spider.robots) > 20, "why not?"
        assert spider.pace is None or 0 < spider.pace <= 1

    def test_its_searches_are_its_own_and_no_listings(self, portal: str, spider: Any) -> None:
        own = spider()
        urls = spider.seed_urls()
        assert urls
        for url in urls:
            assert own.owns(url)
            assert own.ref_of(url) is None

    def test_an_address_in_its_form_is_one_of_its_items(self, portal: str, spider: Any) -> None:
        own = spider()
        assert own.owns(own.url_of("1"))
        for ref in recorded.refs(portal):
            assert own.ref_of(own.url_of(ref)) == own.ref_of(own.site + own.item_form.format(ref=ref)) == ref

    def test_it_asks_for_no_faster_pace(self, portal: str, spider: Any) -> None:
        assert not spider.custom_settings, "pace and concurrency are the fleet's, not a portal's"

    def test_it_has_recorded_pages_of_both_kinds(self, portal: str, spider: Any) -> None:
        names = {path.stem.split("-")[0] for path in recorded.expectations() if path.parent.name == portal}
        assert {"search", spider.kind} <= names


@pytest.mark.parametrize("portal", PORTALS)
class TestPortal:
    def test_it_is_of_homes(self, portal: str, spider: Any) -> None:
        assert issubclass(spider, PortalSpider)
        assert len(spider.country) == 2
        assert len(spider.currency) == 3
        assert isinstance(spider.timezone, ZoneInfo)

    def test_no_recorded_page_holds_a_person(self, portal: str, spider: Any) -> None:
        for expected in recorded.expectations():
            if expected.parent.name == portal:
                made = recorded.read(expected).get("listing", {})
                assert "Uydurma Ad" not in str(made)
                assert "Somebody Invented" not in str(made)
                assert "000-00-00" not in str(made)
