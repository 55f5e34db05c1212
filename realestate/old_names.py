"""Settings that were renamed in version 0.2. The old names work in 0.2 and are removed in 0.3.

An old name counts where the new one is not set: in the environment (see ``environment.variable``), and as a Scrapy
setting (``scrapy crawl immoweb -s PACE_RATE=0.5``). Each process warns once per old name.
"""

import logging
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

#: Old name -> new name.
RENAMED_SETTINGS = {
    "PACE_RATE": "RATE_LIMIT",
    "PACE_BURST": "RATE_LIMIT_BURST",
    "PACE_CONCURRENCY": "RATE_LIMIT_CONCURRENCY",
    "PACE_JITTER": "RATE_LIMIT_JITTER",
    "PACE_AHEAD_SECONDS": "RATE_LIMIT_AHEAD_SECONDS",
    "PACE_RECOVER_SECONDS": "RATE_LIMIT_RECOVER_SECONDS",
    "BLOCK_RULES": "BAN_RULES",
    "CONNECT_SECONDS": "DOWNLOAD_CONNECT_TIMEOUT",
    "STALL_SECONDS": "DOWNLOAD_STALL_TIMEOUT",
    "PROXY_LIST_MOST": "PROXY_LIST_MAX",
}

_warned: set[str] = set()

logger = logging.getLogger(__name__)


def old_name_of(name: str) -> str | None:
    """The name that a setting had in version 0.1; None if it was not renamed."""
    return next((old for old, new in RENAMED_SETTINGS.items() if new == name), None)


def warn_of_variable(old: str) -> None:
    """Warn on stderr that an environment variable was renamed. Logging is not set up yet when settings are read."""
    if old not in _warned:
        _warned.add(old)
        print(f"realestate: warning: {_text(old)}", file=sys.stderr)


class OldSettingNames:
    """A Scrapy add-on that copies settings given under an old name to the new name."""

    def update_settings(self, settings: "BaseSettings") -> None:
        for old, new in RENAMED_SETTINGS.items():
            priority = settings.getpriority(old)
            if priority is None:
                continue
            settings.set(new, settings[old], priority)
            if old not in _warned:
                _warned.add(old)
                logger.warning("%s", _text(old))


def _text(old: str) -> str:
    return f"{old} was renamed to {RENAMED_SETTINGS[old]}; the old name will stop working in version 0.3"
