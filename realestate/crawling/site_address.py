"""Where a portal is found: at its own address, or at the one that a simulator gives it."""

from collections.abc import Iterable
from functools import cache
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

import msgspec

from realestate.parsing import urls
from realestate.queue.credentials import without_credentials


def is_on_site(url: str, site: str, domains: Iterable[str]) -> bool:
    """Whether the URL belongs to the site or to one of the domains. A simulated site is recognised by its port."""
    if urls.is_on_site(site, url):
        return True
    own = urlsplit(site)
    given = urlsplit(url)
    if given.scheme not in urls.WEB_SCHEMES:
        return False
    if given.netloc == own.netloc:
        return True
    host = given.hostname or ""
    return own.port is None and any(host == domain or host.endswith("." + domain) for domain in domains)


@cache
def simulated_portals(simulator: str) -> dict[str, str]:
    """The addresses of the portals that the simulator at this URL serves, by portal.

    No proxy is used: a proxy for the real sites cannot reach a simulator on this machine."""
    try:
        with build_opener(ProxyHandler({})).open(f"{simulator.rstrip('/')}/_portals", timeout=10) as response:
            return msgspec.json.decode(response.read(), type=dict[str, str])
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        reason = getattr(error, "reason", None) or error  # of an URLError, without "<urlopen error …>"
        message = f"SIMULATOR_URL {simulator!r}: no simulator answers there ({reason}); start `realestate simulate`"
        raise OSError(without_credentials(message)) from error
