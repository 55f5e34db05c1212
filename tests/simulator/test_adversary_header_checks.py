"""Which requests contradict themselves."""

import pytest
from multidict import CIMultiDict

from realestate.middlewares.identities import browser, known_agents, named
from realestate.simulator.adversary.header_checks import objection

WINDOWS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"
)
PIXEL = WINDOWS.replace("Windows NT 10.0; Win64; x64", "Linux; Android 15; Pixel 9").replace(
    " Safari", " Mobile Safari"
)
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0"
BRANDS = '"Chromium";v="131", "Google Chrome";v="131", "Not.A/Brand";v="99"'
CHROME = {
    "User-Agent": WINDOWS,
    "Accept": "text/html",
    "Accept-Language": "en",
    "Accept-Encoding": "gzip, br",
    "Sec-CH-UA": BRANDS,
    "Sec-CH-UA-Mobile": "?0",
    "Sec-CH-UA-Platform": '"Windows"',
}


def minded(*without: str, **changed: str) -> str | None:
    headers = {name: value for name, value in CHROME.items() if name not in without}
    return objection(CIMultiDict({**headers, **{name.replace("_", "-"): value for name, value in changed.items()}}))


def test_headers_of_a_browser_are_accepted() -> None:
    assert minded() is None
    assert minded(User_Agent=PIXEL, Sec_CH_UA_Mobile="?1", Sec_CH_UA_Platform='"Android"') is None
    assert minded("Sec-CH-UA", "Sec-CH-UA-Mobile", "Sec-CH-UA-Platform", User_Agent=FIREFOX) is None
    assert minded("Sec-CH-UA", "Sec-CH-UA-Mobile", "Sec-CH-UA-Platform") is None, "hints are for secure pages only"


@pytest.mark.parametrize(
    ("reason", "without", "changed"),
    [
        ("headers", (), {"User_Agent": PIXEL}),
        ("headers", (), {"Sec_CH_UA_Mobile": "?1"}),
        ("headers", (), {"User_Agent": FIREFOX}),
        ("headers", (), {"User_Agent": WINDOWS.replace("131", "120")}),
        ("headers", (), {"Sec_CH_UA_Platform": '"macOS"'}),
        ("headers", (), {"Sec_CH_UA_Platform": '"Plan 9"'}),
        ("headers", (), {"Sec_CH_UA": BRANDS.replace("Google Chrome", "Microsoft Edge")}),
        ("headers", (), {"Sec_CH_UA": "\0" * 500}),
        ("headers", ("Sec-CH-UA-Platform",), {}),
        ("headers", ("Accept-Language",), {}),
        ("headers", ("Accept",), {}),
        ("headers", ("Accept-Encoding",), {}),
        ("agent", ("User-Agent",), {}),
        ("agent", (), {"User_Agent": " "}),
        ("agent", (), {"User_Agent": "python-requests/2.32"}),
        ("agent", (), {"User_Agent": "Scrapy/2.19 (+https://scrapy.org)"}),
        ("proxy", (), {"Via": "1.1 somebody"}),
        ("proxy", (), {"x_forwarded_for": "10.0.0.1"}),
        ("proxy", (), {"Forwarded": "for=10.0.0.1"}),
    ],
)
def test_contradictions_libraries_and_proxies_are_detected(
    reason: str, without: tuple[str, ...], changed: dict[str, str]
) -> None:
    assert minded(*without, **changed) == reason


def test_an_honest_user_agent_is_accepted() -> None:
    assert objection(CIMultiDict(named("realestate/1.0 (+mailto:crawl@example.org)", "en").headers)) is None


def test_the_identities_of_our_crawler_have_no_contradiction() -> None:
    minded = {agent.text for agent in known_agents() if objection(CIMultiDict(browser("x", agent, "en").headers))}
    assert minded == set()
