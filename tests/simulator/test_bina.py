"""The simulated bina: what its searches, its pages of three forms, its sitemap and its telephones say."""

import json
import re
from collections import Counter
from typing import Any
from urllib.parse import urlencode

import pytest
from selectolax.lexbor import LexborHTMLParser

from realestate.simulator.bina import SHARD_SIZE
from realestate.simulator.bina.facts import facts_of
from realestate.simulator.bina.search import HASH
from realestate.simulator.site import Site
from tests.simulator.test_shapes import paths, shape


def asked(site: Site, *, hash: str = HASH, **variables: Any) -> dict[str, Any]:
    parameters = {
        "variables": {"first": 16, "filter": {}, "sort": "BUMPED_AT_DESC", **variables},
        "extensions": {"persistedQuery": {"version": 1, "sha256Hash": hash}},
    }
    query = {"operationName": "SearchItems", **{name: json.dumps(each) for name, each in parameters.items()}}
    response = site.response(f"/graphql?{urlencode(query)}")
    assert (response.status, response.kind) == (200, "search")
    found: dict[str, Any] = json.loads(response.body)
    return found


def pages(site: Site, **filter: Any) -> list[dict[str, Any]]:
    found = [asked(site, filter=filter)["data"]["itemsConnection"]]
    while found[-1]["pageInfo"]["hasNextPage"]:
        cursor = found[-1]["pageInfo"]["endCursor"]
        found.append(asked(site, filter=filter, cursor=cursor)["data"]["itemsConnection"])
    return found


def nodes(site: Site, **filter: Any) -> list[dict[str, Any]]:
    return [edge["node"] for page in pages(site, **filter) for edge in page["edges"]]


def test_the_cursor_shows_every_advert_once_except_promoted_ones(bina: Site) -> None:
    listed = {str(advert.ref) for advert in bina.world.listed("bina")}
    found = Counter(node["id"] for node in nodes(bina))
    assert set(found) == listed
    twice = {ref for ref, count in found.items() if count > 1}
    assert twice, "some are promoted"
    assert all(node["vipped"] for node in nodes(bina) if node["id"] in twice)
    assert {page["totalCount"] for page in pages(bina)} == {len(listed)}


def test_a_search_shows_the_true_values(bina: Site) -> None:
    truths = {row["ref"]: row for row in bina.truths()}
    for node in nodes(bina):
        truth = truths[node["id"]]
        assert (node["price"]["total"], node["rooms"], node["floor"]) == tuple(
            truth[name] for name in ("price", "rooms", "floor")
        )
        period = ("day" if node["paidDaily"] else "month") if node["leased"] else None
        assert (node["leased"], period) == (truth["operation"] == "rent", truth["rent_period"])


@pytest.mark.parametrize(
    "filter",
    [{"leased": True}, {"categoryId": "1", "cityId": "1"}, {"priceFrom": 100_000, "priceTo": 150_000}],
    ids=str,
)
def test_filters_find_a_part(bina: Site, filter: dict[str, Any]) -> None:
    found = nodes(bina, **filter)
    assert 0 < len(found) < len(nodes(bina))
    assert pages(bina, **filter)[0]["totalCount"] == len({node["id"] for node in found})


def test_an_unknown_query_hash_is_an_error_and_not_an_empty_response(bina: Site) -> None:
    response = asked(bina, hash="0" * 64)
    assert "data" not in response
    assert response["errors"][0]["message"] == "PersistedQueryNotFound"


@pytest.mark.parametrize("variables", [{"first": 17}, {"cursor": "?"}, {"filter": {"price_from": 1}}], ids=str)
def test_an_unknown_query_is_an_error(bina: Site, variables: dict[str, Any]) -> None:
    assert "data" not in asked(bina, **variables)


def test_searches_have_every_key_of_the_real_ones(bina: Site) -> None:
    assert set(paths(asked(bina))) == shape("bina_search")


def test_there_are_pages_of_each_form(bina: Site) -> None:
    forms: Counter[str] = Counter()
    for advert in bina.world.listed("bina"):
        page, form = bina.page(advert).body.decode(), facts_of(advert).form
        forms[form] += 1
        assert ("currentItemData" in page, "initialApolloState" in page, "product-properties__i" in page) == (
            form == "current",
            form == "apollo",
            form == "old",
        )
        assert ("csrf-token" in page) == (form == "old")
    assert min(forms.values()) > 20
    assert len(forms) == 3


@pytest.mark.parametrize("selector", sorted(shape("bina_old")))
def test_pages_of_the_old_form_have_the_elements_that_parsers_read(bina: Site, selector: str) -> None:
    found = (bina.page(advert).body for advert in bina.world.listed("bina") if facts_of(advert).form == "old")
    assert any(LexborHTMLParser(page).css_first(selector) for page in found)


def test_the_sitemap_names_every_advert(bina: Site) -> None:
    index = bina.response("/uploads/sitemaps/sitemap_items.xml").body.decode()
    shards = re.findall("<loc>(.*?)</loc>", index)
    assert len(shards) == -(-len(bina.world.listed("bina")) // SHARD_SIZE)
    places = [
        place
        for shard in shards
        for place in re.findall("<loc>(.*?)</loc>", bina.response(shard.removeprefix(bina.base)).body.decode())
    ]
    assert set(places) == {row["url"] for row in bina.truths()}


def test_telephones_are_sent_only_to_the_script_of_the_page(bina: Site) -> None:
    advert = next(each for each in bina.world.listed("bina") if facts_of(each).form == "old")
    address = f"{bina.path(advert)}/phones?source_link=x&trigger_button=main"
    assert bina.response(address).status == 422
    node = LexborHTMLParser(bina.page(advert).body).css_first("meta[name=csrf-token]")
    assert node is not None
    headers = {"x-requested-with": "XMLHttpRequest", "x-csrf-token": node.attributes["content"] or ""}
    assert json.loads(bina.response(address, headers=headers).body) == {"phones": list(facts_of(advert).phones)}
    assert bina.response(address, headers={**headers, "x-csrf-token": "other"}).status == 422
