"""Days as a visitor sees them: pages change, and adverts are removed in the way of each site."""

import re
from collections.abc import Callable
from email.utils import format_datetime
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse

from realestate.demo.truth import compare
from realestate.items import Listing, as_record
from realestate.pipelines.clean import clean
from realestate.simulator.adverts import Advert
from realestate.simulator.immoweb import SOLD_DAYS
from realestate.simulator.immoweb.results import item
from realestate.simulator.portals import PORTALS
from realestate.simulator.server import Simulator
from tests.recorded import spider_class
from tests.simulator.conftest import Lived


def removed_by(simulator: Simulator, portal: str, how: str) -> Advert:
    """Let days pass until an advert is removed in this way."""
    for _ in range(20):
        removed = simulator.advance()["portals"][portal]["removed"]
        for ref, way in removed.items():
            if way == how:
                return simulator.world.adverts[portal][int(ref)]
    raise AssertionError(f"nothing was removed by {how}")


def test_a_page_is_rendered_once_until_it_changes(simulator: Simulator) -> None:
    site = simulator.sites["immoweb"]
    before = {advert: site.response(site.path(advert)).body for advert in simulator.world.listed("immoweb")}
    assert all(site.response(site.path(advert)).body is body for advert, body in before.items())
    changes = simulator.advance()["portals"]["immoweb"]
    touched = {ref for refs in changes.values() for ref in refs}
    for advert, body in before.items():
        if str(advert.ref) in changes["price_changed"]:
            assert site.response(site.path(advert)).body != body
        elif str(advert.ref) not in touched and not advert.home.is_project:  # whose homes are on its page
            assert site.response(site.path(advert)).body is body


def test_a_page_does_not_depend_on_when_it_is_first_asked_for(simulator: Simulator) -> None:
    early = {
        name: {advert: site.page(advert).body for advert in simulator.world.listed(name)}
        for name, site in simulator.sites.items()
    }
    changes = simulator.advance()["portals"]
    for name, site in simulator.sites.items():
        late = type(site)(simulator.world, site.base)
        touched = {ref for refs in changes[name].values() for ref in refs}
        for advert, body in early[name].items():
            says_when = any(word.encode() in body for word in ("Bugün", "Dünən"))
            may_differ = site.ref(advert) in touched or says_when or advert.home.is_project
            assert may_differ or late.page(advert).body == body


def test_a_removed_advert_is_in_no_search_and_not_in_the_truth(simulator: Simulator) -> None:
    for _ in range(3):
        simulator.advance()
    for name, site in simulator.sites.items():
        gone = {site.ref(advert) for advert in simulator.world.gone(name)}
        assert gone
        assert gone.isdisjoint(truth["ref"] for truth in site.truths())


def test_immoweb_responds_404_or_410_for_a_removed_advert(simulator: Simulator) -> None:
    site = simulator.sites["immoweb"]
    for how in ("404", "410"):
        advert = removed_by(simulator, "immoweb", how)
        assert site.response(site.path(advert)).status == int(how)
        assert site.response(f"/en/classified/{advert.ref}").status == int(how)
    assert site.response("/en/classified/21999999").status == 404


def test_a_sold_home_keeps_its_page_for_some_days(
    simulator: Simulator, embedded: Callable[[bytes], dict[str, Any]]
) -> None:
    site, shown = simulator.sites["immoweb"], 0
    while shown < SOLD_DAYS:  # some return before
        advert = removed_by(simulator, "immoweb", "sold")
        shown = 0
        while advert.gone == "sold" and shown < SOLD_DAYS:
            page = site.response(site.path(advert))
            assert page.status == 200
            assert embedded(page.body)["flags"]["isSoldOrRented"] is True
            simulator.advance()
            shown += 1
    assert advert.gone is None or site.response(site.path(advert)).status == 404


