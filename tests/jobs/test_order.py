"""What may be ordered: the schema, the portal's scopes, and errors that say what is allowed."""

import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from realestate.crawling import search_spider, seeds
from realestate.jobs.order import BadOrder, JobOrder, allowed_scopes, check_order, job_id_of, order_schema, read_order
from realestate.jobs.submit import seeds_of
from realestate.jobs.work import spider_class


def test_the_schema_is_a_json_schema_of_every_field() -> None:
    Draft202012Validator.check_schema(order_schema())
    assert set(order_schema()["properties"]) == set(JobOrder.__dataclass_fields__)
    assert all("description" in each for each in order_schema()["properties"].values())


def test_an_order_is_the_same_after_a_way_through_json() -> None:
    order = read_order({"portal": "bina", "operation": "sale", "deadline": "2h", "then": [{"report": True}]})
    assert read_order(order.as_json()) == order
    assert order.deadline_seconds == 7200
    assert JobOrder(portal="bina").as_json() == {"portal": "bina", "mode": "full"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mode": "fast"}, ["mode 'fast'", "full", "incremental"]),
        ({"operation": "swap"}, ["operation 'swap'", "one of sale, rent"]),
        ({"type": "castle"}, ["type 'castle'", "apartment"]),
        ({"deadline": "soon"}, ["'soon'", "2h"]),
        ({"pages": "5"}, ["'5'", "1-50"]),
        ({"priority": 5000}, ["priority", "1000"]),
        ({"prio": 5}, ["unknown field prio", "priority"]),
        ({"key": "a b"}, ["key"]),
        ({"then": [{"explode": 1}]}, ["explode", "submit", "report"]),
        ({"then": [{"submit": {"portal": "bina", "mode": "x"}}]}, ["mode 'x'"]),
        ({"limit": "many"}, ["limit"]),
    ],
)
def test_a_wrong_value_is_named_with_the_allowed_ones(changes: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(BadOrder) as raised:
        read_order({"portal": "bina", **changes})
    assert all(word in str(raised.value) for word in words), raised.value
    assert "\n" not in str(raised.value)


def test_a_portal_is_needed() -> None:
    with pytest.raises(BadOrder, match="portal is a required property"):
        read_order({})


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (JobOrder(portal="nowhere"), ["no portal 'nowhere'", "immoweb"]),
        (JobOrder(portal="bina", urls=("https://elsewhere.example/",)), ["elsewhere"]),
        (JobOrder(portal="tap", pages="1-5"), ["tap has no numbered pages"]),
        (JobOrder(portal="emlak", page_size=30), ["emlak shows 20 results a page"]),
        (JobOrder(portal="emlak", pages="9-5"), ["pages 9-5 is not a range"]),
        (JobOrder(portal="immoweb", pages="1-400"), ["immoweb shows pages 1-333"]),
        (JobOrder(portal="emlak", pages="1-2", mode="refresh"), ["refresh reads no search pages"]),
        (JobOrder(portal="ecommerce", operation="sale"), ["ecommerce", "has no scopes"]),
        (JobOrder(portal="bina", then=({"submit": {"portal": "nowhere"}},)), ["no portal 'nowhere'"]),
    ],
)
def test_what_the_portal_cannot_do_is_refused(order: JobOrder, words: list[str]) -> None:
    with pytest.raises(BadOrder) as raised:
        check_order(order, None)
    assert all(word in str(raised.value) for word in words), raised.value


@pytest.mark.parametrize(
    ("portal", "path"),
    [
        ("bina", "/baki/alqi-satqi/menziller"),
        ("daft", "/property-for-sale/dublin-city"),
        ("daft", "/property-for-sale/dublin-city/houses?sort=priceAsc"),
        ("daft", "/property-for-rent/dublin-4-dublin/apartments"),
        ("emlak", "/elanlar/?ann_type=1"),
        ("immoweb", "/en/search/house/for-sale/gent/9000?countries=BE&page=1&orderBy=relevance"),
        ("immoweb", "/nl/zoeken/huis-en-appartement/te-koop?countries=BE"),
        ("lalafo", "/azerbaijan/nedvizhimost"),
        ("onthemarket", "/for-sale/property/london/"),
        ("otodom", "/pl/wyniki/sprzedaz/mieszkanie/mazowieckie/warszawa?limit=36"),
        ("property24", "/for-sale/cape-town/western-cape/432"),
        ("tap", "/elanlar/dasinmaz-emlak/menziller"),
        ("willhaben", "/iad/immobilien/eigentumswohnung/eigentumswohnung-angebote?areaId=900"),
    ],
)
def test_a_search_copied_from_the_browser_is_understood(portal: str, path: str) -> None:
    url = spider_class(portal).site + path
    assert not spider_class(portal).is_item(spider_class(portal).site, url)
    assert list(check_order(JobOrder(portal=portal, urls=(url,)), None).urls) == [url]


@pytest.mark.parametrize("portal", ["daft", "emlak", "otodom", "willhaben"])
def test_any_other_address_is_refused_with_what_a_search_looks_like(portal: str) -> None:
    spider = spider_class(portal)
    with pytest.raises(BadOrder, match=re.escape(f"a search looks like {spider.site}{spider.searches[0]}")):
        check_order(JobOrder(portal=portal, urls=(f"{spider.site}/about-us",)), None)


def test_a_portal_that_the_simulator_does_not_have_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_spider, "simulated_portals", lambda simulator: {})
    why = "the simulator at http://127.0.0.1:8800 has no portal emlak: unset SIMULATOR_URL for its own site"
    url = "https://emlak.az/elanlar/?page=1"
    assert spider_class("emlak").refuses(url, "http://127.0.0.1:8800") == why
    for urls in ((), (url,)):
        with pytest.raises(BadOrder, match=re.escape(why)):
            check_order(JobOrder(portal="emlak", urls=urls), "http://127.0.0.1:8800")


def test_a_scope_selects_searches_of_the_portal() -> None:
    everything = check_order(JobOrder(portal="immoweb"), None)
    houses = check_order(JobOrder(portal="immoweb", operation="sale", type="house"), None)
    assert everything.is_everything
    assert not houses.is_everything
    assert houses.urls
    assert all("/house/for-sale" in url for url in houses.urls)
    assert allowed_scopes("immoweb")["operation"] == ["sale", "rent"]


def test_seeds_with_pages_are_seeds() -> None:
    (seed,) = map(str.encode, seeds_of("j", ["https://emlak.az/"], scope="all", pages="3-5"))
    read = seeds.parse(seed)
    assert (read.pages, read.scope) == ("3-5", ""), "pages 3 to 5 do not cover the portal"


def test_the_same_key_is_the_same_id() -> None:
    assert job_id_of("nightly-2026-11-18") == job_id_of("nightly-2026-11-18") != job_id_of("nightly-2026-11-19")
