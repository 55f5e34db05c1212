"""Makes Scrapy use the list of public suffixes that tldextract brings with it.

Scrapy's cookie middleware would ask the internet for a newer list when it sees its first cookie.
"""

from scrapy.downloadermiddlewares import cookies
from scrapy.settings import BaseSettings

from realestate.parsing.hosts import public_suffixes


class BundledPublicSuffixes:
    """The add-on that does it. No request leaves a worker except to the sites it crawls."""

    def update_settings(self, settings: BaseSettings) -> None:
        cookies._split_domain = public_suffixes()
