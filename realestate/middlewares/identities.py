"""Identities: a user agent with the headers that belong to it, in the order in which that browser sends them.

The default is `named`: our own name with a contact address. The other modes are for sites that refuse everything but
browsers. They are no licence to exceed the rate limit.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Literal, NamedTuple

Mode = Literal["named", "sticky", "rotate"]
Headers = tuple[tuple[str, str], ...]

#: Browsers whose headers we know, and the oldest version of each that is still in use.
OLDEST = {"Chrome": 120, "Edge": 120, "Firefox": 115, "Safari": 17}
#: The Accept-Language header of a visitor from the portal's country.
LANGUAGES = {
    "AT": "de-AT,de;q=0.9,en;q=0.6",
    "AZ": "az-AZ,az;q=0.9,ru;q=0.7,en;q=0.5",
    "BE": "nl-BE,nl;q=0.9,fr-BE;q=0.8,fr;q=0.7,en;q=0.6",
    "GB": "en-GB,en;q=0.9",
    "IE": "en-IE,en-GB;q=0.9,en;q=0.8",
    "PL": "pl-PL,pl;q=0.9,en;q=0.6",
    "ZA": "en-ZA,en-GB;q=0.9,en;q=0.8",
}
ENGLISH = "en-GB,en;q=0.9"

_HTML = "text/html,application/xhtml+xml,application/xml;q=0.9"
_ACCEPT = {
    "Chromium": f"{_HTML},image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7",
    "Firefox": f"{_HTML},*/*;q=0.8",
    "Safari": f"{_HTML},*/*;q=0.8",
}
_FETCH = (
    ("Sec-Fetch-Site", "none"),
    ("Sec-Fetch-Mode", "navigate"),
    ("Sec-Fetch-User", "?1"),
    ("Sec-Fetch-Dest", "document"),
)
_PLATFORMS = {"Windows": "Windows", "Mac OS X": "macOS", "Linux": "Linux", "Ubuntu": "Linux", "Chrome OS": "Chrome OS"}
_ENCODINGS = "gzip, deflate, br, zstd"


class Agent(NamedTuple):
    """A browser and its User-Agent."""

    text: str
    browser: str
    version: int
    platform: str


@dataclass(frozen=True, slots=True)
class Identity:
    """The headers of one visitor. Headers of different identities are never mixed."""

    name: str
    """Names its cookie jar; it is never sent."""
    headers: Headers
    """In the order in which the browser sends them."""


def browser(name: str, agent: Agent, language: str) -> Identity:
    """The identity of a visitor with this browser."""
    headers: Headers
    if agent.browser in ("Chrome", "Edge"):
        headers = (
            ("Sec-CH-UA", _brands(agent)),
            ("Sec-CH-UA-Mobile", "?0"),
            ("Sec-CH-UA-Platform", f'"{agent.platform}"'),
            ("Upgrade-Insecure-Requests", "1"),
            ("User-Agent", agent.text),
            ("Accept", _ACCEPT["Chromium"]),
            *_FETCH,
            ("Accept-Encoding", _ENCODINGS),
            ("Accept-Language", language),
        )
    elif agent.browser == "Firefox":
        headers = (
            ("User-Agent", agent.text),
            ("Accept", _ACCEPT["Firefox"]),
            ("Accept-Language", language),
            ("Accept-Encoding", _ENCODINGS),
            ("Upgrade-Insecure-Requests", "1"),
            ("Sec-Fetch-Dest", "document"),
            ("Sec-Fetch-Mode", "navigate"),
            ("Sec-Fetch-Site", "none"),
            ("Sec-Fetch-User", "?1"),
        )
    else:
        headers = (
            ("Sec-Fetch-Dest", "document"),
            ("User-Agent", agent.text),
            ("Accept", _ACCEPT["Safari"]),
            ("Sec-Fetch-Site", "none"),
            ("Sec-Fetch-Mode", "navigate"),
            ("Accept-Language", language),
            ("Accept-Encoding", "gzip, deflate, br"),
        )
    return Identity(name, headers)


def named(user_agent: str, language: str) -> Identity:
    """The identity with our own name."""
    accept = f"{_HTML},*/*;q=0.8"
    return Identity(
        "named",
        (
            ("User-Agent", user_agent),
            ("Accept", accept),
            ("Accept-Language", language),
            ("Accept-Encoding", _ENCODINGS),
        ),
    )


@dataclass(frozen=True, slots=True)
class Session:
    """How long an identity is used: this many requests or seconds, whichever ends first."""

    requests: int = 200
    seconds: float = 1800.0


class Identities:
    """The identities of one portal. Every worker computes the same identity for a proxy and its session."""

    def __init__(
        self,
        portal: str,
        country: str,
        *,
        mode: Mode = "named",
        user_agent: str,
        session: Session = Session(),  # noqa: B008
        agents: Sequence[Agent] | None = None,
        default_headers: Mapping[str, str] | None = None,
    ) -> None:
        self.portal = portal
        self.mode = mode
        self.session = session
        self.language = LANGUAGES.get(country, ENGLISH)
        self._default_headers = dict(default_headers or {})
        self._named = self._with_defaults(named(user_agent, self.language))
        self._agents = agents
        self._used: dict[tuple[str, int, int], int] = {}

    def of(self, proxy_id: str, sessions: int, now: float) -> Identity:
        """The identity for the next request through this proxy, after this many changed sessions.

        `now` is in seconds, and the same on all workers.
        """
        if self.mode == "named":
            return self._named
        period = 0
        turn = 0
        if self.mode == "rotate":
            period = int(now // self.session.seconds)
            turn = self._turn(proxy_id, sessions, period)
        name = f"{self.portal}/{proxy_id}/{sessions}/{period}/{turn}"
        return self._with_defaults(browser(name, self._agent(name), self.language))

    def _with_defaults(self, identity: Identity) -> Identity:
        """The identity with the headers that the user wants with every request. They replace those of the browser."""
        if not self._default_headers:
            return identity
        wanted = {name.lower(): (name, value) for name, value in self._default_headers.items()}
        kept = [wanted.pop(name.lower(), (name, value)) for name, value in identity.headers]
        return Identity(identity.name, (*kept, *wanted.values()))

    def _turn(self, proxy_id: str, sessions: int, period: int) -> int:
        """Counts one more request; returns how many times the identity was changed in this period."""
        key = (proxy_id, sessions, period)
        used = self._used.get(key, 0) + 1
        self._used[key] = used
        if used == 1:  # the counts of earlier periods are not needed any more
            self._used = {old: count for old, count in self._used.items() if old[0] != proxy_id or old[2] == period}
        return (used - 1) // self.session.requests

    def _agent(self, name: str) -> Agent:
        agents = self._agents if self._agents is not None else known_agents()
        return Random(name).choice(agents)


@cache
def known_agents() -> tuple[Agent, ...]:
    """The desktop browsers of fake-useragent whose headers we know."""
    from fake_useragent.utils import load  # takes half a second, so only if it is needed

    return tuple(sorted({agent for entry in load() if (agent := agent_of(entry))}))


def agent_of(entry: Mapping[str, object]) -> Agent | None:
    """The browser of an entry of fake-useragent.

    None if we do not know all its headers, or if its user agent contradicts its other fields.
    """
    name = str(entry["browser"])
    text = str(entry["useragent"])
    platform = _PLATFORMS.get(str(entry["os"]))
    if entry["type"] != "desktop" or name not in OLDEST or platform is None or "Mobile" in text:
        return None
    found = re.search(rf"{_USER_AGENT_NAMES[name]}/(\d+)", text)
    if not found or int(found[1]) < OLDEST[name] or (name == "Chrome" and re.search(r"OPR|Edg|YaBrowser", text)):
        return None
    if name == "Safari" and platform != "macOS":
        return None
    return Agent(text, name, int(found[1]), platform)


_USER_AGENT_NAMES = {"Chrome": "Chrome", "Edge": "Edg", "Firefox": "Firefox", "Safari": "Version"}


def _brands(agent: Agent) -> str:
    """The value of Sec-CH-UA as Chromium writes it. The third brand is invented by Chromium, so that sites do not rely
    on the list."""
    own = {"Chrome": "Google Chrome", "Edge": "Microsoft Edge"}[agent.browser]
    return f'"Chromium";v="{agent.version}", "{own}";v="{agent.version}", "Not.A/Brand";v="99"'
