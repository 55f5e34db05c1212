"""Every method of the headers gives the same result as Scrapy's."""

from hypothesis import given
from hypothesis import strategies as some
from scrapy.http import Headers

from realestate.accelerate.headers import has, last, put_on, take_off

NAMES = some.sampled_from(["ETag", "etag", "User-Agent", "SEC-CH-UA", "x-none", "Accept"])
GIVEN = some.lists(some.tuples(NAMES, some.text("ab é", max_size=3)), max_size=5)


@given(GIVEN, NAMES)
def test_a_header_is_read_by_its_name(given: list[tuple[str, str]], name: str) -> None:
    headers = Headers(given)
    assert last(headers, name) == headers.get(name)
    assert has(headers, name) == (name in headers)


def test_a_header_without_a_value_has_none() -> None:
    headers = Headers({"ETag": []})
    assert last(headers, "ETag") is headers.get("ETag") is None


@given(GIVEN, GIVEN, NAMES)
def test_headers_are_set_and_deleted(there: list[tuple[str, str]], given: list[tuple[str, str]], name: str) -> None:
    ours, scrapys = Headers(there), Headers(there)
    missing = put_on(ours, given)
    added = [each for each, value in given if each not in scrapys and scrapys.setdefault(each, value) is not None]
    assert (ours, missing) == (scrapys, added)
    take_off(ours, name)
    scrapys.pop(name, None)
    assert ours == scrapys
