"""The old pages of bina.az and tap.az."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from scrapy.http import HtmlResponse

from realestate.crawling import old_markup

BAKU = ZoneInfo("Asia/Baku")
PAGE = """<h1 class="product-title">A home</h1>
<div class="product-photos__slider-top"><img src="/assets/load.gif"><img src="/1.jpg"></div>
<div class="product-properties__i"><label class="product-properties__i-name">Sahə</label>
<span class="product-properties__i-value">45 m²</span></div>
<div class="product-description__content">One.<br>Two.</div>
<span class="product-{statistics}__i-text">Baxışların sayı: 1 204</span>
<span class="product-{statistics}__i-text">Yeniləndi: bugün</span>"""


def read(page: str) -> old_markup.OldPage:
    headers = {"Date": "Mon, 16 Nov 2026 12:00:00 GMT"}
    return old_markup.OldPage(HtmlResponse("https://tap.az/elanlar/1", headers=headers, body=page.encode()))


def test_both_portals_statistics_are_read() -> None:
    for statistics in ("statistics", "info__statistics"):
        told = read(PAGE.replace("{statistics}", statistics))
        assert told.fields(BAKU) == {
            "title": "A home",
            "description": "One.\nTwo.",
            "photos": ["https://tap.az/1.jpg"],
            "updated_at": datetime(2026, 11, 16, tzinfo=BAKU),
        }
        assert (dict(told.rows), told.views) == ({"sahə": "45 m²"}, 1204)


@pytest.mark.parametrize(
    ("price", "text"),
    [
        (
            '<b class="product-price__i--bold"><span>158 000</span> AZN</b> <i class="price-val">1 500</i>',
            "158 000 AZN",
        ),
        ('<i class="price-val">158 000</i><i class="price-cur">AZN</i>', "158 000\nAZN"),
        ('<p class="products-i"><i class="price-val">1</i></p>', None),
    ],
)
def test_a_price_is_the_adverts_own(price: str, text: str | None) -> None:
    assert read(PAGE + price).price == text


def test_another_page_tells_nothing() -> None:
    told = read("<p>Yeniləndi: bugün</p>")
    assert told.fields(BAKU) == {"title": None, "description": None, "photos": [], "updated_at": None}
    assert (told.rows, told.views, told.price, told.places, told.shop, told.seller) == (
        {},
        None,
        None,
        [""],
        None,
        None,
    )
    assert (told.breadcrumbs, told.point.latitude) == ([""], None)
