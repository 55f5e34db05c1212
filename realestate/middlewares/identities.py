"""Identities: who we seem to be, as a whole. A browser's agent comes with its hints, in its order of headers.

By default we are `named`: one honest name with an address to write to. The other modes are for sites that turn away
whatever is no browser; they are no licence to exceed the pace.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Literal, NamedTuple

Mode = Literal["named", "sticky", "rotate"]
Headers = tuple[tuple[str, str], ...]

#: Browsers whose headers we know, and the oldest version of each that is still about.
OLDEST = {"Chrome": 120, "Edge": 120, "Firefox": 115, "Safari": 17}
#: What a visitor from the portal's country would have set.
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
    """A browser, as its User-Agent names it."""

    text: str
    browser: str
    version: int
    platform: str


@dataclass(frozen=True, slots=True)
class Identity:
    """Whole, or not at all: nothing of it is combined with anything of another."""

    name: str
    """Tells it from others; nothing a site gets to see."""
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
    """Ourselves."""
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
    """How long an identity is kept, whichever ends first."""

    requests: int = 200
    seconds: float = 1800.0


class Identities:
    """The identities of one portal: the same one for an exit and its session on every worker, without a word between
    them."""

    def __init__(
        self,
        portal: str,
        country: str,
        *,
        mode: Mode = "named",
        user_agent: str,
        session: Session = Session(),  # noqa: B008
        agents: Sequence[Agent] | None = None,
    ) -> None:
        self.portal = portal
        self.mode = mode
        self.session = session
        self.language = LANGUAGES.get(country, ENGLISH)
        self._named = named(user_agent, self.language)
        self._agents = agents
        self._used: dict[tuple[str, int, int], int] = {}

    def of(self, exit: str, refusals: int, now: float) -> Identity:
        """For the next request that leaves by this exit, which had to become somebody else so many times. `now` is in
        seconds, the same on all workers."""
        if self.mode == "named":
            return self._named
        period = int(now // self.session.seconds) if self.mode == "rotate" else 0
        turn = self._turn(exit, refusals, period) if self.mode == "rotate" else 0
        name = f"{self.portal}/{exit}/{refusals}/{period}/{turn}"
        return browser(name, self._chosen(name), self.language)

    def _turn(self, exit: str, refusals: int, period: int) -> int:
        used = self._used[exit, refusals, period] = self._used.get((exit, refusals, period), 0) + 1
        if used == 1:  # what was before is over
            self._used = {key: count for key, count in self._used.items() if key[0] != exit or key[2] == period}
        return (used - 1) // self.session.requests

    def _chosen(self, name: str) -> Agent:
        agents = self._agents if self._agents is not None else known_agents()
        return Random(name).choice(agents)


@cache
def known_agents() -> tuple[Agent, ...]:
    """fake-useragent's browsers of desktops, in whose headers nothing contradicts anything."""
    from fake_useragent.utils import load  # half a second, and only where somebody asks

    return tuple(sorted({agent for told in load() if (agent := agent_of(told))}))


def agent_of(told: Mapping[str, object]) -> Agent | None:
    """A browser of which we know all headers; None for any other, and for one whose parts do not fit together."""
    name, text, platform = str(told["browser"]), str(told["useragent"]), _PLATFORMS.get(str(told["os"]))
    if told["type"] != "desktop" or name not in OLDEST or platform is None or "Mobile" in text:
        return None
    found = re.search(rf"{_MARKS[name]}/(\d+)", text)
    if not found or int(found[1]) < OLDEST[name] or (name == "Chrome" and re.search(r"OPR|Edg|YaBrowser", text)):
        return None
    if name == "Safari" and platform != "macOS":
        return None
    return Agent(text, name, int(found[1]), platform)


_MARKS = {"Chrome": "Chrome", "Edge": "Edg", "Firefox": "Firefox", "Safari": "Version"}


def _brands(agent: Agent) -> str:
    """As Chromium writes them; the third is there so that nobody relies on the list."""
    own = {"Chrome": "Google Chrome", "Edge": "Microsoft Edge"}[agent.browser]
    return f'"Chromium";v="{agent.version}", "{own}";v="{agent.version}", "Not.A/Brand";v="99"'
