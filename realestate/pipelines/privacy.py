"""Removes persons from a listing before any other pipeline sees it."""

from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from types import NoneType
from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector

from realestate.items import FIELDS, OURS, Listing, Telephones
from realestate.privacy import COUNTRIES, strip_persons
from realestate.queue import signals
from realestate.queue.page_budget import PageTooSlow
from realestate.storage import Quarantined
from realestate.storage.contacts import Contacts
from realestate.storage.vault import Vault

#: All fields that come from the portal, except the identity and the photos' URLs, which must stay as they are. All of
#: them are searched, because a mistake of a parser may put any text into any field.
_SEARCHED = (*(name for name in FIELDS if name not in OURS | {"portal", "ref", "url", "photos"}), "extra")
_VALUES = attrgetter(*_SEARCHED)
#: Values of these types contain no text.
_WITHOUT_TEXT = frozenset({NoneType, bool, int, float, Decimal, datetime})


class PrivacyPipeline:
    """Removes names, telephones, e-mail addresses and messenger accounts from listings.

    With CONTACTS on, it sends what it found by the signal `contacts_found`. The store pipeline receives that signal
    before it receives the listing.
    """

    def __init__(self, crawler: Crawler, portal_country: str, *, keeps_contacts: bool) -> None:
        assert crawler.stats is not None
        self.crawler = crawler
        self.stats: StatsCollector = crawler.stats
        self.portal_country = portal_country
        self.keeps_contacts = keeps_contacts

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        keeps_contacts = crawler.settings.getbool("CONTACTS")
        if keeps_contacts:
            Vault(crawler.settings.getlist("CONTACTS_KEYS"))  # raises now if a key is invalid
        return cls(crawler, getattr(crawler.spidercls, "country", ""), keeps_contacts=keeps_contacts)

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Telephones):
            return self._without_numbers(item)
        if not isinstance(item, Listing):
            return item
        try:
            return self._stripped(item)
        except PageTooSlow:
            raise
        except Exception as error:  # a listing that cannot be searched must not be stored either
            bare = Listing(portal=item.portal, ref=item.ref, url=item.url, country=self.portal_country)
            return Quarantined.of(bare, f"cannot be searched for persons: {type(error).__name__}")

    def _without_numbers(self, item: Telephones) -> Telephones:
        """Return the item without its numbers. The store writes them before the response is acknowledged."""
        numbers = item.numbers
        item.numbers = ()
        if self.keeps_contacts:
            try:
                found = strip_persons({"extra": {"telephones": list(numbers)}}, self.portal_country).contacts
            except PageTooSlow:
                raise
            except Exception:  # the message is not logged: it may contain a number
                self.stats.inc_value("contacts/unreadable")
            else:
                self._send(Contacts.of(item.portal, item.ref, (), found, "asked"))
        return item

    def _send(self, contacts: Contacts) -> None:
        if contacts:
            self.crawler.signals.send_catch_log(signals.contacts_found, contacts=contacts)

    def _stripped(self, listing: Listing) -> Listing:
        values = _VALUES(listing)
        texts = {name: value for name, value in zip(_SEARCHED, values, strict=True) if type(value) not in _WITHOUT_TEXT}
        # A home in a country without a numbering plan is sold by somebody in the portal's country, or in any country.
        country = listing.country if listing.country in COUNTRIES else self.portal_country
        fields, names, contacts = strip_persons(texts, country)
        for name, value in fields.items():
            if value is not texts[name]:
                setattr(listing, name, value)
        if contacts or names:
            self.stats.inc_value("listing/scrubbed")
            if self.keeps_contacts:
                self._send(Contacts.of(listing.portal, listing.ref, names, contacts))
        return listing
