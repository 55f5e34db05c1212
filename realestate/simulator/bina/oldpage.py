"""The page of a bina advert as it was before Next.js; some adverts still have it."""

from datetime import datetime
from html import escape

from realestate.simulator.adverts import Advert, dice
from realestate.simulator.bina.categories import CATEGORIES
from realestate.simulator.bina.facts import Facts, area_text, facts_of, grouped
from realestate.simulator.bina.footer import FOOT
from realestate.simulator.bina.page import photo_paths
from realestate.simulator.bina.truth import BAKU, LONG_AGO

ON_REQUEST = "Razılaşma ilə"
_MONTHS = (
    *("Yanvar", "Fevral", "Mart", "Aprel", "May", "İyun"),
    *("İyul", "Avqust", "Sentyabr", "Oktyabr", "Noyabr", "Dekabr"),
)
_PERIODS = {"month": "/ay", "day": "/gün"}
_WORDS = {True: "var", False: "yoxdur"}


def token(advert: Advert) -> str:
    """The token of the page. A request for the telephones must send it."""
    return f"{dice(advert.key, 'token').getrandbits(160):040x}"


def old_page(advert: Advert, base: str, now: datetime) -> bytes:
    facts = facts_of(advert)
    title = escape(facts.title)
    photos = "".join(f'<img src="{base}{path}" alt="">\n' for path in photo_paths(advert))
    text = "<br>\n".join(map(escape, facts.paragraphs))
    return f"""<!DOCTYPE html>
<html lang="az"><head><meta charset="utf-8"><title>{title} | sınaq portalı</title>
<meta name="csrf-param" content="authenticity_token"><meta name="csrf-token" content="{token(advert)}"></head>
<body>
<div class="product-breadcrumbs">{_crumbs(advert)}</div>
<h1 class="product-title">{title}</h1>
<div class="product-photos"><div class="product-photos__slider-top">
<img src="/assets/load.gif" alt="">
{photos}</div></div>
<div class="product-price">{_price(advert, facts)}</div>
<div class="product-actions"><span class="product-actions__id">Elanın nömrəsi: {advert.ref}</span></div>
<div class="product-owner"><div class="product-owner__info">
<div class="product-owner__info-name">{escape(facts.contact_name)}</div>
<div class="product-owner__info-region">{facts.contact_type}</div></div></div>
<div class="product-properties">{_rows(advert, facts)}</div>
<div class="product-description"><div class="product-description__content"><p>{text}</p></div></div>
<div class="product-statistics"><span class="product-statistics__i-text">Yeniləndi: {_renewed(advert, now)} </span>
<span class="product-statistics__i-text">Baxışların sayı: {facts.views}</span></div>
{_place(advert, facts)}
{FOOT}
</body></html>
""".encode()


def _crumbs(advert: Advert) -> str:
    deal = "Satış" if advert.home.operation == "sale" else "Kirayə"
    return "".join(
        f'<a class="product-breadcrumbs__i-link" href="/">{name}</a>'
        for name in (deal, CATEGORIES[advert.home.kind].name)
    )


def _price(advert: Advert, facts: Facts) -> str:
    if advert.price is None:
        return f'<div class="product-price__i product-price__i--bold">{ON_REQUEST}</div>'
    per = f'<span class="price-per">{_PERIODS[advert.rent_period]}</span>' if advert.rent_period in _PERIODS else ""
    return f"""<div class="product-price__i product-price__i--bold"><span class="price-val">{
        grouped(advert.price, facts.space)
    }</span> <span class="price-cur">AZN</span>{per}</div><div class="product-price__i">1 m² – 1 AZN</div>"""


def _rows(advert: Advert, facts: Facts) -> str:
    home = advert.home
    rows = [
        ("Kateqoriya", CATEGORIES[home.kind].name),
        ("Mərtəbə", f"{facts.floor} / {facts.floors}" if facts.floor is not None else None),
        ("Sahə" if home.area_m2 is not None else "Torpaq sahəsi", area_text(home)),
        ("Torpaq sahəsi", f"{facts.land_sot} sot" if facts.land_sot else None),
        ("Otaq sayı", facts.rooms),
        ("Çıxarış", _yes_or_no(facts.has_deed)),
        ("İpoteka", _yes_or_no(facts.has_mortgage)),
        ("Təmir", _yes_or_no(facts.has_repair)),
    ]
    return "".join(
        f'<div class="product-properties__i"><label class="product-properties__i-name">{name}</label>'
        f'<span class="product-properties__i-value">{value}</span></div>\n'
        for name, value in rows
        if value is not None
    )


def _yes_or_no(value: bool | None) -> str:
    return "" if value is None else _WORDS[value]


def _renewed(advert: Advert, now: datetime) -> str:
    updated = advert.updated_at.astimezone(BAKU)
    today = now.astimezone(BAKU).date()
    if advert.updated_at < LONG_AGO:
        return f"{updated.day} {_MONTHS[updated.month - 1]} {updated.year}"
    near = {0: "Bugün", 1: "Dünən"}.get((today - updated.date()).days)
    return f"{near} {updated:%H:%M}" if near else f"{updated:%d.%m.%Y, %H:%M}"


def _place(advert: Advert, facts: Facts) -> str:
    home = advert.home
    links = "".join(
        f'<li class="product-extras__i"><a data-stat="product-locations" href="/">{escape(name)}</a></li>'
        for name in facts.places(home)
    )
    address = f"Ünvan: {escape(home.place.city)} ş., {escape(facts.street)}" if facts.street else ""
    point = f'data-lat="{home.latitude}" data-lng="{home.longitude}"' if facts.is_mapped else ""
    return f"""<ul class="product-extras">{links}</ul><div class="product-map">
<div class="product-map__left__address">{address}</div><div id="item_map" {point}></div></div>"""
