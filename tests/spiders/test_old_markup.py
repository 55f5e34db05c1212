"""The old pages of bina.az and tap.az."""

from realestate.parsing import html
from realestate.spiders import old_markup

PAGE = """<h1 class="product-title">A home</h1>
<div class="product-photos__slider-top"><img src="/assets/load.gif"><img src="/1.jpg"></div>
<div class="product-properties__i"><label class="product-properties__i-name">Sahə</label>
<span class="product-properties__i-value">45 m²</span></div>
<div class="product-description__content">One.<br>Two.</div>
<span class="product-{statistics}__i-text">Baxışların sayı: 1 204</span>
<span class="product-{statistics}__i-text">Yeniləndi: bugün</span>"""


def test_both_portals_statistics_are_read() -> None:
    for statistics in ("statistics", "info__statistics"):
        told = old_markup.read(html.Page(PAGE.replace("{statistics}", statistics)))
        assert (told.title, told.description, told.photos) == ("A home", "One.\nTwo.", ["/1.jpg"])
        assert (dict(told.rows), told.updated, told.views) == ({"sahə": "45 m²"}, "Yeniləndi: bugün", 1204)


def test_another_page_tells_nothing() -> None:
    told = old_markup.read(html.Page("<p>Yeniləndi: bugün</p>"))
    assert (told.title, told.rows, told.photos, told.updated, told.views) == (None, {}, [], None, None)
