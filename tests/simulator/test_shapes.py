"""The simulated documents have the shape of the real ones: nothing missing, nothing made up."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from realestate.simulator.site import Site

SHAPES = Path(__file__).parent.parent / "shapes"
FILTERS = "&postalCodes=BE-9000,1000,4000,1050&minPrice=1&maxPrice=99999999&minSurface=1&maxSurface=9999"


def shape(name: str) -> set[str]:
    lines = (SHAPES / f"{name}.txt").read_text().splitlines()
    return {line for line in lines if line and not line.startswith("# ") and line != "#"}


def paths(value: Any, prefix: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield prefix + key
            yield from paths(part, f"{prefix}{key}.")
    elif isinstance(value, list):
        for part in value:
            yield from paths(part, prefix.removesuffix(".") + "[].")


def test_classified_pages_have_every_key_of_the_real_ones_and_no_other(
    immoweb: Site, embedded: Callable[[bytes], dict[str, Any]]
) -> None:
    found: set[str] = set()
    for advert in immoweb.world.listed("immoweb"):
        found.update(paths(embedded(immoweb.page(advert).body)))
    assert found == shape("immoweb_classified")


def test_search_answers_have_every_key_of_the_real_ones_and_no_other(immoweb: Site) -> None:
    found: set[str] = set()
    for deal in ("for-sale", "for-rent"):
        target = f"/en/search-results/house-and-apartment/{deal}?countries=BE{FILTERS}"
        found.update(paths(json.loads(immoweb.response(target).body)))
    assert found == shape("immoweb_search")


def test_details_of_lalafo_have_every_key_of_the_real_ones_and_no_other(lalafo: Site) -> None:
    found: set[str] = set()
    for advert in lalafo.world.listed("lalafo"):
        target = f"/api/search/v3/feed/details/{advert.ref}?expand=url"
        found.update(paths(json.loads(lalafo.response(target, headers={"device": "pc"}).body)))
    assert found == shape("lalafo_details")


@pytest.mark.parametrize("selector", sorted(shape("emlak_detail")))
def test_advert_pages_of_emlak_have_the_elements_that_parsers_read(emlak: Site, selector: str) -> None:
    pages = (emlak.page(advert).body for advert in emlak.world.listed("emlak"))
    assert any(LexborHTMLParser(page).css_first(selector) for page in pages)


@pytest.mark.parametrize("selector", sorted(shape("emlak_search")))
def test_search_pages_of_emlak_have_the_elements_that_parsers_read(emlak: Site, selector: str) -> None:
    pages = (emlak.response(f"/elanlar/?ann_type=3&page={number}").body for number in range(1, 6))
    assert any(LexborHTMLParser(page).css_first(selector) for page in pages)


@pytest.mark.parametrize("selector", sorted(shape("tap_detail")))
def test_advert_pages_of_tap_have_the_elements_that_parsers_read(tap: Site, selector: str) -> None:
    pages = (tap.response(tap.path(advert)).body for advert in tap.world.listed("tap"))
    assert any(LexborHTMLParser(page).css_first(selector) for page in pages)


@pytest.mark.parametrize("selector", sorted(shape("tap_search")))
def test_search_pages_of_tap_have_the_elements_that_parsers_read(tap: Site, selector: str) -> None:
    page = tap.response("/elanlar/dasinmaz-emlak/menziller").body
    assert LexborHTMLParser(page).css_first(selector)


def test_the_older_search_page_carries_its_results_in_an_attribute(immoweb: Site) -> None:
    query = "house/for-sale?countries=BE&page=1&orderBy=newest"
    found = LexborHTMLParser(immoweb.response(f"/en/search/{query}").body).css_first("iw-search")
    response = json.loads(immoweb.response(f"/en/search-results/{query}").body)
    assert found is not None
    assert json.loads(found.attributes[":results"] or "") == response["results"]
    assert found.attributes[":result-count"] == str(response["totalItems"])