def test_emlak_redirects_a_removed_advert_to_the_search_or_says_it_expired(simulator: Simulator) -> None:
    site = simulator.sites["emlak"]
    redirected = removed_by(simulator, "emlak", "redirect")
    assert site.response(site.path(redirected)).location == f"{site.base}/elanlar/?ann_type=3"
    expired = removed_by(simulator, "emlak", "expired")
    page = site.response(site.path(expired))
    assert page.status == 200
    assert "Bu elanın vaxtı bitib" in page.body.decode()


def test_a_returned_advert_has_its_page_again(simulator: Simulator) -> None:
    for name, site in simulator.sites.items():
        returned: list[str] = []
        while not returned:
            returned = simulator.advance()["portals"][name]["returned"]
        for advert in (each for each in simulator.world.listed(name) if site.ref(each) in returned):
            page = site.response(site.path(advert))
            assert page.status == 200
            assert "Bu elanın vaxtı bitib" not in page.body.decode()
            assert b'"isSoldOrRented":true' not in page.body


def test_a_page_that_moved_leaves_no_old_copy_behind(simulator: Simulator) -> None:
    """A corrected room count is in emlak's titles, and so in its addresses."""
    site = simulator.sites["emlak"]
    moved = 0
    for _ in range(10):
        before = {advert: site.path(advert) for advert in simulator.world.listed("emlak")}
        assert all(site.response(path).status == 200 for path in before.values())
        simulator.advance()
        for advert, path in before.items():
            if advert.gone is None and site.path(advert) != path:
                moved += 1
                response = site.response(path)
                assert (response.status, response.location) == (301, site.base + site.path(advert))
    assert moved


def test_every_search_shows_the_price_of_the_page(
    simulator: Simulator, embedded: Callable[[bytes], dict[str, Any]]
) -> None:
    for _ in range(6):
        simulator.advance()
    immoweb, emlak = simulator.sites["immoweb"], simulator.sites["emlak"]
    for advert in simulator.world.listed("immoweb"):
        page, found = embedded(immoweb.page(advert).body), item(advert)
        assert found["price"].items() >= page["price"].items()
        assert found["flags"] == page["displayFlags"]
    cards = b"".join(emlak.response(f"/elanlar/?page={number}").body for number in range(1, 13)).decode()
    marks = {"month": " / ay", "day": " / gün", None: ""}
    for advert in simulator.world.listed("emlak"):
        card = cards.partition(f'<h6 class="title"><a href="{emlak.path(advert)}">')[2].partition("</div>")[0]
        shown = re.sub(r"[\u00a0\u2009 ]", "", card.partition('<p class="price">')[2].partition("</p>")[0])
        asked = "Razılaşmailə" if advert.price is None else f"{advert.price}AZN{marks[advert.rent_period]}"
        assert shown == asked.replace(" ", "")


def test_charges_are_shown_only_beside_a_monthly_rent(simulator: Simulator) -> None:
    for _ in range(8):
        simulator.advance()
    rows = [row for row in simulator.sites["immoweb"].truths() if row["operation"] == "rent"]
    assert {row["rent_period"] for row in rows} == {"month", "year"}
    assert any(row["charges"] for row in rows)
    assert all(row["price"] and row["rent_period"] == "month" for row in rows if row["charges"])


@pytest.mark.parametrize("portal", PORTALS)
def test_after_many_days_the_parsers_still_read_the_true_values(after_many_days: Lived, portal: str) -> None:
    simulator = after_many_days.simulator
    site, spider = simulator.sites[portal], spider_class(portal)()
    read: list[dict[str, Any]] = []
    for advert in simulator.world.listed(portal):
        url = site.base + site.path(advert)
        served = {"Date": format_datetime(simulator.world.now)}
        response = HtmlResponse(url, 200, served, site.page(advert).body, encoding="utf-8", request=Request(url))
        shown_on_the_card = {"rent_period": site.truth(advert)["rent_period"]} if portal != "immoweb" else {}
        parsed = spider.parse_listing(response, **shown_on_the_card)
        read += (as_record(clean(each)) for each in parsed if isinstance(each, Listing))  # as it is stored
    compared = compare(list(site.truths()), read)
    assert compared.expected > 200
    assert compared.wrong == compared.missing == compared.unexpected == ()
