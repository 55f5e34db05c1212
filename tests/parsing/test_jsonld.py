import json
from typing import Any

import pytest

from realestate.parsing import jsonld


def page(*blocks: Any) -> str:
    return "".join(f'<script type="application/ld+json">{json.dumps(block)}</script>\n' for block in blocks)


HOME = {"@type": "Product", "name": "A home"}
CRUMBS = {"@type": "BreadcrumbList"}


@pytest.mark.parametrize(
    "html",
    [
        page(HOME),
        page(CRUMBS, HOME),
        page([CRUMBS, HOME]),
        page({"@context": "https://schema.org", "@graph": [CRUMBS, HOME]}),
        page({"@graph": [CRUMBS, [HOME]]}),
        page([{"@graph": HOME}]),
        '<script type="application/ld+json">{"broken": </script>' + page(HOME),
        "<SCRIPT async data-x='1' type=application/ld+json>" + json.dumps(HOME) + ";</SCRIPT>",
        '<script type="application/ld+json">//<![CDATA[\n' + json.dumps(HOME) + "\n//]]></script>",
        '<script type="application/ld+json"><!-- ' + json.dumps(HOME) + " --></script>",
    ],
)
def test_finds_a_node_anywhere_in_a_block(html: str) -> None:
    assert jsonld.first(html, "Product") == HOME
    assert jsonld.every(html, "Product") == [HOME]


@pytest.mark.parametrize("types", [["House", "Product"], "https://schema.org/Product", "schema:Product", "Product"])
def test_a_type_may_be_one_of_several_or_have_a_prefix(types: Any) -> None:
    assert jsonld.first(page({"@type": types}), "Product") is not None


def test_the_first_type_is_preferred() -> None:
    html = page({"@type": "Residence"}, {"@type": "Product"})
    assert (jsonld.first(html, "RealEstateListing", "Product", "Residence") or {})["@type"] == "Product"
    assert [node["@type"] for node in jsonld.every(html, "Product", "Residence")] == ["Residence", "Product"]


@pytest.mark.parametrize(
    "html",
    [
        "",
        page(),
        page(CRUMBS),
        page("text", 5, None, [None, [1]], {"@type": 7}, {"@graph": "x"}),
        '<script type="application/ld+json">{"@type": "Product"',
        '<script type="application/ld+json">' + '{"@graph":[' * 50_000 + "</script>",
        '<script type="application/ld+json"',
    ],
)
def test_a_page_without_a_node_gives_none(html: str) -> None:
    assert jsonld.first(html, "Product") is None
