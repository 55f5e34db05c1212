from codecs import BOM_UTF8

import pytest
from scrapy.http import HtmlResponse

from realestate.crawling.field_tables import absolute, assigned_in, page_of
from realestate.parsing import html

URL = "https://portal.example/homes/1.html"
TITLE = "<h1>Satılır ev, Bakı ş.</h1>"


def response_of(body: bytes, encoding: str | None = None) -> HtmlResponse:
    return HtmlResponse(URL, body=body, headers={"Content-Type": "text/html; charset=utf-8"}, encoding=encoding)


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (TITLE.encode(), None),
        (TITLE.encode(), "utf-8"),
        (BOM_UTF8 + TITLE.encode(), None),
        (BOM_UTF8 + TITLE.encode(), "utf-8"),
        (TITLE.encode("utf-16"), None),
        (TITLE.encode("utf-16"), "utf-8"),
        (TITLE.encode("cp1254", "xmlcharrefreplace"), "cp1254"),
    ],
)
def test_a_page_is_read_in_whatever_encoding_it_comes(body: bytes, encoding: str | None) -> None:
    assert html.text(page_of(response_of(body, encoding)), "body") == "Satılır ev, Bakı ş."


@pytest.mark.parametrize("spoilt", [b"Bak\xc4<b>\xb1</b>", b"Bak\xff", b"\xed\xa0\x80", b"Bak\xc4"])
def test_a_spoilt_page_is_read_as_its_text_is(spoilt: bytes) -> None:
    response = response_of(b"<h1>" + spoilt + b"</h1>")
    assert html.text(page_of(response), "h1") == html.text(html.Page(response.text), "h1")


@pytest.mark.parametrize("encoding", ["utf-8", "cp1251", "utf-16"])
@pytest.mark.parametrize(
    ("head", "photo"),
    [
        ("", "https://portal.example/1.jpg"),
        ('<base href="https://cdn.example/a/">', "https://cdn.example/1.jpg"),
        ("Ж" * 4000 + '<base href="https://cdn.example/a/">', "https://cdn.example/1.jpg"),
    ],
)
def test_a_base_counts_wherever_scrapy_sees_it(encoding: str, head: str, photo: str) -> None:
    response = response_of(head.encode(encoding), encoding)
    assert absolute(response, iter(["/1.jpg", "https://other.example/2.jpg"])) == [photo, "https://other.example/2.jpg"]
    assert absolute(response, []) == []


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
@pytest.mark.parametrize("end", [";\n", "; window.other = 1;"])
def test_an_object_in_a_script_is_read_whatever_the_page_is_written_in(encoding: str, end: str) -> None:
    page = f'<script>window.classified = {{"city": "Liège"}}{end}</script>'.encode(encoding)
    response = response_of(page, encoding)
    assert assigned_in(response, "window.classified") == {"city": "Liège"}


def test_a_page_that_is_no_utf_8_although_it_says_so_is_read_as_far_as_it_goes() -> None:
    page = '<script>window.classified = {"id": 7, "city": "Liège"};\n'.encode("latin-1")
    response = response_of(page, "utf-8")
    assert assigned_in(response, "window.classified") == {"id": 7, "city": "Li\ufffdge"}
