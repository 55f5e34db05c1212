"""The ref of a listing: the site's own id, or a hash. It never is something that two homes share."""

import pytest

from realestate.parsing.unknown_pages import reference


@pytest.mark.parametrize(
    ("url", "ref"),
    [
        ("https://www.a.example/for-sale/a-house-1234567", "a.example:1234567"),
        ("https://a.example/te-koop/other-words-1234567/", "a.example:1234567"),
        ("https://a.example/flat-32m2-abc2031033776", "a.example:abc2031033776"),
        ("https://a.example/12-Main-St_Springfield_IL_62701_M20341-51800", "a.example:M20341-51800"),
        ("https://a.example/flat-28001-80065955842_100100/", "a.example:80065955842_100100"),
        ("https://a.example/ad/words/3323958001-203-2100", "a.example:3323958001-203-2100"),
        ("https://a.example/homes/words/185235713/d", "a.example:185235713"),
        ("https://a.example/expose/FID-F12-839-993.html", "a.example:F12-839-993"),
        ("https://a.example/offer/words-ID3WsKQ.html", "a.example:ID3WsKQ"),
        ("https://a.example/x/6ECA04ED-8da1-51f1-95da-776acaec8933", "a.example:6eca04ed-8da1-51f1-95da-776acaec8933"),
        ("https://a.example/flat-in-town-315590.html", "a.example:315590"),
        ("https://a.example/3-bed-1800-sq-ft-27-000-1131690.htm", "a.example:1131690"),
        ("https://a.example/show?id=28903", "a.example:28903"),
    ],
)
def test_the_sites_own_id(url: str, ref: str) -> None:
    assert reference.of(url) == ref
    assert reference.has_id(url)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://a.example/1-main-st-springfield-il-62701", "https://a.example/2-main-st-springfield-il-62701"),
        ("https://a.example/62701/blue-house", "https://a.example/62701/red-house"),
        ("https://a.in/flat-bangalore-560034", "https://a.in/house-bangalore-560034"),
        ("https://a.example/house?pic=1", "https://a.example/house?pic=2"),
        ("https://a.example/house-in-1985", "https://a.example/flat-in-1985"),
    ],
)
def test_a_postal_code_or_a_year_is_not_an_id(one: str, other: str) -> None:
    assert reference.of(one) != reference.of(other)
    assert not reference.has_id(one)


def test_a_short_number_is_kept_with_the_hash() -> None:
    assert reference.of("https://a.example/flat-50683").startswith("a.example:50683-")


def test_what_differs_between_links_does_not_count() -> None:
    plain = reference.of("https://www.a.example/the-old-mill")
    assert plain == reference.of("https://a.example/the-old-mill/?utm_source=x&page=2&from=search")
