"""The page of one tap advert: Next.js with Apollo's cache, or the older HTML."""

from base64 import b64encode
from collections.abc import Callable, Iterable
from datetime import datetime
from html import escape
from typing import Any

import msgspec

from realestate.simulator.adverts import Advert, dice
from realestate.simulator.emlak.facts import grouped
from realestate.simulator.tap.facts import CATEGORIES, Facts, facts_of, rows
from realestate.simulator.tap.truth import BAKU, days_ago, to_the_second
from realestate.simulator.texts import AZ_SENTENCES

SIMILAR = 9
PICTURES = "https://pictures.example.com/tap"
ON_REQUEST = "Razılaşma ilə"
CSRF = "uydurma-nisan"
_MONTHS = dict(enumerate(("Yanvar", "Fevral", "Mart", "Aprel", "May", "İyun", "İyul", "Avqust"), 1)) | {
    9: "Sentyabr",
    10: "Oktyabr",
    11: "Noyabr",
    12: "Dekabr",
}
_STYLE = "\n".join(
    f".tz-{number:03x}{{display:flex;flex-direction:column;gap:{number % 9}px;padding:{number % 7}px {number % 5}px}}"
    for number in range(120)
)


def global_id(kind: str, number: object) -> str:
    return b64encode(f"gid://tap/{kind}/{number}".encode()).decode().rstrip("=")


def path(advert: Advert) -> str:
    return f"/elanlar/dasinmaz-emlak/{CATEGORIES[advert.home.kind]}/{advert.ref}"


def photo_urls(advert: Advert) -> list[str]:
    return [f"{PICTURES}/{advert.ref}/{number}.jpg" for number in range(1, facts_of(advert).photos + 1)]


#: The fields that a search, and the boxes beside a page, show of an advert.
FIELDS: dict[str, Callable[[Advert], Any]] = {
    "__typename": lambda advert: "Ad",
    "id": lambda advert: global_id("Ad", advert.ref),
    "legacyResourceId": lambda advert: advert.ref,
    "title": lambda advert: facts_of(advert).title,
    "price": lambda advert: advert.price,
    "region": lambda advert: advert.home.place.city,
    "updatedAt": lambda advert: to_the_second(advert.updated_at).isoformat(),
    "path": path,
    "status": lambda advert: "ACTIVE" if advert.gone is None else "EXPIRED",
    "kinds": lambda advert: [],
    "body": lambda advert: _body(facts_of(advert)),
    "photo": lambda advert: next(({"__typename": "Photo", "url": url} for url in photo_urls(advert)), None),
    "shop": lambda advert: _shop(facts_of(advert)),
    "category": lambda advert: {"__typename": "Category", "name": CATEGORIES[advert.home.kind]},
}


def node(advert: Advert, names: Iterable[str] = FIELDS) -> dict[str, Any]:
    """Return the requested fields that exist."""
    return {name: FIELDS[name](advert) for name in names if name in FIELDS}


def similar(advert: Advert) -> list[dict[str, Any]]:
    """Return similar adverts. They never change, so that a page does not depend on when it was first requested."""
    rng = dice(advert.key, "similar")
    refs = [advert.ref - rng.randint(10_000, 99_999) for _ in range(SIMILAR)]
    return [
        {
            "__typename": "Ad",
            "id": global_id("Ad", ref),
            "legacyResourceId": ref,
            "title": f"{rng.randint(1, 6)}-otaqlı yeni tikili, {rng.randint(30, 200)} m²",
            "price": rng.randint(40, 400) * 1_000,
            "region": "Bakı",
            "updatedAt": to_the_second(advert.posted_at).isoformat(),
            "path": f"/elanlar/dasinmaz-emlak/menziller/{ref}",
            "status": "ACTIVE",
            "kinds": [],
            "body": " ".join(rng.sample(AZ_SENTENCES, 5)),
            "photo": {"__typename": "Photo", "url": f"{PICTURES}/{ref}/1.jpg"},
            "shop": None,
            "properties": [{"__typename": "Property", "name": "Otaq sayı", "value": "9"}],
        }
        for ref in refs
    ]


