"""The simulated emlak: its pages say what the truth says, and its search finds all of it."""

import re
from collections import Counter
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from realestate.simulator.adverts import Advert
from realestate.simulator.site import Site
from realestate.simulator.world import World


def text(page: LexborHTMLParser, selector: str) -> str | None:
    found = page.css_first(selector)
    return None if found is None else " ".join(found.text().split())


def rows(page: LexborHTMLParser) -> dict[str, str]:
    found = {}
    for row in page.css("dl.technical-characteristics dd"):
        label = row.css_first("span.label")
        assert label is not None
        found[label.text()] = row.text().replace(label.text(), "").strip()
    return found


def number(written: str | None) -> float | None:
    return None if written is None else float(re.sub(r"\s|m2|sot", "", written).replace(",", "."))


def cards(site: Site, query: str) -> list[tuple[str, str, bool]]:
    """Address, price and whether it is pinned, of each card."""
    page = LexborHTMLParser(site.response(f"/elanlar/?{query}").body)
    found = []
    for card in page.css("div.ticket-list > div.ticket"):
        link, price = card.css_first("h6.title a"), card.css_first("p.price")
        assert link is not None
        assert price is not None
        is_pinned = "pinned" in (card.attributes["class"] or "")
        found.append((link.attributes["href"] or "", price.text(), is_pinned))
    return found


@pytest.fixture(scope="module")
def adverts(world: World) -> list[Advert]:
    return world.listed("emlak")


@pytest.fixture(scope="module")
def pages(emlak: Site, adverts: list[Advert]) -> list[tuple[dict[str, Any], LexborHTMLParser]]:
    return [(emlak.truth(advert), LexborHTMLParser(emlak.page(advert).body)) for advert in adverts]


Pages = list[tuple[dict[str, Any], LexborHTMLParser]]


def test_the_truth_equals_the_values_of_the_pages(pages: Pages) -> None:
    for truth, page in pages:
        shown, size = rows(page), number(rows(page)["Sahə"])
        in_sot = shown["Sahə"].endswith("sot")
        assert truth["ref"] == text(page, "div.panel p.pull-right b")
        assert truth["title"] == text(page, "h1.title")
        assert truth["operation"] == ("sale" if truth["title"].startswith("Satılır ") else "rent")
        assert (truth["area_m2"], truth["plot_m2"]) == ((None, (size or 0) * 100) if in_sot else (size, None))
        assert truth["rooms"] == number(shown.get("Otaqların sayı"))
        assert truth["floor"] == number(shown.get("Yerləşdiyi mərtəbə"))
        assert truth["floors_total"] == number(shown.get("Mərtəbə sayı"))
        assert (truth["has_deed"] is None) == ("Sənədin tipi" not in shown)
        assert (truth["condition"] is None) == ("Təmiri" not in shown)
        assert truth["description"] == ("\n".join(" ".join(p.text().split()) for p in page.css(".desc p")) or None)


def test_the_truth_reads_prices_with_any_kind_of_space(pages: Pages) -> None:
    spaces = set()
    for truth, page in pages:
        shown = page.css_first(".left-bar .price span.m")
        assert shown is not None
        spaces |= set(re.findall(r"\s", shown.text())) if truth["price"] else set()
        assert truth["price"] == (None if shown.text() == "Razılaşma ilə" else number(shown.text()))
    assert spaces == {" ", "\u00a0", "\u2009"}


def test_the_truth_takes_an_address_apart(pages: Pages) -> None:
    for truth, page in pages:
        address = (text(page, ".map-address h4") or "").removeprefix("Ünvan: ")
        parts = {part.rpartition(" ")[2]: part.rpartition(" ")[0] for part in address.split(", ")}
        assert truth["city"] == parts.get("ş.")
        assert truth["district"] == parts.get("r.", parts.get("q."))
        in_title = re.search(r"(?:tikili|evi|villa|ofis|qaraj|torpaq|obyekt) (.+) m\.$", truth["title"])
        assert truth["metro_station"] == parts.get("m.", in_title and in_title[1])
        assert truth["street"] is None or truth["street"] in address
        point = page.css_first("input#google_map")
        assert point is not None
        located = f"({truth['latitude']}, {truth['longitude']})" if truth["geo_precision"] else ""
        assert point.attributes["value"] == located


