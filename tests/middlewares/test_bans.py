"""Ban pages are recognised, and ordinary pages are not taken for ban pages."""

import re
from collections import defaultdict
from pathlib import Path

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, TextResponse

from realestate.middlewares.bans import (
    BadBanRules,
    BanEscalation,
    BanRule,
    BanRules,
    UsualPages,
    is_html_instead_of_json,
    read_ban_rules,
)
from realestate.simulator.sites import SITES
from realestate.simulator.world import World
from tests import recorded

RULES = read_ban_rules()
URL = "https://portal.example/homes/5"


def html(title: str = "Home", body: str = "", padding: int = 0) -> bytes:
    return f"<html><head><title>{title}</title></head><body>{body}{' ' * padding}</body></html>".encode()


BAN_PAGES = {
    "datadome, a script": ("datadome", html("x.com", "<script src='https://ct.captcha-delivery.com/c.js'></script>")),
    "datadome, words": ("datadome", html("x.com", "<p>Please enable JS and disable any ad blocker</p>")),
    "datadome, JSON": ("datadome", b'{"url":"https://geo.captcha-delivery.com/captcha/?initialCid=x"}'),
    "cloudflare, managed": (
        "cloudflare",
        html("Welcome", "<script>window._cf_chl_opt = {cType:'managed'}</script>", 120_000),
    ),
    "cloudflare, title": ("cloudflare", html("Just a moment...", "", 5_000)),
    "cloudflare, 1020": ("cloudflare", html("Attention Required! | Cloudflare")),
    "perimeterx": ("perimeterx", html("x", "<div id='px-captcha'></div>")),
    "incapsula": ("incapsula", html("", "<iframe src='/_Incapsula_Resource?x=1'></iframe>")),
    "aws": ("aws_waf", html("", "<script src='https://a.token.awswaf.com/a/challenge.js'></script>")),
    "captcha, title": ("captcha", html("Security Check | Portal", "", 100_000)),
    "captcha, a form": ("captcha", html("Portal", '<div class="g-recaptcha" data-sitekey="x"></div>')),
    "consent": ("consent", html("Before you continue to Portal")),
    "refused": ("refused", html("403 Forbidden", "<h1>Forbidden</h1>nginx")),
}


@pytest.mark.parametrize(("kind", "body"), BAN_PAGES.values(), ids=BAN_PAGES)
def test_a_ban_page_is_recognised(kind: str, body: bytes) -> None:
    assert RULES.kind_of(200, URL, body) == kind


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        ("captcha", "SECURİTY CHECK"),
        ("captcha", "ſecurity Chec\u212a"),
        ("captcha", "TƏHLÜKƏSİZLİK YOXLANIŞI"),
        ("captcha", "Ich bin kein Roboter"),
        ("consent", "AVANT D'ACCÉDER"),
        ("consent", "Avant de contınuer"),
        (None, "Flat near the checkpoint"),
    ],
)
def test_titles_match_in_capitals_of_any_language(kind: str | None, title: str) -> None:
    assert RULES.kind_of(200, URL, html(title)) == kind


def test_title_rules_ignore_case_for_every_letter() -> None:
    """It matches the same letters as Python's own case-insensitive patterns."""
    letters = list(map(chr, range(0x3000)))
    rules = BanRules([BanRule(kind="x", title="^[a-z]$")])
    found = {each for each in letters if rules.kind_of(200, URL, html(each))}
    assert found == {each for each in letters if re.fullmatch("[a-z]", each, re.IGNORECASE)}


def test_a_pattern_with_character_classes_keeps_their_case() -> None:
    rules = BanRules([BanRule(kind="x", title=r"^no \S+ here$")])
    assert (rules.kind_of(200, URL, html("No Way Here")), rules.kind_of(200, URL, html("No   here"))) == ("x", None)


def test_a_login_page_is_a_ban_page_only_after_a_redirect() -> None:
    login = "https://portal.example/login?next=/homes/5"
    assert RULES.kind_of(200, login, html("Log in"), was_redirected=True) == "login"
    assert RULES.kind_of(200, login, html("Log in")) is None


ORDINARY = {
    "a tag of DataDome's": html("Flat in Gent", "<script>window.ddoptions={ajaxListenerPath:['x']}</script>", 18_000),
    "Cloudflare's own script": html("Flat", "<script src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'></script>"),
    "a captcha in a form of a long page": html("Flat", '<div class="g-recaptcha" data-x></div>', 30_000),
    "a text about bans": html("Flat", "<p>access denied to the cellar; cookie consent; captcha</p>"),
    "a similar title": html("Villa Just in Time", "the moment"),
    "data": b'{"results": [' + b'"geo.captcha-delivery.com",' * 200 + b"0]}",
    "nothing": b"",
}


