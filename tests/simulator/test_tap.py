"""The simulated tap: its pages say what the truth says, and its search finds all of it."""

import json
from collections import Counter
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from realestate.simulator.adverts import Advert
from realestate.simulator.server import Simulator
from realestate.simulator.site import Site
from realestate.simulator.tap import Tap
from realestate.simulator.world import World

CATEGORY = {"menziller": "Z2lkOi8vdGFwL0NhdGVnb3J5LzYzNQ", "heyet-evleri": "Z2lkOi8vdGFwL0NhdGVnb3J5LzYwMQ=="}
SEARCH = """query($f: AdFilterInput, $n: Int, $a: String) { adSearch(filters: $f, source: DESKTOP) {
  ads(first: $n, after: $a) { totalCount nodes { legacyResourceId price } pageInfo { endCursor hasNextPage } } } }"""


def graphql(site: Site, query: str, **variables: Any) -> Any:
    body = json.dumps({"query": query, "variables": variables}).encode()
    response = site.response("/graphql", body=body)
    assert response.status == 200
    return json.loads(response.body)


def ads(site: Site, **variables: Any) -> Any:
    return graphql(site, SEARCH, **variables)["data"]["adSearch"]["ads"]


def cache(site: Site, advert: Advert) -> dict[str, Any]:
    script = LexborHTMLParser(site.response(site.path(advert)).body).css_first("script#__NEXT_DATA__")
    return {} if script is None else json.loads(script.text())["props"]["pageProps"]["apolloState"]


@pytest.fixture(scope="module")
def adverts(world: World) -> list[Advert]:
    return world.listed("tap")


def test_both_forms_of_a_page_have_the_true_values(tap: Site, adverts: list[Advert]) -> None:
    forms: Counter[str] = Counter()
    for advert in adverts:
        truth, state = tap.truth(advert), cache(tap, advert)
        page = LexborHTMLParser(tap.response(tap.path(advert)).body)
        title: Any = page.css_first("h1")
        assert title.text() == truth["title"]
        if state:
            forms["new"] += 1
            own = [ad for key, ad in state.items() if key.startswith("Ad:") and ad["legacyResourceId"] == advert.ref]
            rows = {each["name"]: each["value"] for each in own[0]["properties"]}
            assert len(own) == 1
            assert own[0]["price"] == truth["price"]
        else:
            forms["old"] += 1
            labels, values = page.css(".product-properties__i-name"), page.css(".product-properties__i-value")
            rows = {label.text(): value.text() for label, value in zip(labels, values, strict=True)}
        assert rows.get("Otaq sayı") == (None if truth["rooms"] is None else str(truth["rooms"]))
        assert rows["Şəhər"] == truth["city"]
        assert ("Kirayə müddəti" in rows) == (truth["operation"] == "rent")
        size = float(next(value for name, value in rows.items() if "Sahə" in name).split()[0].replace(",", "."))
        assert size == (truth["area_m2"] or truth["plot_m2"] / 100)
    assert set(forms) == {"new", "old"}


def test_a_page_has_similar_adverts_before_its_own(tap: Site, adverts: list[Advert]) -> None:
    for advert in adverts:
        numbers = [ad["legacyResourceId"] for key, ad in cache(tap, advert).items() if key.startswith("Ad:")]
        assert numbers.index(advert.ref) == len(numbers) - 1 > 5 if numbers else True


def test_the_cursor_leads_to_every_advert_once(tap: Site, adverts: list[Advert]) -> None:
    seen: Counter[int] = Counter()
    for category, ids in (("menziller", CATEGORY["menziller"]), ("heyet-evleri", CATEGORY["heyet-evleri"])):
        after, more, total = None, True, 0
        while more:
            page = ads(tap, f={"categoryId": ids}, n=36, a=after)
            seen.update(node["legacyResourceId"] for node in page["nodes"])
            after, more, total = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"], page["totalCount"]
        assert total == sum(category in tap.path(advert) for advert in adverts)
    assert seen == Counter(
        advert.ref for advert in adverts if "menz" in tap.path(advert) or "heyet" in tap.path(advert)
    )
    assert ads(tap, f={}, n=36)["pageInfo"]["endCursor"] == "MzY"


def test_filters_are_honoured_and_a_page_has_a_limit(tap: Site, adverts: list[Advert]) -> None:
    found = ads(tap, f={"price": {"from": 50_000, "to": 90_000}, "regionId": "Z2lkOi8vdGFwL1JlZ2lvbi80MjA"}, n=100)
    asked = [each for each in adverts if 50_000 <= each.asking <= 90_000 and each.home.place.city == "Bakı"]
    assert found["totalCount"] == len(asked)
    assert len(ads(tap, f={}, n=5000)["nodes"]) == 100


