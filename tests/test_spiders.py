"""Rules for every portal. A new portal needs no test file."""

import ast
import re
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest
from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader

from realestate.crawling import PortalSpider, SearchSpider
from realestate.items.others import OTHERS as KINDS
from realestate.jobs import work
from realestate.simulator.adversary.ban_pages import BAN_PAGES, LOGIN
from tests import recorded

RECORDED = Path(__file__).parent / "portals"
FOLDER = Path(__file__).parents[1] / "realestate" / "spiders"
MODULES = sorted(FOLDER.glob("[!_]*.py"))
#: Every spider has its own file. A long table of words is a file beside it.
EVERYTHING = sorted(path.stem for path in MODULES if not path.stem.endswith("_words"))
PORTALS = [portal for portal in EVERYTHING if issubclass(recorded.spider_class(portal), PortalSpider)]
#: The rooms that a portal's file may import. Of `crawling` it imports the package, never a module inside.
IMPORTED = re.compile(r"realestate\.(?:crawling|items(?:\.\w+)*|parsing(?:\.\w+)*|spiders)")


def portal_of(path: Path) -> str:
    """`lalafo_category_words` and `lalafo_words` are the words of `lalafo`."""
    return path.stem.partition("_")[0]


@pytest.fixture
def spider(portal: str) -> Any:
    return recorded.spider_class(portal)


def test_scrapy_lists_every_portal() -> None:
    settings = Settings()
    settings.setmodule("realestate.settings", priority="project")
    assert sorted(get_spider_loader(settings).list()) == EVERYTHING
    assert (work.all_portals(), work.portals()) == (EVERYTHING, PORTALS)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
class TestEveryFile:
    def test_a_file_is_a_portal_or_the_words_of_a_portal(self, path: Path) -> None:
        tree = ast.parse(path.read_text("utf-8"))
        spiders = [node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.name.endswith("Spider")]
        if path.stem.endswith("_words"):
            assert spiders == []
            assert portal_of(path) in EVERYTHING
        else:
            assert len(spiders) == 1

    def test_a_file_imports_only_the_package_crawling(self, path: Path) -> None:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("realestate"):
                assert IMPORTED.fullmatch(node.module or ""), node.module
                if node.module == "realestate.spiders":
                    assert all(re.fullmatch(rf"{portal_of(path)}_(?:\w+_)?words", name.name) for name in node.names)

    def test_a_file_assigns_one_name_per_line(self, path: Path) -> None:
        """`country, currency = "AZ", "AZN"` hides what a portal declares."""
        tree = ast.parse(path.read_text("utf-8"))
        bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
        packed = [
            node.lineno
            for body in bodies
            for node in body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)
        ]
        assert packed == []


@pytest.mark.parametrize("portal", EVERYTHING)
class TestEverySpider:
    def test_file_name_and_class_name_agree(self, portal: str, spider: Any) -> None:
        assert spider.__name__ == portal.title().replace("_", "") + "Spider"
        assert spider.name == portal
        assert issubclass(spider, SearchSpider)
        bases = spider.__mro__[1 : spider.__mro__.index(SearchSpider)]
        assert len(bases) <= 2, "PortalSpider, and one base of portals of the same form"
        assert spider.kind in ("listing", *KINDS)

    def test_the_site_is_a_scheme_and_a_host(self, portal: str, spider: Any) -> None:
        """`parsing.urls` appends paths."""
        parts = urlsplit(spider.site)
        assert spider.site == f"{parts.scheme}://{parts.netloc}"

    def test_no_ban_page_contains_a_page_mark(self, portal: str, spider: Any) -> None:
        for mark in spider.page_marks:
            assert len(mark) > 8, "so short a text may be on any page"
            assert not any(mark in ban_page for ban_page in (*BAN_PAGES.values(), LOGIN))
        pages = [path for path in (RECORDED / portal).glob("*.html") if spider.page_marks]
        assert all(any(mark in page.read_bytes() for mark in spider.page_marks) for page in pages), (
            "a mark must be on every recorded page"
        )

    def test_the_docstring_says_where_the_data_are(self, portal: str) -> None:
        docstring = ast.get_docstring(ast.parse((FOLDER / f"{portal}.py").read_text("utf-8")))
        assert docstring is not None
        assert len(docstring) > 80

    def test_the_site_is_a_https_address(self, portal: str, spider: Any) -> None:
        assert spider.site.startswith("https://")
        assert not spider.site.endswith("/")

    def test_the_terms_and_the_robots_policy_are_declared(self, portal: str, spider: Any) -> None:
        assert spider.terms.startswith("https://")
        assert spider.checked_on >= date(2026, 11, 15)
        assert spider.robots == "obeyed" or len(spider.robots) > 20, "say why robots.txt is not obeyed"
        assert spider.rate_limit is None or 0 < spider.rate_limit <= 1

    def test_seed_urls_belong_to_the_portal_and_are_not_listings(self, portal: str, spider: Any) -> None:
        own = spider()
        urls = spider.seed_urls()
        assert urls
        for url in urls:
            assert own.owns(url)
            assert own.ref_of(url) is None

    def test_an_address_in_the_form_of_the_portal_is_one_of_its_items(self, portal: str, spider: Any) -> None:
        own = spider()
        assert own.owns(own.url_of("1"))
        for ref in recorded.refs(portal):
            assert own.ref_of(own.url_of(ref)) == own.ref_of(own.site + own.item_form.format(ref=ref)) == ref

    def test_a_spider_has_no_custom_settings(self, portal: str, spider: Any) -> None:
        assert not spider.custom_settings, "rate limit and concurrency are the fleet's"

    def test_there_are_recorded_pages_of_both_kinds(self, portal: str, spider: Any) -> None:
        names = {path.stem.split("-")[0] for path in recorded.expectations() if path.parent.name == portal}
        assert {"search", spider.kind} <= names


@pytest.mark.parametrize("portal", PORTALS)
class TestPortal:
    def test_a_portal_has_a_country_a_currency_and_a_time_zone(self, portal: str, spider: Any) -> None:
        assert issubclass(spider, PortalSpider)
        assert len(spider.country) == 2
        assert len(spider.currency) == 3
        assert isinstance(spider.timezone, ZoneInfo)

    def test_no_recorded_page_contains_a_person(self, portal: str, spider: Any) -> None:
        for expected in recorded.expectations():
            if expected.parent.name == portal:
                made = recorded.read(expected).get("listing", {})
                assert "Uydurma Ad" not in str(made)
                assert "Somebody Invented" not in str(made)
                assert "000-00-00" not in str(made)
