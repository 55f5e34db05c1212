"""The page of one emlak advert: plain HTML, label and value."""

from html import escape

from realestate.simulator.adverts import Advert, dice
from realestate.simulator.emlak.facts import KINDS, Facts, area_text, facts_of, grouped
from realestate.simulator.emlak.frame import FOOT, head
from realestate.simulator.emlak.truth import BAKU, is_renewed

ON_REQUEST = "Razılaşma ilə"
EXPIRED = "Bu elanın vaxtı bitib"
_DOLLAR = 1.7  # AZN, fixed since 2017


def advert_page(advert: Advert) -> bytes:
    facts = facts_of(advert)
    return head(escape(facts.title)) + _body(advert, facts).encode() + FOOT


def raised(title: str) -> str:
    """Return the title as HTML. The portal writes the 2 of m2 as superscript."""
    return escape(title).replace(" m2 ", " m<sup>2</sup> ")


def photo_paths(advert: Advert) -> list[str]:
    return [f"/images/announces/{advert.ref}/{number}.jpg" for number in range(1, facts_of(advert).photos + 1)]


def _body(advert: Advert, facts: Facts) -> str:
    photos = "".join(
        f'<a href="{path}"><img src="{path.replace(".jpg", "_s.jpg")}" alt=""></a>\n' for path in photo_paths(advert)
    )
    paragraphs = "".join(f"<p>\n    {escape(text)}\n</p>\n" for text in facts.paragraphs) or "<p></p>\n"
    return f"""<div class="panel clearfix"><p class="pull-left">Elanlar</p>
<p class="pull-right">Elanın kodu: <b>{advert.ref}</b></p></div>
<h1 class="title">{raised(facts.title)}</h1>
<div class="left-bar">
{_price(advert, facts.space)}
{_seller(advert, facts)}
{_dates(advert, facts)}
</div>
<div class="fotorama" data-nav="thumbs">
{photos}</div>
<dl class="technical-characteristics clearfix">
{_rows(advert, facts)}</dl>
<div class="desc">
{paragraphs}</div>
{_place(advert, facts)}
"""


def _price(advert: Advert, space: str) -> str:
    if advert.price is None:
        return f'<div class="price"><span class="m">{ON_REQUEST}</span></div>'
    dollars = grouped(int(advert.price / _DOLLAR), space)
    amount = grouped(advert.price, space)
    return f'<div class="price"><span class="m">{amount}</span> <span class="d">$ {dollars}.00</span></div>'


def _seller(advert: Advert, facts: Facts) -> str:
    """Return the box of the seller. The page of an expired advert stays, without the telephone."""
    phones = facts.phones if advert.gone is None else EXPIRED
    return f"""<div class="seller-data">
<p class="name-seller">{escape(facts.seller_name)} <span>({facts.seller})</span></p>
<p class="phone">{phones}</p></div>"""


def _dates(advert: Advert, facts: Facts) -> str:
    label = "Yenilənmə tarixi:" if is_renewed(advert) else "Tarix:"
    day = advert.updated_at.astimezone(BAKU).strftime("%d.%m.%Y")
    return f"""<p class="date">{label} <strong>{day}</strong></p>
<p class="views-count">Baxışların sayı: <strong>{facts.views}</strong></p>"""


def _rows(advert: Advert, facts: Facts) -> str:
    rows = [
        ("Əmlakın növü", KINDS[advert.home.kind]),
        ("Sahə", area_text(advert.home)),
        ("Otaqların sayı", facts.rooms),
        ("Yerləşdiyi mərtəbə", facts.floor),
        ("Mərtəbə sayı", facts.floors),
        ("Təmiri", facts.repair),
        ("Sənədin tipi", facts.document),
    ]
    if facts.is_shuffled:
        dice(advert.key, "rows").shuffle(rows)
    return "".join(
        f'<dd><span class="label">{label}</span> {value}\n</dd>\n' for label, value in rows if value is not None
    )


def _place(advert: Advert, facts: Facts) -> str:
    address = str(facts.address)
    shown = f"<h4>Ünvan: {escape(address)}</h4>" if address else ""
    point = f"({advert.home.latitude}, {advert.home.longitude})" if facts.is_mapped else ""
    return f"""<div class="map-address">{shown}
<input type="hidden" id="google_map" value="{point}"><div id="map"></div></div>"""
