from realestate.parsing import html
from realestate.parsing.text import fold

PAGE = html.Page(
    """<dl><dd><span class="label">Sahə</span> 85 m2</dd><dd><span class="label">OTAQLARIN SAYI:</span>3</dd>
    <dd>no label</dd><dd><span class="label">Empty</span> </dd></dl>
    <h1>Satılır 85 m<sup>2</sup> yeni\u00a0tikili</h1><div class="d"><p>One</p><p> two </p></div>
    <a class="p" href="/1.jpg"></a><a class="p"></a><a class="p" href="/2.jpg"></a>"""
)


def test_rows_are_found_by_their_folded_label() -> None:
    assert html.rows(PAGE, "dl dd", "span.label") == {fold("Sahə"): "85 m2", fold("Otaqların sayı"): "3"}


def test_text_is_one_clean_line() -> None:
    assert html.text(PAGE, "h1") == "Satılır 85 m2 yeni tikili"
    assert html.text(PAGE, "h2") is None


def test_paragraphs_are_lines() -> None:
    assert html.texts(PAGE, ".d p") == "One\ntwo"


def test_a_line_break_joins_no_two_words() -> None:
    page = html.Page("<p>first<br>second <b>bold</b><br/>third</p>")
    assert html.text(page, "p") == "first second bold third"
    assert html.texts(page, "p") == "first\nsecond bold\nthird"


def test_attributes_skip_what_is_missing() -> None:
    assert html.attributes(PAGE, "a.p", "href") == ["/1.jpg", "/2.jpg"]
    assert html.attribute(PAGE, "a.q", "href") is None