def test_the_truth_takes_the_one_date_shown(pages: Pages) -> None:
    labels: Counter[str] = Counter()
    for truth, page in pages:
        day, month, year = (text(page, ".date strong") or "").split(".")
        label = (text(page, ".date") or "").partition(":")[0]
        labels[label] += 1
        field, other = ("posted_at", "updated_at") if label == "Tarix" else ("updated_at", "posted_at")
        assert (truth[field], truth[other]) == (f"{year}-{month}-{day}T00:00:00+04:00", None)
    assert set(labels) == {"Tarix", "Yenilənmə tarixi"}


def test_rows_are_missing_and_out_of_order_on_some_pages(pages: Pages) -> None:
    first = Counter(next(iter(rows(page))) for _, page in pages)
    assert len(first) > 3
    assert len({frozenset(rows(page)) for _, page in pages}) > 5
    assert {truth["seller_type"] for truth, _ in pages} == {"agency", "owner"}


def test_search_finds_every_advert_and_repeats_only_the_pinned(emlak: Site, adverts: list[Advert]) -> None:
    seen: Counter[str] = Counter()
    pinned: Counter[str] = Counter()
    for page in range(1, len(adverts) // 20 + 1):
        for href, _, is_pinned in cards(emlak, f"ann_type=3&sort_type=1&page={page}"):
            (pinned if is_pinned else seen)[href] += 1
    assert seen == Counter(emlak.path(advert) for advert in adverts)
    assert set(pinned) < set(seen)
    assert set(pinned.values()) == {10}


def test_only_the_search_page_shows_the_period_of_a_rent(emlak: Site, adverts: list[Advert]) -> None:
    truths = {emlak.path(advert): emlak.truth(advert) for advert in adverts}
    marks = {"month": " / ay", "day": " / gün"}
    seen = set()
    for page in range(1, 12):
        for href, price, _ in cards(emlak, f"ann_type=2&page={page}"):
            truth = truths[href]
            seen.add(truth["rent_period"])
            assert truth["operation"] == "rent"
            assert price.endswith(marks.get(truth["rent_period"], "Razılaşma ilə"))
    assert seen == {"month", "day", None}


def test_a_page_past_the_end_is_the_last_one_again(emlak: Site) -> None:
    last = emlak.response("/elanlar/?ann_type=3&page=20").body
    assert emlak.response("/elanlar/?ann_type=3&page=21").body == last
    assert emlak.response("/elanlar/?ann_type=3&page=99999999999999999999").body == last
    assert "Növbəti →".encode() not in last
    assert "Növbəti →".encode() in emlak.response("/elanlar/?ann_type=3&page=19").body


def test_the_count_filters_and_orders_are_honoured(emlak: Site, adverts: list[Advert]) -> None:
    body = emlak.response("/elanlar/?ann_type=1&price_min=50000&price_max=90000&sort_type=3").body
    asked = [a for a in adverts if a.home.operation == "sale" and 50_000 <= a.asking <= 90_000]
    assert text(LexborHTMLParser(body), "h1.title span") == f"/ {len(asked)} elan tapıldı"
    found = cards(emlak, "ann_type=1&price_min=50000&price_max=90000&sort_type=3")
    prices = [number(price.removesuffix(" AZN")) for _, price, pinned in found if "AZN" in price and not pinned]
    assert prices == sorted(price for price in prices if price is not None)


def test_other_spellings_of_a_url_redirect_to_the_right_one(emlak: Site, adverts: list[Advert]) -> None:
    for advert in adverts[:50]:
        right = emlak.path(advert)
        for wrong in (f"/{advert.ref}-x.html", f"/satilir-menzil-s{advert.ref}.html"):
            response = emlak.response(wrong)
            assert (response.status, response.location) == (301, emlak.base + right)
        assert emlak.response(right).status == 200
        assert right.isascii()


def test_a_removed_advert_redirects_to_the_search_with_a_message(emlak: Site) -> None:
    response = emlak.response("/1-satilir.html")
    assert (response.status, response.location) == (302, f"{emlak.base}/elanlar/?ann_type=3")
    cookie = (response.set_cookie or "").partition(";")[0]
    assert b"Elan tap\xc4\xb1lmad\xc4\xb1" in emlak.response("/elanlar/?ann_type=3", cookie).body
    assert b"Elan tap\xc4\xb1lmad\xc4\xb1" not in emlak.response("/elanlar/?ann_type=3").body
