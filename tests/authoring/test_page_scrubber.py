"""Recorded pages hold no persons; the rest of them stays."""

import json

import pytest

from realestate.authoring import page_scrubber
from realestate.items import as_record
from tests import recorded

SELLER = {
    "id": 7,
    "price": 245000,
    "posted": 1767225600000,
    "photo": "https://photos.example/055/2345678.jpg",
    "text": "Zəng edin: 055 234 56 78, ev əladır",
    "seller": {"name": "Uydurma Ad", "phone": "0552345678", "sellerType": "OWNER"},
    "customers": [{"type": "PRIVATE", "name": "Somebody Invented", "email": "somebody@example.com"}],
    "cache": json.dumps({"user": {"username": "invented", "mobile": "+994552345678"}}),
}
PERSONS = ("Uydurma Ad", "Somebody Invented", "055 234 56 78", "0552345678", "somebody@", '"invented"', "994552345678")


@pytest.mark.parametrize(
    "page",
    [
        json.dumps(SELLER, ensure_ascii=False),
        f"<html><body><script>window.ad = {json.dumps(SELLER, ensure_ascii=False)};</script></body></html>",
        f'<html><body><script type="application/json">{json.dumps(SELLER, ensure_ascii=False)}</script></body></html>',
        f"<html><body><script>x(JSON.parse({json.dumps(json.dumps(SELLER))}))</script></body></html>",
    ],
    ids=["JSON", "assigned", "script", "JSON.parse"],
)
def test_persons_go_and_the_rest_stays(page: str) -> None:
    scrubbed = page_scrubber.scrub_page(page, "AZ")
    assert [person for person in PERSONS if person in scrubbed] == []
    for kept in ("245000", "1767225600000", "https://photos.example/055/2345678.jpg", "OWNER", "PRIVATE", "phone"):
        assert kept in scrubbed
    assert page_scrubber.scrub_page(scrubbed, "AZ") == scrubbed


def test_elements_that_show_a_person_are_emptied() -> None:
    page = (
        '<html><head></head><body><p class="name-seller">Uydurma Ad <span>(Vasitəçi)</span></p>'
        '<a class="call" href="tel:+994552345678">055 234 56 78</a><b class="price">245 000</b></body></html>'
    )
    scrubbed = page_scrubber.scrub_page(page, "AZ")
    assert "Uydurma" not in scrubbed
    assert "234" not in scrubbed
    assert "(Vasitəçi)" in scrubbed
    assert "245 000" in scrubbed


@pytest.mark.parametrize("portal", ["emlak", "immoweb"])
def test_a_scrubbed_page_reads_as_before_but_for_who_sells(portal: str) -> None:
    spider = recorded.spider(portal)
    for expected in recorded.expectations():
        if expected.parent.name == portal and "listing" in (told := json.loads(expected.read_text("utf-8"))):
            page = page_scrubber.scrub_page(recorded.page_of(expected).read_text("utf-8"), spider.country)
            response = recorded.response_of(expected, page.encode())
            (listing, *_) = spider.parsed(response, "extract", **told.get("hints", {}))
            wanted = {name: value for name, value in told["listing"].items() if name not in ("agency_name", "extra")}
            record = as_record(listing)
            assert {name: record[name] for name in wanted} == wanted
