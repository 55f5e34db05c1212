import logging
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from cryptography.fernet import Fernet
from scrapy.crawler import Crawler

from realestate.items import Listing, as_record
from realestate.pipelines.clean import CleanPipeline
from realestate.pipelines.privacy import PrivacyPipeline
from realestate.pipelines.validate import ValidatePipeline
from realestate.privacy import MARK
from realestate.queue import signals
from realestate.spiders.emlak import EmlakSpider
from realestate.storage import Quarantined
from realestate.storage.contacts import Contacts
from realestate.storage.vault import VaultError
from tests.examples import a_listing

MakeCrawler = Callable[..., Crawler]
PERSONAL: dict[str, Any] = {
    "title": "House 0475 12 34 56",
    "description": "Call +32 475 12 34 56 or write to jan@voorbeeld.be.\nPrice 350.000 euro, 140 m².",
    "street": "Lindenlaan 4, tel 0475/12.34.56",
    "seller_type": "owner",
    "agency_name": "J. Proefman",
    "agency_ref": "0475123456",
    "extra": {"phone": "475123456", "views": 12, "note": ["wa.me/32475123456"], "owner": {"name": "J. Proefman"}},
}


@pytest.fixture
def crawler(make_crawler: MakeCrawler) -> Crawler:
    return make_crawler(EmlakSpider)


def stripped(crawler: Crawler, **changes: Any) -> Listing:
    listing = PrivacyPipeline.from_crawler(crawler).process_item(a_listing(**changes))
    assert isinstance(listing, Listing)
    return listing


def holds_a_person(record: object) -> bool:
    return any(part in repr(record) for part in ("475", "12 34", "34.56", "jan@", "Proefman"))


def test_all_personal_data_is_removed(crawler: Crawler) -> None:
    assert holds_a_person(as_record(a_listing(**PERSONAL)))
    listing = stripped(crawler, **PERSONAL)
    assert not holds_a_person(as_record(listing))
    assert (listing.title, listing.street) == (f"House {MARK}", f"Lindenlaan 4, tel {MARK}")
    assert listing.description == f"Call {MARK} or write to {MARK}.\nPrice 350.000 euro, 140 m²."
    assert (listing.agency_name, listing.agency_ref) == (None, None)
    assert listing.extra == {"views": 12, "note": [MARK], "owner": {}}


def test_a_listing_without_persons_is_the_same(crawler: Crawler) -> None:
    assert stripped(crawler) == a_listing()
    assert crawler.stats is not None
    assert crawler.stats.get_value("listing/scrubbed") is None


def test_other_items_pass_unchanged(crawler: Crawler) -> None:
    item = {"phone": "0501234567"}
    assert PrivacyPipeline.from_crawler(crawler).process_item(item) is item


def test_a_home_abroad_may_have_a_telephone_of_the_portals_country(crawler: Crawler) -> None:
    assert stripped(crawler, country="ES", title="Villa, 50 123 45 67").title == f"Villa, {MARK}"


def test_privacy_is_the_first_pipeline(crawler: Crawler) -> None:
    pipelines = crawler.settings.getdict("ITEM_PIPELINES")
    # Beside ours there is one of the queue, which changes no item.
    orders = {path.rpartition(".")[2]: order for path, order in pipelines.items() if isinstance(path, str)}
    assert min(orders, key=orders.__getitem__) == "PrivacyPipeline"


def through_all(crawler: Crawler, listing: Listing) -> Any:
    item: Any = listing
    for pipeline in (PrivacyPipeline.from_crawler(crawler), CleanPipeline(), ValidatePipeline.from_crawler(crawler)):
        item = pipeline.process_item(item)
    return item


@pytest.mark.parametrize(
    "fault",
    [
        {"price": Decimal(-5)},
        {"price": Decimal("Infinity")},
        {"latitude": "0475 12 34 56"},
        {"condition": ["Bel 0475 12 34 56"]},
        {"features": frozenset({"tel 0475123456"}), "price": Decimal(-5)},
    ],
    ids=str,
)
def test_quarantined_items_contain_no_personal_data(crawler: Crawler, fault: dict[str, Any]) -> None:
    item = through_all(crawler, a_listing(**PERSONAL | fault))
    assert isinstance(item, Quarantined)
    assert not holds_a_person((item.record, item.errors))


def endless() -> dict[str, Any]:
    extra: dict[str, Any] = {"note": "0475 12 34 56"}
    extra["again"] = extra
    return extra


@pytest.mark.parametrize(
    ("fault", "reason"),
    [({"extra": endless()}, "RecursionError"), ({"title": "0475 12 34 56" * 10_000}, "ValueError")],
    ids=["endless", "too long"],
)
def test_a_listing_that_cannot_be_searched_is_quarantined_without_content(
    crawler: Crawler, fault: dict[str, Any], reason: str
) -> None:
    item = PrivacyPipeline.from_crawler(crawler).process_item(a_listing(**PERSONAL | fault))
    assert isinstance(item, Quarantined)
    assert (item.ref, item.errors) == ("21000001", (f"cannot be searched for persons: {reason}",))
    assert not holds_a_person((item.record, item.errors))


def contacts_sent_for(crawler: Crawler, listing: Listing) -> list[Contacts]:
    sent: list[Contacts] = []

    def hear(contacts: Contacts) -> None:
        sent.append(contacts)

    crawler.signals.connect(hear, signal=signals.contacts_found)
    PrivacyPipeline.from_crawler(crawler).process_item(listing)
    return sent


def test_contacts_are_discarded_by_default(crawler: Crawler) -> None:
    assert crawler.settings.getbool("CONTACTS") is False
    assert contacts_sent_for(crawler, a_listing(**PERSONAL)) == []
    assert crawler.stats is not None
    assert crawler.stats.get_value("listing/scrubbed") == 1


def test_with_contacts_on_they_are_sent_by_a_signal(make_crawler: MakeCrawler) -> None:
    crawler = make_crawler(EmlakSpider, CONTACTS=True, CONTACTS_KEYS=[Fernet.generate_key().decode()])
    assert contacts_sent_for(crawler, a_listing(**PERSONAL)) == [
        Contacts(
            portal="immoweb",
            ref="21000001",
            names=("J. Proefman",),
            phones=("+32475123456",),
            emails=("jan@voorbeeld.be",),
        )
    ]
    assert contacts_sent_for(crawler, a_listing()) == []
    assert not holds_a_person(as_record(stripped(crawler, **PERSONAL))), "the listing never carries them"


def test_with_contacts_on_and_no_key_the_start_fails(make_crawler: MakeCrawler) -> None:
    with pytest.raises(VaultError, match="CONTACTS_KEYS"):
        PrivacyPipeline.from_crawler(make_crawler(EmlakSpider, CONTACTS=True))


def test_no_log_contains_a_contact(make_crawler: MakeCrawler, caplog: pytest.LogCaptureFixture) -> None:
    crawler = make_crawler(EmlakSpider, CONTACTS=True, CONTACTS_KEYS=[Fernet.generate_key().decode()])

    def broken(contacts: Contacts) -> None:
        raise RuntimeError(repr(contacts))

    crawler.signals.connect(broken, signal=signals.contacts_found)
    with caplog.at_level(logging.DEBUG):
        stripped(crawler, **PERSONAL)
    assert "21000001" in caplog.text
    assert not holds_a_person(caplog.text)
