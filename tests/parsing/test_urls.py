"""URLs: the fast way for simple URLs returns what `urllib.parse` returns."""

from urllib.parse import urljoin, urlsplit

import pytest

from realestate.parsing.urls import absolute_url, is_on_site, url_path, web_url

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
def test_results_equal_those_of_urllib(site: str, link: str) -> None:
    assert absolute_url(site, link) == urljoin(site, link)
    assert url_path(site, link) == urlsplit(link).path
    assert not is_on_site(site, link) or urlsplit(link).netloc == urlsplit(site).netloc


def test_a_url_of_another_host_is_not_on_the_site() -> None:
    on_site = {link for link in LINKS if is_on_site("https://site.example", link)}
    assert "https://site.example/homes/5" in on_site
    assert not [link for link in on_site if "evil" in link or ":" in link[8:]]


@pytest.mark.parametrize(
    "url",
    ["http://x.example", "https://x.example:8443/a?b=c#d", "https://b\u00fcro.example/1", "http://[2606:4700::1]/"],
)
def test_a_web_url_is_kept(url: str) -> None:
    assert web_url(f" {url}\n") == url


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "//x.example/1",
        "/1",
        "",
        "https://",
        "http://a b/",
        "http://x\\y/",
        "http://u@x.example/",
        "http://x.example:0/",
        "http://[",
    ],
)
def test_anything_else_is_no_web_url(url: str) -> None:
    assert web_url(url) is None