def test_a_web_address_finds_the_same(tap: Site) -> None:
    link = "/elanlar/dasinmaz-emlak/menziller?q[region_id]=420&q[price][]=&q[price][]=90000"
    query = "query($l: String) { ads(first: 10, source: MOBILE, sourceLink: $l) { edges { node { path } } } }"
    edges = graphql(tap, query, l=link)["data"]["ads"]["edges"]
    assert len(edges) == 10
    assert {tuple(edge["node"]) for edge in edges} == {("path",)}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("{ adSearch(source: DESKTOP) { ads { nodes { telephone } } } }", "Field 'telephone' doesn't exist"),
        ("{ users { name } }", "Field 'users' doesn't exist"),
        ('{ adSearch(source: DESKTOP) { ads(after: "***") { totalCount } } }', "Invalid cursor"),
        ("{ adSearch { ads {", "Parse error"),
        ("", "Parse error"),
    ],
)
def test_a_query_for_something_unknown_is_an_error_with_a_message(tap: Site, query: str, message: str) -> None:
    assert graphql(tap, query)["errors"][0]["message"].startswith(message)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"query": 7}', b"\xff", b'{"query":"' + b"{a" * 9000 + b'"}'])
def test_every_invalid_post_gets_an_error_response(tap: Site, body: bytes) -> None:
    assert "errors" in json.loads(tap.response("/graphql", body=body).body)


def test_filters_find_nothing_from_another_source(tap: Site) -> None:
    query = SEARCH.replace("DESKTOP", "MOBILE")
    assert graphql(tap, query, f={}, n=10)["data"]["adSearch"]["ads"]["totalCount"] == 0


def test_telephones_are_sent_in_both_ways(tap: Site, adverts: list[Advert]) -> None:
    ref = adverts[0].ref
    old = tap.response(f"/ads/{ref}/phones", body=b"")
    assert old.status == 422
    headers = {"x-csrf-token": "uydurma-nisan", "x-requested-with": "XMLHttpRequest"}
    phones = json.loads(tap.response(f"/ads/{ref}/phones", headers=headers, body=b"").body)["phones"]
    state = next(state for advert in adverts if (state := cache(tap, advert)))
    query = "mutation($id: ID) { createCall(adId: $id, source: DESKTOP) { entity } }"
    key = [key for key in state if key.startswith("Ad:")][-1]
    assert graphql(tap, query, id=key[3:])["data"]["createCall"]["entity"]
    assert phones
    assert graphql(tap, query, id="x")["data"]["createCall"]["entity"] is None


def test_an_advert_can_be_removed_in_every_way(simulator: Simulator) -> None:
    site, ways = simulator.sites["tap"], Counter[str]()
    for _ in range(6):
        simulator.advance()
    for advert in simulator.world.gone("tap"):
        response = site.response(site.path(advert))
        is_marked = response.status == 200 and b'"status":"EXPIRED"' in response.body
        ways["expired" if is_marked else str(response.status)] += 1
    assert set(ways) == {"404", "410", "expired"}
    assert site.response("/elanlar/dasinmaz-emlak/menziller/1").status == 404


def test_any_category_path_leads_to_the_advert(tap: Site, adverts: list[Advert]) -> None:
    response = tap.response(f"/elanlar/elektronika/x/{adverts[0].ref}")
    assert (response.status, response.location) == (301, tap.base + tap.path(adverts[0]))


def test_a_page_of_the_older_form_says_today_only_today() -> None:
    world = World(seed=5, listings=1500)
    site = Tap(world, "http://tap.test")

    def today() -> set[Advert]:
        return {advert for advert in world.listed("tap") if b"Bug\xc3\xbcn" in site.response(site.path(advert)).body}

    world.advance()
    site.drop_pages(world.listed("tap"))
    updated = {advert: advert.updated_at for advert in today()}
    world.advance()
    site.drop_pages(())
    unchanged = {advert for advert in updated if advert.gone is None and advert.updated_at == updated[advert]}
    assert unchanged
    assert not today() & unchanged


def test_the_older_list_is_endless_by_links(tap: Site) -> None:
    target, seen = "/elanlar/dasinmaz-emlak/menziller", set[str]()
    while target:
        page = LexborHTMLParser(tap.response(target).body)
        seen |= {link.attributes["href"] or "" for link in page.css(".products-i > a.products-link")}
        following = page.css_first('div.pagination a[href*="cursor="]')
        target = (following.attributes["href"] or "") if following else ""
    assert seen == {tap.path(advert) for advert in tap.world.listed("tap") if "menziller" in tap.path(advert)}
