"""What somebody asks for, and which searches of a portal show it."""

import pytest

from realestate.crawling.scope import Covers, Scope, city_key, selected, slug
from realestate.crawling.seeds import BadSeed
from realestate.items import Listing
from realestate.jobs.work import portals, spider_class
from realestate.spiders.immoweb_words import search_from_browser

HOME = Listing(portal="immoweb", ref="1", url="https://www.immoweb.be/en/classified/1", country="BE")


def listing(**fields: object) -> Listing:
    values = {"portal": "immoweb", "ref": "1", "url": HOME.url, "country": "BE"}
    return Listing(**values | fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Bakı", "baku"),
        ("Gəncə", "GANJA"),
        ("Ghent", "gent"),
        ("Kraków", "Cracow"),
        ("Łódź", "lodz"),
        ("Liège", "liege"),
    ],
)
def test_spellings_of_one_city_are_equal(one: str, other: str) -> None:
    assert city_key(one) == city_key(other)


def test_different_cities_are_not_equal() -> None:
    assert city_key("Gent") != city_key("Gentbrugge")


def test_a_city_becomes_a_part_of_a_url() -> None:
    assert slug("Dún Laoghaire") == "dun-laoghaire"


def test_a_scope_survives_its_text() -> None:
    scope = Scope(operation="rent", type="apartment", city="Dún Laoghaire")
    assert Scope.parse(str(scope)) == scope
    assert Scope.parse("") == Scope()


@pytest.mark.parametrize("text", ["operation=lease", "type=castle", "colour=red", "city=", "rent"])
def test_an_unknown_part_of_a_scope_is_refused(text: str) -> None:
    with pytest.raises(BadSeed):
        Scope.parse(text)


def test_a_missing_value_counts_as_right_only_if_the_site_has_filtered_by_it() -> None:
    scope = Scope(operation="rent")
    assert scope.includes(listing(operation="rent"), ())
    assert not scope.includes(listing(operation="sale"), ("operation",))
    assert scope.includes(listing(operation=None), ("operation",))
    assert not scope.includes(listing(operation=None), ())


def test_a_site_that_searches_by_city_decides_what_belongs_to_it() -> None:
    scope = Scope(city="London")
    assert scope.includes(listing(city="Camden"), ("city",))
    assert not scope.includes(listing(city="Camden"), ())
    assert not scope.may_include("Camden")
    assert scope.may_include(None)


def test_searches_are_selected_by_the_words_in_them() -> None:
    words = {
        "/sale/": Covers(operation="sale"),
        "/rent/": Covers(operation="rent"),
        "/flats": Covers(types=("apartment",)),
    }
    searches = ("/sale/flats", "/rent/flats", "/rent/all")
    assert selected(searches, words, Scope(operation="rent")) == ["/rent/flats", "/rent/all"]
    assert selected(searches, words, Scope(type="house")) == ["/rent/all"]
    assert selected(searches, words, Scope()) == list(searches)


@pytest.mark.parametrize("portal", portals())
def test_each_search_of_a_portal_is_selected_by_some_operation_and_type(portal: str) -> None:
    spider = spider_class(portal)
    if not {"operation", "type"} <= spider.site_filters() or not spider.search_words:
        return
    found = {
        search
        for operation in ("sale", "rent")
        for kind in ("apartment", "house", "land", "commercial", "garage", "room", "office", "building", "other")
        for search in selected(spider.searches, spider.search_words, Scope(operation=operation, type=kind))
    }
    assert found == set(spider.searches)


@pytest.mark.parametrize(
    ("url", "path", "query"),
    [
        ("https://www.immoweb.be/en/search/house/for-sale?countries=BE", "house/for-sale", "countries=BE"),
        ("https://www.immoweb.be/nl/zoeken/huis/te-koop/gent/9000", "house/for-sale", "postalCodes=9000&countries=BE"),
        (
            "https://www.immoweb.be/fr/recherche/maison-et-appartement/a-louer",
            "house-and-apartment/for-rent",
            "countries=BE",
        ),
        (
            "https://www.immoweb.be/en/search-results/land/for-sale?countries=BE&page=2",
            "land/for-sale",
            "countries=BE&page=2",
        ),
    ],
)
def test_a_search_copied_from_the_browser_is_understood(url: str, path: str, query: str) -> None:
    assert search_from_browser(url) == f"https://www.immoweb.be/en/search-results/{path}?{query}"


def test_a_place_without_a_postal_code_is_refused_with_what_to_do() -> None:
    with pytest.raises(BadSeed, match="use /east-flanders/<postal code> or --city"):
        search_from_browser("https://www.immoweb.be/en/search/house/for-sale/east-flanders/province")
