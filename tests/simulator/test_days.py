"""Days as a visitor sees them: pages rendered anew, adverts gone in the ways of each site."""

from collections.abc import Callable
from typing import Any

from realestate.simulator.immoweb import SOLD_DAYS
from realestate.simulator.server import Simulator
from realestate.simulator.world import Advert


def removed_by(simulator: Simulator, portal: str, how: str) -> Advert:
    """Let days pass until an advert goes this way."""
    for _ in range(20):
        removed = simulator.advance()["portals"][portal]["removed"]
        for ref, way in removed.items():
            if way == how:
                return simulator.world.adverts[portal][int(ref)]
    raise AssertionError(f"nothing was removed by {how}")


def test_a_page_is_rendered_once_until_it_changes(simulator: Simulator) -> None:
    site = simulator.sites["immoweb"]
    before = {advert: site.answer(site.path(advert)).body for advert in simulator.world.listed("immoweb")}
    assert all(site.answer(site.path(advert)).body is body for advert, body in before.items())
    changes = simulator.advance()["portals"]["immoweb"]
    for advert, body in before.items():
        if str(advert.ref) in changes["price_changed"]:
            assert site.answer(site.path(advert)).body != body
        elif advert.gone is None:
            assert site.answer(site.path(advert)).body is body


def test_a_page_does_not_depend_on_when_it_is_first_asked_for(simulator: Simulator) -> None:
    early = {
        name: {advert: site.page(advert).body for advert in simulator.world.listed(name)}
        for name, site in simulator.sites.items()
    }
    changes = simulator.advance()["portals"]
    for name, site in simulator.sites.items():
        late = type(site)(simulator.world, site.base)
        touched = {*changes[name]["price_changed"], *changes[name]["removed"]}
        for advert, body in early[name].items():
            assert str(advert.ref) in touched or late.page(advert).body == body


def test_a_removed_advert_is_in_no_search_and_not_in_the_truth(simulator: Simulator) -> None:
    for _ in range(3):
        simulator.advance()
    for name, site in simulator.sites.items():
        gone = {str(advert.ref) for advert in simulator.world.gone(name)}
        assert gone
        assert gone.isdisjoint(truth["ref"] for truth in site.truths())


def test_immoweb_answers_404_or_410_for_what_is_gone(simulator: Simulator) -> None:
    site = simulator.sites["immoweb"]
    for how in ("404", "410"):
        advert = removed_by(simulator, "immoweb", how)
        assert site.answer(site.path(advert)).status == int(how)
        assert site.answer(f"/en/classified/{advert.ref}").status == int(how)
    assert site.answer("/en/classified/21999999").status == 404


def test_a_sold_home_keeps_its_page_for_some_days(
    simulator: Simulator, embedded: Callable[[bytes], dict[str, Any]]
) -> None:
    site, advert = simulator.sites["immoweb"], removed_by(simulator, "immoweb", "sold")
    for _ in range(SOLD_DAYS):
        page = site.answer(site.path(advert))
        assert page.status == 200
        assert embedded(page.body)["flags"]["isSoldOrRented"] is True
        simulator.advance()
    assert advert.gone != "sold" or site.answer(site.path(advert)).status == 404


def test_emlak_leads_from_what_is_gone_to_the_search_or_says_it_expired(simulator: Simulator) -> None:
    site = simulator.sites["emlak"]
    redirected = removed_by(simulator, "emlak", "redirect")
    assert site.answer(site.path(redirected)).location == f"{site.base}/elanlar/?ann_type=3"
    expired = removed_by(simulator, "emlak", "expired")
    page = site.answer(site.path(expired))
    assert page.status == 200
    assert "Bu elanın vaxtı bitib" in page.body.decode()


def test_a_returned_advert_has_its_page_again(simulator: Simulator) -> None:
    for name, site in simulator.sites.items():
        returned: list[str] = []
        while not returned:
            returned = simulator.advance()["portals"][name]["returned"]
        for ref in returned:
            page = site.answer(site.path(simulator.world.adverts[name][int(ref)]))
            assert page.status == 200
            assert "Bu elanın vaxtı bitib" not in page.body.decode()
            assert b'"isSoldOrRented":true' not in page.body