def next_page(advert: Advert) -> bytes:
    """Return the page in the present form. The similar adverts come first in the cache: the first is a wrong one."""
    facts = facts_of(advert)
    cache: dict[str, Any] = {"ROOT_QUERY": {"__typename": "Query"}}
    for other in similar(advert):
        cache[f"Ad:{other['id']}"] = other
    contact = f"Contact:{global_id('Contact', advert.ref)}"
    shop = f"Shop:{global_id('Shop', facts.shop)}"
    cache[contact] = {"__typename": "Contact", "name": facts.contact, "phones": ["(000) 000-••-••"]}
    if facts.shop:
        cache[shop] = {"__typename": "Shop", "name": facts.shop, "uri": "/shops/uydurma", "adsCount": 12}
    cache[f"Ad:{global_id('Ad', advert.ref)}"] = {
        **node(advert),
        "hits": facts.views,
        "properties": [
            {"__typename": "Property", "name": label, "value": value} for label, value in rows(advert, facts)
        ],
        "photos": [{"__typename": "Photo", "url": url} for url in photo_urls(advert)],
        "contact": {"__ref": contact},
        "shop": {"__ref": shop} if facts.shop else None,
    }
    data = {"props": {"pageProps": {"apolloState": cache}}, "page": "/ad", "buildId": "sinaq", "query": {}}
    script = msgspec.json.encode(data).replace(b"</", b"<\\/")
    return _document(
        facts.title,
        b'<div id="__next"><h1 class="tz-001">' + escape(facts.title).encode() + b"</h1></div>"
        b'<script id="__NEXT_DATA__" type="application/json">' + script + b"</script>",
    )


def old_page(advert: Advert, now: datetime) -> bytes:
    """Return the page in the old form: label and value, and dates in words."""
    facts = facts_of(advert)
    properties = "".join(
        f'<div class="product-properties__i"><label class="product-properties__i-name">{escape(label)}</label>'
        f'<span class="product-properties__i-value">{escape(value)}</span></div>\n'
        for label, value in rows(advert, facts)
    )
    photos = "".join(f'<img src="{url}" alt="">\n' for url in photo_urls(advert))
    text = "<br>\n".join(map(escape, facts.paragraphs))
    shop = f'<a href="/shops/uydurma">{escape(facts.shop)}</a> <i>Mağaza</i>' if facts.shop else ""
    body = f"""<div class="product-title-container"><h1 class="product-title">{escape(facts.title)}</h1></div>
<div class="product-photos__slider-top">{photos}</div>
<div class="product-price"><span class="price-val">{_price(advert)}</span> <span class="price-cur">AZN</span></div>
<div class="product-properties">{properties}</div>
<div class="product-description__content">{text}</div>
<div class="product-owner__info"><div class="product-owner__info-name">{escape(facts.contact)}</div>
<div class="product-shop">{shop}</div></div>
<div class="product-info__statistics"><div class="product-info__statistics__i">
<span class="product-info__statistics__i-text">Yeniləndi: {_day(advert.updated_at, now)}</span></div>
<div class="product-info__statistics__i">
<span class="product-info__statistics__i-text">Baxışların sayı: {facts.views}</span></div></div>
<div class="products">{"".join(map(_similar_card, similar(advert)))}</div>"""
    return _document(facts.title, body.encode())


def list_page(title: str, adverts: Iterable[Advert], following: str | None, now: datetime) -> bytes:
    """Return a search page in the old form: cards, and a link to the next page."""
    link = f'<div class="pagination"><a href="{escape(following)}">Növbəti</a></div>' if following else ""
    cards = "".join(
        _card(path(advert), _price(advert), facts_of(advert).title, _day(advert.updated_at, now).lower())
        for advert in adverts
    )
    return _document(title, f'<div class="js-endless-container products">{cards}</div>{link}'.encode())


def _similar_card(other: dict[str, Any]) -> str:
    return _card(other["path"], grouped(other["price"], " "), other["title"], "keçən ay")


def _card(href: str, price: str, title: str, created: str) -> str:
    return f"""<div class="products-i"><a class="products-link" href="{href}">
<div class="products-price"><span class="price-val">{price}</span> <span class="price-cur">AZN</span></div>
<div class="products-name">{escape(title)}</div><div class="products-created">Bakı, {created}</div></a></div>
"""


def _shop(facts: Facts) -> dict[str, Any] | None:
    return {"__typename": "Shop", "id": global_id("Shop", facts.shop)} if facts.shop else None


def _body(facts: Facts) -> str:
    if facts.has_html_body:
        return "".join(f"<p>{escape(text)}</p>" for text in facts.paragraphs)
    return "\n".join(facts.paragraphs)


def _price(advert: Advert) -> str:
    return ON_REQUEST if advert.price is None else grouped(advert.price, " ")


def _day(when: datetime, now: datetime) -> str:
    local = when.astimezone(BAKU)
    ago = days_ago(when, now)
    if ago < 2:
        return f"{'Dünən' if ago else 'Bugün'}, {local:%H:%M}"
    return f"{local.day} {_MONTHS[local.month]} {local.year}"


def _document(title: str, body: bytes) -> bytes:
    head = f"""<!DOCTYPE html>
<html lang="az"><head><meta charset="utf-8"><title>{escape(title)} | sınaq portalı</title>
<meta name="csrf-token" content="{CSRF}">
<style>{_STYLE}</style>
<script type="application/ld+json">{{"@context":"https://schema.org","@type":"BreadcrumbList","itemListElement":[]}}</script>
</head><body>
"""
    return (
        head.encode()
        + body
        + "\n<p>Uydurma portal: evlər, satıcılar və qiymətlər real deyil.</p></body></html>".encode()
    )