@pytest.mark.parametrize("body", ORDINARY.values(), ids=ORDINARY)
def test_an_ordinary_page_is_not_a_ban_page(body: bytes) -> None:
    assert RULES.kind_of(200, URL, body) is None


def test_five_hundred_ordinary_pages_give_no_false_alarm() -> None:
    world = World(7, 250)
    pages = [
        (portal, site.render(advert))
        for portal, site in ((name, kind(world, "http://127.0.0.1")) for name, kind in SITES.items())
        for advert in world.listed(portal)
    ]
    alarms, usual = [], defaultdict[str, UsualPages](UsualPages)
    for portal, body in pages:
        if usual[portal].is_truncated("extract", body) or usual[portal].is_thin("extract", len(body)):
            alarms.append(f"{portal}: unusual")
        usual[portal].record("extract", body)
    bodies = [*(body for _, body in pages), *(page.read_bytes() for page in sorted(recorded.pages()))]
    alarms += [kind for body in bodies if (kind := RULES.kind_of(200, URL, body))]
    assert len(pages) >= 500
    assert alarms == []


@pytest.mark.parametrize(
    ("accept", "body", "expected"),
    [
        ("application/json", b"<!doctype html><p>Hello", True),
        ("application/json", b'{"a": 1}', False),
        ("application/json", b"", False),
        ("text/html", b"<!doctype html>", False),
        (None, b"<!doctype html>", False),
    ],
)
def test_html_instead_of_json_is_recognised(accept: str | None, body: bytes, expected: bool) -> None:
    request = Request(URL, headers={"Accept": accept} if accept else {})
    kind = HtmlResponse if body.startswith(b"<") else TextResponse
    assert is_html_instead_of_json(request, kind(URL, body=body, encoding="utf-8")) is expected


def test_a_page_far_smaller_than_usual_is_thin() -> None:
    usual = UsualPages()
    for _ in range(UsualPages.PAGES_FOR_SIZE - 1):
        usual.record("extract", b" " * 18_000)
    assert not usual.is_thin("extract", 100), "too few are known"
    usual.record("extract", b" " * 18_000)
    assert usual.is_thin("extract", 1_000)
    assert not usual.is_thin("extract", 3_000)
    assert not usual.is_thin("discover", 10)


def test_a_rule_is_added_without_code(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text('[[rule]]\nkind = "queue"\nbody = ["you are number", "in the queue"]\nstatus = [200]\n')
    rules = read_ban_rules(own)
    page = html("Portal", "You are number 5 in the queue")
    assert (rules.kind_of(200, URL, page), rules.kind_of(503, URL, page)) == ("queue", None)
    assert rules.kind_of(200, URL, html("Just a moment...")) == "cloudflare", "the shipped rules stay"


@pytest.mark.parametrize(
    "text",
    [
        "kind",
        '[[rule]]\nbody = ["x"]',
        '[[rule]]\nkind = "x"',
        '[[rule]]\nkind = "x"\nsmaller = 5',
        '[[rule]]\nkind = "x"\ntitle = "("',
        '[[rule]]\nkind = "x"\nbody = ["x"]\nshort = 5',
        '[[rule]]\nkind = "a/b"\nbody = ["x"]',
    ],
)
def test_a_bad_rule_raises_an_error(tmp_path: Path, text: str) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(text)
    with pytest.raises(BadBanRules):
        read_ban_rules(own)


def test_a_page_without_an_end_is_truncated() -> None:
    usual = UsualPages()
    for _ in range(5):
        assert not usual.is_truncated("extract", b"<html><p>half a pa")
        usual.record("extract", html("Home"))
    assert usual.is_truncated("extract", b"<html><p>half a pa")
    assert not usual.is_truncated("extract", html("Another", "with more") + b"\n<!-- made in 5 ms -->")
    assert not usual.is_truncated("discover", b'{"results": [')
    usual.record("extract", b"<p>a page that never ends")
    assert not usual.is_truncated("extract", b"<html><p>half a pa"), "this portal sends pages without an end"


def test_occasional_ban_pages_do_not_escalate() -> None:
    escalation = BanEscalation()
    for _ in range(10):
        assert escalation.record_ban_page() == "continue"
        for _ in range(BanEscalation.WINDOW // 2):
            escalation.record_page()
