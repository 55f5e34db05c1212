"""A plain URL is one that Scrapy would not change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.utils.request import RequestFingerprinter
from w3lib.url import canonicalize_url, safe_url_string

from realestate.queue import plain_urls
from realestate.queue.codec import decode, encode
from realestate.queue.fingerprints import Fingerprinter
from realestate.queue.plain_urls import is_plain
from realestate.spiders.immoweb import ImmowebSpider

PLAIN = (
    "https://www.immoweb.be/en/classified/house/for-sale/gent/9000/21005873",
    "http://127.0.0.1:35931/en/classified/town-house/for-sale/sint-niklaas/9900/21005873",
    "https://x.example/a.b/c~d_e-f/",
)
OTHER = (
    "https://x.example",
    "https://X.example/a",
    "https://x.example/a?b=1",
    "https://x.example/a?b=2&a=1",
    "https://x.example/a#b",
    "https://x.example/a/../b",
    "https://x.example/./a",
    "https://x.example/a%2fb",
    "https://x.example/a;b",
    "https://x.example:080/a",
    "https://x.example:99999/a",
    "https://me@x.example/a",
    "https://x.example/a b",
    "https://x.example/a\n",
    "https://x.example/caf\u00e9",
    "https://x.example/\u0663",
    "ftp://x.example/a",
)
#: Plain URLs, and URLs that are almost plain.
ADDRESSES = st.from_regex(plain_urls._PLAIN, fullmatch=True) | st.text(
    st.sampled_from("az09AZ.-_~/:%?=&;@#"), max_size=20
).map("http://".__add__)


@pytest.mark.parametrize("url", PLAIN)
def test_most_pages_have_a_plain_url(url: str) -> None:
    assert is_plain(url)


@pytest.mark.parametrize("url", OTHER)
def test_a_url_that_scrapy_would_change_or_refuse_is_not_plain(url: str) -> None:
    assert not is_plain(url)


@given(ADDRESSES)
def test_a_plain_url_is_safe_and_canonical(url: str) -> None:
    if is_plain(url):
        assert safe_url_string(url) == url == canonicalize_url(url)


@given(ADDRESSES, st.sampled_from(["GET", "POST", "HEAD"]), st.sampled_from([b"", b"x"]))
def test_fingerprints_are_scrapys_own(url: str, method: str, body: bytes) -> None:
    try:
        request = Request(url, method=method, body=body)
    except ValueError:
        return
    assert Fingerprinter().fingerprint(request) == RequestFingerprinter().fingerprint(request)


@pytest.mark.parametrize("url", [*PLAIN, "https://x.example/a?b=2&a=1", "https://x.example/caf%c3%a9"])
@pytest.mark.parametrize("meta", [{}, {"job": "j"}, {"verbatim_url": True}])
def test_a_decoded_request_carries_nothing_of_how_it_was_made(url: str, meta: dict[str, object]) -> None:
    spider = ImmowebSpider()
    again = decode(encode(Request(url, meta=dict(meta)), spider), spider)
    assert (again.url, again.meta) == (url, meta)
