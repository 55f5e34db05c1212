"""The markup that bina.az and tap.az had in common before their pages carried data: label/value rows and statistics."""

from dataclasses import dataclass

from realestate.parsing import html, numbers
from realestate.parsing.rows import Rows
from realestate.parsing.text import fold

_ROW = ".product-properties__i"
_COUNTED = ":is(.product-statistics__i-text, .product-info__statistics__i-text)"
_UPDATED, _VIEWS = fold("Yeniləndi"), fold("Baxış")


@dataclass(frozen=True, slots=True, kw_only=True)
class OldPage:
    title: str | None
    rows: Rows
    description: str | None
    photos: list[str]
    updated: str | None
    """As it is written: "Yeniləndi: bugün"."""
    views: int | None


def read(page: html.Page) -> OldPage:
    """A page that has none of it has no title and no rows."""
    counted = [each.text() for each in page.css(_COUNTED)]
    photos = html.attributes(page, ".product-photos__slider-top img", "src")
    return OldPage(
        title=html.text(page, "h1.product-title"),
        rows=html.rows(page, _ROW, "[class$=i-name]", "[class$=i-value]"),
        description=html.texts(page, ".product-description__content"),
        photos=[src for src in photos if not src.endswith("load.gif")],  # stands in until a script has run
        updated=next((each for each in counted if _UPDATED in fold(each)), None),
        views=next((numbers.whole(each) for each in counted if _VIEWS in fold(each)), None),
    )
