"""Privacy: persons are taken out of a listing before anything else sees it."""

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
from realestate.storage import Quarantined
from realestate.storage.contacts import Contacts
from realestate.storage.vault import Vault

#: All a portal tells, but for identity and addresses, which must stay: a parser's mistake may put a text anywhere.
_SEARCHED = (*(name for name in FIELDS if name not in OURS | {"portal", "ref", "url", "photos"}), "extra")
_VALUES = attrgetter(*_SEARCHED)
#: What holds no words.
_WORDLESS = frozenset({NoneType, bool, int, float, Decimal, datetime})


class PrivacyPipeline:
    """Strips names, scrubs telephones, e-mails and messengers. With CONTACTS on, what was found is told apart from
    the listing, by the signal `contacts_found`, which the store's pipeline hears before it sees the listing."""

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
            Vault(crawler.settings.getlist("CONTACTS_KEYS"))  # a key that cannot be used shows now
        return cls(crawler, getattr(crawler.spidercls, "country", ""), keeps_contacts=keeps_contacts)

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Telephones):
            return self._taken(item)
        if not isinstance(item, Listing):
            return item
        try:
            return self._stripped(item)
        except Exception as error:  # what cannot be searched may not be kept either
            bare = Listing(portal=item.portal, ref=item.ref, url=item.url, country=self.portal_country)
            return Quarantined.of(bare, f"not to be searched for persons: {type(error).__name__}")

    def _taken(self, told: Telephones) -> Telephones:
        """Without its numbers the item goes on to the store, which writes them before the answer is acknowledged."""
        numbers, told.numbers = told.numbers, ()
        if self.keeps_contacts:
            try:
                found = strip_persons({"extra": {"telephones": list(numbers)}}, self.portal_country).contacts
            except Exception:  # nothing is told of it: its text may hold a number
                self.stats.inc_value("contacts/unreadable")
            else:
                self._tell(Contacts.of(told.portal, told.ref, (), found, "asked"))
        return told

    def _tell(self, contacts: Contacts) -> None:
        if contacts:
            self.crawler.signals.send_catch_log(signals.contacts_found, contacts=contacts)

    def _stripped(self, listing: Listing) -> Listing:
        values = _VALUES(listing)
        told = {name: value for name, value in zip(_SEARCHED, values, strict=True) if type(value) not in _WORDLESS}
        # A home abroad is sold by somebody of the portal's country, or of any.
        country = listing.country if listing.country in COUNTRIES else self.portal_country
        fields, names, found = strip_persons(told, country)
        for name, value in fields.items():
            if value is not told[name]:
                setattr(listing, name, value)
        if found or names:
            self.stats.inc_value("listing/scrubbed")
            if self.keeps_contacts:
                self._tell(Contacts.of(listing.portal, listing.ref, names, found))
        return listing
