"""Identities: headers that fit together, kept for a session, the same on every worker."""

import re

import pytest

from realestate.middlewares.identities import (
    ENGLISH,
    LANGUAGES,
    Agent,
    Identities,
    Identity,
    Mode,
    Session,
    agent_of,
    browser,
    known_agents,
)
from tests.recorded import spider_class
from tests.test_spiders import PORTALS

NAME = "realestate (+https://example.org/contact)"


def identities(mode: Mode, session: Session = Session()) -> Identities:  # noqa: B008
    return Identities("p", "AZ", mode=mode, user_agent=NAME, session=session)


def headers(identity: Identity) -> dict[str, str]:
    return dict(identity.headers)


def test_by_default_the_user_agent_is_our_own_name() -> None:
    found = headers(identities("named").of("proxy", 3, 0))
    assert found["User-Agent"] == NAME
    assert found["Accept-Language"].startswith("az-AZ")
    assert not any(name.startswith("Sec-") for name in found)


@pytest.mark.parametrize("agent", known_agents(), ids=str)
def test_the_headers_of_an_identity_fit_together(agent: Agent) -> None:
    found = headers(browser("x", agent, ENGLISH))
    assert "Mobile" not in found["User-Agent"]
    is_chromium = agent.browser in ("Chrome", "Edge")
    assert ("Sec-CH-UA" in found) is is_chromium, "only Chromium sends hints"
    if is_chromium:
        version = re.search(r"Chrome/(\d+)", agent.text)
        assert version is not None
        assert f'"Chromium";v="{version[1]}"' in found["Sec-CH-UA"]
        assert found["Sec-CH-UA-Mobile"] == "?0"
        system = {"Windows": "Windows NT", "macOS": "Macintosh", "Linux": "Linux", "Chrome OS": "CrOS"}
        assert system[found["Sec-CH-UA-Platform"].strip('"')] in agent.text


def test_there_are_enough_browsers() -> None:
    assert len({agent.text for agent in known_agents()}) > 50
    assert {agent.browser for agent in known_agents()} == {"Chrome", "Edge", "Firefox", "Safari"}


@pytest.mark.parametrize(
    "change",
    [
        {"type": "mobile"},
        {"browser": "Opera"},
        {"os": "iOS"},
        {"useragent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/99.0.0.0 Safari/537.36"},
        {"useragent": "Mozilla/5.0 (Linux; Android 10; K) Chrome/135.0.0.0 Mobile Safari/537.36"},
        {"useragent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/135.0.0.0 Safari/537.36 OPR/117.0.0.0"},
        {"browser": "Safari", "useragent": "Mozilla/5.0 (Windows NT 10.0) Version/18.3 Safari/605.1.15"},
    ],
)
def test_an_entry_with_contradictions_is_not_used(change: dict[str, str]) -> None:
    text = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/135.0.0.0 Safari/537.36"
    found = {"type": "desktop", "browser": "Chrome", "os": "Windows", "useragent": text}
    assert agent_of(found) is not None
    assert agent_of(found | change) is None


def test_every_worker_computes_the_same_identity() -> None:
    one, other = identities("sticky"), identities("sticky")
    assert one.of("a", 0, 5) == other.of("a", 0, 99_999)
    assert len({one.of(proxy_id, 0, 0).name for proxy_id in "abcdefgh"}) == 8


def test_a_refused_identity_is_replaced_completely() -> None:
    sticky = identities("sticky")
    before, after = sticky.of("a", 0, 0), sticky.of("a", 1, 0)
    assert before.name != after.name
    seen = {sticky.of("a", sessions, 0).headers for sessions in range(20)}
    assert len(seen) > 10


def test_a_session_ends_after_its_requests_or_its_time() -> None:
    rotating = identities("rotate", Session(requests=3, seconds=100))
    names = [rotating.of("a", 0, 0).name for _ in range(7)]
    assert [names.index(name) for name in names] == [0, 0, 0, 3, 3, 3, 6]
    assert rotating.of("a", 0, 100).name not in names
    sticky = identities("sticky", Session(requests=1, seconds=1))
    assert len({sticky.of("a", 0, now).name for now in range(50)}) == 1


def test_every_portals_country_has_its_language() -> None:
    nowhere = "ZZ"  # the generic spider: its pages are fetched in English
    assert {spider_class(portal).country for portal in PORTALS} - {nowhere} <= set(LANGUAGES)
