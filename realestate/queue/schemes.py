"""Which URL schemes requests may have: http and https, unless ALLOWED_SCHEMES says otherwise.

Scrapy also fetches `file:`, `ftp:`, `s3:` and `data:` URLs. A site that names one in a link or a sitemap would make a
worker read its own files.
"""

from collections.abc import Iterable
from typing import Self

from scrapy.settings import BaseSettings

DEFAULT = ("http", "https")


class ForbiddenScheme(ValueError):
    """A URL whose scheme is not in ALLOWED_SCHEMES."""


class Schemes:
    """The allowed schemes."""

    def __init__(self, names: Iterable[str] = DEFAULT) -> None:
        self.names = frozenset(name.strip().lower() for name in names)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        return cls(settings.getlist("ALLOWED_SCHEMES", list(DEFAULT)))

    def allow(self, url: str) -> bool:
        return url.partition(":")[0].lower() in self.names

    def check(self, url: str) -> None:
        """Raises ForbiddenScheme."""
        if not self.allow(url):
            scheme = url.partition(":")[0][:20]
            raise ForbiddenScheme(f"the scheme {scheme!r} is not in ALLOWED_SCHEMES: {', '.join(sorted(self.names))}")


def switch_off_handlers(settings: BaseSettings) -> None:
    """Switch off the download handlers of all other schemes. What the project itself sets is switched off too."""
    schemes = Schemes.from_settings(settings)
    for scheme in list(settings.getwithbase("DOWNLOAD_HANDLERS")):
        if not schemes.allow(scheme):
            settings["DOWNLOAD_HANDLERS"].set(scheme, None, priority="cmdline")
