from typing import Any

from realestate.parsing import apollo

CACHE: dict[str, Any] = {
    "ROOT_QUERY": {"ad": {"__ref": "Ad:1"}},
    "Ad:1": {"title": "A home", "shop": {"__ref": "Shop:9"}, 'photos({"size":"large"})': [{"__ref": "Photo:1"}]},
    'Ad:{"id":"2"}': {"title": "Another"},
    "Shop:9": {"name": "Homes", "ads": [{"__ref": "Ad:1"}, {"__ref": 'Ad:{"id":"2"}'}]},
    "Photo:1": {"url": "https://example.com/1.jpg"},
    "Advert:1": {"title": "no"},
}


def test_references_are_resolved_and_cycles_cut() -> None:
    ad = apollo.first(CACHE, "Ad")
    assert ad["shop"] == {"name": "Homes", "ads": [None, {"title": "Another"}]}
    assert apollo.field(ad, "photos") == [{"url": "https://example.com/1.jpg"}]
    assert "__ref" in str(CACHE["Ad:1"]), "the cache stays as it is"


def test_an_object_is_found_by_its_id() -> None:
    assert apollo.first(CACHE, "Ad", 2) == {"title": "Another"}
    assert apollo.first(CACHE, "Ad", "1")["title"] == "A home"
    assert apollo.first(CACHE, "Ad", 3) is None
    assert apollo.first(CACHE, "Nothing") is None


def test_a_field_may_have_arguments() -> None:
    assert apollo.field({"price": 1, "price(x)": 2}, "price") == 1
    assert apollo.field({"priceOld": 1}, "price") is None
    assert apollo.field(None, "price") is None


def test_a_missing_reference_is_none() -> None:
    assert apollo.resolved(CACHE, {"__ref": "Ad:404"}) is None
    assert apollo.resolved({"A:1": {"__ref": "A:1"}}, {"__ref": "A:1"}) is None
    assert apollo.resolved(None, {"__ref": "Ad:1"}) is None
    assert apollo.first([], "Ad") is None


def test_an_object_is_resolved_once_and_an_endless_chain_is_none() -> None:
    doubling = {f"N:{n}": {"a": {"__ref": f"N:{n + 1}"}, "b": {"__ref": f"N:{n + 1}"}} for n in range(100)}
    assert apollo.first(doubling, "N", 0)["a"]["b"]["a"] is not None
    chain = {f"N:{n}": {"a": {"__ref": f"N:{n + 1}"}} for n in range(20_000)}
    assert apollo.first(chain, "N", 0) is None


def test_a_dictionary_in_several_places_is_resolved_once() -> None:
    document: Any = {"a": 1}
    for _ in range(100):
        document = {"a": document, "b": document}
    assert apollo.resolved({}, document)["a"]["b"]["a"] is not None


def test_the_fullest_object_is_the_one_with_the_most_fields() -> None:
    assert apollo.fullest(CACHE, "Ad") is CACHE["Ad:1"]
    assert apollo.fullest(CACHE, "Nothing") is None
    assert apollo.fullest({"Ad:1": None, "Ad:2": "no", "Ad:3": {}}, "Ad") == {}
    assert apollo.fullest([CACHE], "Ad") is None
