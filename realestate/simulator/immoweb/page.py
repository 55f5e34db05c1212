"""The HTML around an immoweb object: what a browser would show, and what a parser must ignore."""

from html import escape
from typing import Any

import msgspec

from realestate.simulator.adverts import Advert
from realestate.simulator.immoweb.facts import Facts, facts_of
from realestate.simulator.immoweb.prices import spoken_price
from realestate.simulator.places import BELGIUM

_STYLE = """<style>
body{margin:0;font-family:"Open Sans",Arial,sans-serif;color:#333}.container{max-width:1200px;margin:0 auto}
.classified__header{display:flex;justify-content:space-between;padding:24px 0;border-bottom:1px solid #ddd}
.classified__title{font-size:28px;line-height:36px}.classified__price{font-size:32px;font-weight:600}
.classified-table{width:100%;border-collapse:collapse}.classified-table__row{border-bottom:1px solid #eee}
.classified-table__header{width:40%;text-align:left;font-weight:400;color:#767676;padding:8px 0}
.sr-only{position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0,0,0,0)}
</style>"""

_AFTER = """
        window.ddoptions = {ajaxListenerPath: ["/"], sessionByHeader: true};
        window.isPrintPage = false;
        window.searchResultsJsonUrl = "/en/search-results";
        window.translations = {"price": "Price", "see": {"more": "See more", "less": "See less"}};
"""

_MENU = "".join(
    f'<li class="main-nav__item"><a href="/en/search/{kind}/{deal}?countries=BE">{kind} {deal}</a></li>\n'
    for kind in ("house", "apartment", "office", "land", "garage", "kot", "business", "industry")
    for deal in ("for-sale", "for-rent")
)
_FOOTER = "".join(
    f'<li class="footer__item"><a class="footer__link" href="/en/search/house-and-apartment/for-sale'
    f'?countries=BE&amp;postalCodes={place.postal_code}">Real estate for sale in {escape(place.city)}</a></li>\n'
    for place in BELGIUM[::8]
)
_TAIL = f"""</main>
<footer class="footer"><ul>
{_FOOTER}<li><a href="/_private/account">My account</a></li></ul>
<p>An invented portal: no home, seller or price on it is real.</p></footer>
</body>
</html>
""".encode()


def advert_page(advert: Advert, url: str, document: dict[str, Any]) -> bytes:
    """Return the page of one advert."""
    facts = facts_of(advert)
    embedded = msgspec.json.encode(document).replace(b"</", b"<\\/")
    return b"".join((_before(advert, facts, url), embedded, b";", _shown(advert, facts), _TAIL))


def search_page(response: dict[str, Any]) -> bytes:
    """Return a search page of the older form: the results are JSON in an attribute."""
    results = escape(msgspec.json.encode(response["results"]).decode(), quote=True)
    return (
        f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(response["labellizedSearch"])}</title>{_STYLE}</head>
<body><header><ul class="main-nav">{_MENU}</ul></header><main>
<iw-search :results='{results}' :result-count='{response["totalItems"]}'></iw-search>
""".encode()
        + _TAIL
    )


def _before(advert: Advert, facts: Facts, url: str) -> bytes:
    title = escape(facts.og_title, quote=True)
    address = escape(url, quote=True)
    summary = escape(" ".join(facts.description.split())[:150], quote=True)
    return f"""<!DOCTYPE html>
<html lang="en" itemscope itemtype="https://schema.org/WebPage">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} - simulated</title>
<meta name="description" content="{summary}">
<meta property="og:type" content="website">
<meta property="og:title" content="{title}">
<meta property="og:description" content="{summary}">
<meta property="og:url" content="{address}">
<link rel="canonical" href="{address}">
{_STYLE}
</head>
<body>
<header class="header"><nav><ul class="main-nav">
{_MENU}</ul></nav></header>
<main class="main container">
<div class="classified" data-id="{advert.ref}">
    <script type="text/javascript">
        window.classified = """.encode()


def _shown(advert: Advert, facts: Facts) -> bytes:
    rows = "".join(
        f'<tr class="classified-table__row"><th class="classified-table__header" scope="row">{label}</th>'
        f'<td class="classified-table__data">{value or "Not specified"}</td></tr>\n'
        for label, value in _rows(advert, facts)
    )
    title = escape(facts.own_title or facts.og_title)
    text = "</p>\n<p>".join(map(escape, facts.description.split("\n\n")))
    price = spoken_price(advert)
    return f"""{_AFTER}    </script>
<div class="classified__header"><h1 class="classified__title">
    {title}
</h1>
<p class="classified__price"><span aria-hidden="true">{price}</span><span class="sr-only">{price}</span></p></div>
<div class="classified__description"><p>{text}</p></div>
<table class="classified-table"><tbody>
{rows}</tbody></table>
</div>
""".encode()


def _rows(advert: Advert, facts: Facts) -> list[tuple[str, object]]:
    place = advert.home.place
    return [
        ("Construction year", facts.year),
        ("Building condition", facts.condition and facts.condition.replace("_", " ").capitalize()),
        ("Floor", None if facts.floor is None else str(facts.floor)),
        ("Number of floors", facts.floors),
        ("Number of frontages", facts.facades),
        ("Living area", facts.area_m2 and f"{facts.area_m2} m² square meters"),
        ("Bedrooms", facts.bedrooms),
        ("Bathrooms", facts.bathrooms),
        ("Surface of the plot", facts.plot_m2 and f"{facts.plot_m2} m² square meters"),
        ("Energy class", facts.epc_score),
        ("Primary energy consumption", facts.energy_kwh_m2 and f"{facts.energy_kwh_m2} kWh/m²"),
        ("Heating type", facts.heating and facts.heating.capitalize()),
        ("Neighbourhood or locality", escape(place.city)),
        ("Price", spoken_price(advert)),
        ("External reference", facts.seller_ref),
    ]
