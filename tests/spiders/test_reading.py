"""What a table or a script of a page tells, by `realestate.spiders.reading`."""

import pytest
from scrapy.http import HtmlResponse

from realestate.spiders.reading import assigned_in


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
@pytest.mark.parametrize("end", [";\n", "; window.other = 1;"])
def test_an_object_in_a_script_is_read_whatever_the_page_is_written_in(encoding: str, end: str) -> None:
    page = f'<script>window.classified = {{"city": "Liège"}}{end}</script>'.encode(encoding)
    response = HtmlResponse("https://www.example.be/1", body=page, encoding=encoding)
    assert assigned_in(response, "window.classified") == {"city": "Liège"}


def test_a_page_that_is_no_utf_8_although_it_says_so_is_read_as_far_as_it_goes() -> None:
    page = '<script>window.classified = {"id": 7, "city": "Liège"};\n'.encode("latin-1")
    response = HtmlResponse("https://www.example.be/1", body=page, encoding="utf-8")
    assert assigned_in(response, "window.classified") == {"id": 7, "city": "Li\ufffdge"}
