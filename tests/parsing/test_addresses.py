"""Plain addresses are taken apart in a shorter way, and come out the same."""

from urllib.parse import urljoin, urlsplit

import pytest

from realestate.parsing.addresses import is_at, joined, path_of

SITES = ("https://site.example", "http://127.0.0.1:9001")
LINKS = (
    *(
        "/homes/5",
        "/5-a.html",
        "/en/classified/flat/for-sale/li%C3%A8ge/4000/21001172",
        "/",
        "",
        "homes/5",
        "/homes/5/",
    ),
    *(
        "//other.example/homes/5",
        "/a//b",
        "/a/../b",
        "/a/./b",
        "/a/..",
        "/..",
        "/a.b/c",
        "/a.b.c",
        "/a.",
        "/.a",
        "?a=b",
    ),
    *("/a?b=c", "/a#b", "/a;b", "/a b", " /a", "/a\n", "/\ta", "/é", "/a\\b", "/a:b", "#", "/a?", "javascript:void(0)"),
    *("https://site.example", "https://site.example/", "https://site.example/homes/5", "https://site.example/a/../b"),
    *("https://site.example/a?b", "https://site.example?a=/b", "https://site.example#/b", "https://site.example:443/b"),
    *("https://site.example.evil/homes/5", "https://site.example@evil/homes/5", "HTTPS://SITE.example/homes/5"),
    *("http://127.0.0.1:9001/homes/5", "http://127.0.0.1:90011/homes/5", "https://site.example//homes/5"),
    *(
        "https://site.example/a;b",
        "https://site.example/a\n",
        "https://site.example/homes/5?",
        "https://site.example/é",
    ),
)


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("link", LINKS)
def test_an_address_is_what_the_rules_for_all_make_of_it(site: str, link: str) -> None:
    assert joined(site, link) == urljoin(site, link)
    assert path_of(site, link) == urlsplit(link).path
    assert not is_at(site, link) or urlsplit(link).netloc == urlsplit(site).netloc


def test_the_sites_own_addresses_are_known_at_once() -> None:
    told = {link for link in LINKS if is_at("https://site.example", link)}
    assert "https://site.example/homes/5" in told
    assert not [link for link in told if "evil" in link or ":" in link[8:]]
