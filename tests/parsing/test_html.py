import pytest

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


def test_each_match_is_a_paragraph() -> None:
    assert html.texts(PAGE, ".d p") == "One\ntwo"


def test_a_br_does_not_join_two_words() -> None:
    page = html.Page("<p>first<br>second <b>bold</b><br/>third</p>")
    assert html.text(page, "p") == "first second bold third"
    assert html.texts(page, "p") == "first\nsecond bold\nthird"


def test_missing_attributes_are_left_out() -> None:
    assert html.attributes(PAGE, "a.p", "href") == ["/1.jpg", "/2.jpg"]
    assert html.attribute(PAGE, "a.q", "href") is None


def test_rows_may_have_a_selector_for_the_value() -> None:
    page = html.Page(
        """<table><tr><th>Usable area</th><td>176 m² <span>square meters</span></td><td>x</td></tr>
        <tr><th>Heating</th><td>Not specified</td></tr><tr><th>Alone</th></tr><tr><td>Alone too</td></tr></table>"""
    )
    assert html.rows(page, "tr", "th", "td") == {fold("Usable area"): "176 m² square meters"}


def test_each_dt_belongs_to_the_dd_after_it() -> None:
    page = html.Page(
        "<dl><dt>Area:</dt><dd>85 m<sup>2</sup></dd><dt>None</dt><dt>Rooms</dt><div><dd>3</dd></div><dd>4</dd></dl>"
    )
    assert html.definitions(page) == {"area": "85 m2", "rooms": "3"}


def test_reads_json_in_an_attribute() -> None:
    page = html.Page("""<iw-search :results='[{"t":"a &amp; b&#39;s  &lt;"}]' :broken="[{&quot;t"></iw-search>""")
    assert html.attribute_json(page, "iw-search", ":results") == [{"t": "a & b's  <"}]
    assert html.attribute_json(page, "iw-search", ":broken") is None
    assert html.attribute_json(page, "iw-search", ":other") is None
    assert html.attribute_json(page, "iw-nothing", ":results") is None


def test_the_first_open_graph_tag_of_each_name_counts() -> None:
    page = html.Page(
        """<meta property="og:title" content=" A  home "><meta property="og:title" content="Another">
        <meta name="og:url" content="https://example.com/1"><meta property="og:empty"><meta name="robots" content="x">
        <meta property="product:price:amount" content="749000">"""
    )
    assert html.opengraph(page) == {
        "og:title": "A home",
        "og:url": "https://example.com/1",
        "product:price:amount": "749000",
    }


def test_a_page_may_be_utf_8_bytes() -> None:
    page = "<h1>Satılır 85 m² ev</h1>"
    assert html.text(html.Page(page.encode()), "h1") == html.text(html.Page(page), "h1") == "Satılır 85 m² ev"


def test_a_lone_surrogate_is_left_out() -> None:
    assert html.text(html.Page("<h1>a\ud800b</h1>"), "h1") == "ab"


def test_a_page_with_too_many_unclosed_tags_is_refused() -> None:
    with pytest.raises(ValueError, match="unclosed tags"):
        html.Page("<div>" * 200_000)
    with pytest.raises(ValueError, match="unclosed tags"):
        html.Page(b"<b>" * 10_001)
    many = html.Page("<p>a<br>b<img src=x></p>" * 2_000 + "<h1>x</h1>")
    assert html.text(many, "h1") == "x"


HEADS = (
    '<html><head><meta property="og:title" content="A  home"></head>',
    '<!DOCTYPE html>\n<html lang="en" itemscope>\n<head>\n<meta charset="utf-8">\n<title>x og</title>\n'
    '<link rel="x" href="/a?b=1&c=2"/><script src="x">let a = 1</script><meta property="og:title" content="A home" />'
    '<meta property="og:title" content="second"></head>',
    '<html><head><!-- <meta property="og:title" content="no"> --><meta property="og:title" content="A home"></head>',
    '<html><head><script>"<meta property=\\"og:title\\" content=\\"no\\">"</script>'
    '<meta property="og:title" content="A home"></head>',
    '<html><head><title><meta property="og:title" content="no"></title>'
    '<meta property="og:title" content="A home"></head>',
    '<html><head><meta name="a" content="> <meta property="og:title" content="no">'
    '<meta property="og:title" content="B">',
    "<html><head><meta name='a' content='<meta property=\"og:title\" content=\"no\">'>"
    '<meta property="og:title" content="A home"></head>',
    '<html><head><meta property="og&#58;title" content="first"><meta property="og:title" content="A home"></head>',
    '<html><head><meta PROPERTY="og&colon;title" content="first"><meta property="og:title" content="A home"></head>',
    '<html><head><meta content="first" property="og:title"><meta property="og:title" content="A home"></head>',
    '<html><head><meta property="og:title" content="a &amp; b"></head>',
    '<html><head><meta property="og:title" content=""><meta property="og:title" content="A home"></head>',
    '<html><head><meta property="og:title" content="a\0b"></head>',
    '<html><head><template><meta property="og:title" content="no"></template></head>',
    '<html><head><style>a{}</style><noscript><meta property="og:title" content="in there"></noscript></head>',
    '<html><head></head><body><meta property="og:title" content="too late"></body>',
    '<meta property="og:title" content="A home">',
    '<html><head><meta property="OG:title" content="no"></head>',
    "",
)


@pytest.mark.parametrize("document", HEADS)
def test_the_fast_way_to_read_a_head_gives_the_same_as_the_parser(document: str) -> None:
    head = document.find("</head>")
    tree = html.Page(document[:head] if head > 0 else document)
    assert html.meta(document, "og:title") == html.attribute(tree, 'meta[property="og:title"]', "content")


def test_an_ordinary_head_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "Page", None)
    assert [html.meta(document, "og:title") for document in HEADS[:2]] == ["A home", "A home"]


def test_the_time_for_a_long_head_grows_in_proportion() -> None:
    """Read again from each of its tags, it would take minutes."""
    assert html.meta("<html><head>" + '<meta a="b">' * 9_000 + "og:title</head>", "og:title") is None
