"""Walls are recognised, and nothing else is."""

import re
from collections import defaultdict
from pathlib import Path

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, TextResponse

from realestate.middlewares.blocks import KNOWN, BadRules, Rule, Rules, Usual, is_html_for_json, read_rules
from realestate.simulator.sites import SITES
from realestate.simulator.world import World
from tests import recorded

RULES = read_rules()
URL = "https://portal.example/homes/5"


def html(title: str = "Home", body: str = "", padding: int = 0) -> bytes:
    return f"<html><head><title>{title}</title></head><body>{body}{' ' * padding}</body></html>".encode()


WALLS = {
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


@pytest.mark.parametrize(("kind", "body"), WALLS.values(), ids=WALLS)
def test_a_wall_is_recognised(kind: str, body: bytes) -> None:
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
def test_a_title_may_be_in_capitals_of_any_language(kind: str | None, title: str) -> None:
    assert RULES.kind_of(200, URL, html(title)) == kind


def test_a_rule_for_titles_looks_at_no_letters_case_whatever_the_letter() -> None:
    """What stands for one letter among a pattern's small ones is what Python itself takes for it."""
    letters = list(map(chr, range(0x3000)))
    rules = Rules([Rule(kind="x", title="^[a-z]$")])
    found = {each for each in letters if rules.kind_of(200, URL, html(each))}
    assert found == {each for each in letters if re.fullmatch("[a-z]", each, re.IGNORECASE)}


def test_a_pattern_with_classes_of_its_own_keeps_them() -> None:
    rules = Rules([Rule(kind="x", title=r"^no \S+ here$")])
    assert (rules.kind_of(200, URL, html("No Way Here")), rules.kind_of(200, URL, html("No   here"))) == ("x", None)


def test_a_login_is_a_wall_only_if_we_were_led_there() -> None:
    login = "https://portal.example/login?next=/homes/5"
    assert RULES.kind_of(200, login, html("Log in"), was_redirected=True) == "login"
    assert RULES.kind_of(200, login, html("Log in")) is None


FINE = {
    "a tag of DataDome's": html("Flat in Gent", "<script>window.ddoptions={ajaxListenerPath:['x']}</script>", 18_000),
    "Cloudflare's own script": html("Flat", "<script src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'></script>"),
    "a captcha in a form of a long page": html("Flat", '<div class="g-recaptcha" data-x></div>', 30_000),
    "a seller who speaks of walls": html("Flat", "<p>access denied to the cellar; cookie consent; captcha</p>"),
    "a home called so": html("Villa Just in Time", "the moment"),
    "data": b'{"results": [' + b'"geo.captcha-delivery.com",' * 200 + b"0]}",
    "nothing": b"",
}


@pytest.mark.parametrize("body", FINE.values(), ids=FINE)
def test_what_only_looks_like_one_is_none(body: bytes) -> None:
    assert RULES.kind_of(200, URL, body) is None


def test_five_hundred_ordinary_pages_give_no_false_alarm() -> None:
    world = World(7, 250)
    pages = [
        (portal, site.render(advert))
        for portal, site in ((name, kind(world, "http://127.0.0.1")) for name, kind in SITES.items())
        for advert in world.listed(portal)
    ]
    alarms, usual = [], defaultdict[str, Usual](Usual)
    for portal, body in pages:
        if usual[portal].is_cut_short("extract", body) or usual[portal].is_thin("extract", len(body)):
            alarms.append(f"{portal}: unusual")
        usual[portal].saw("extract", body)
    bodies = [*(body for _, body in pages), *(page.read_bytes() for page in sorted(recorded.pages()))]
    alarms += [kind for body in bodies if (kind := RULES.kind_of(200, URL, body))]
    assert len(pages) >= 500
    assert alarms == []


@pytest.mark.parametrize(
    ("accept", "body", "is_wall"),
    [
        ("application/json", b"<!doctype html><p>Hello", True),
        ("application/json", b'{"a": 1}', False),
        ("application/json", b"", False),
        ("text/html", b"<!doctype html>", False),
        (None, b"<!doctype html>", False),
    ],
)
def test_a_page_where_data_was_asked_for(accept: str | None, body: bytes, is_wall: bool) -> None:
    request = Request(URL, headers={"Accept": accept} if accept else {})
    kind = HtmlResponse if body.startswith(b"<") else TextResponse
    assert is_html_for_json(request, kind(URL, body=body, encoding="utf-8")) is is_wall


def test_a_page_far_smaller_than_usual_is_none_of_the_portals() -> None:
    usual = Usual()
    for _ in range(KNOWN - 1):
        usual.saw("extract", b" " * 18_000)
    assert not usual.is_thin("extract", 100), "too few are known"
    usual.saw("extract", b" " * 18_000)
    assert usual.is_thin("extract", 1_000)
    assert not usual.is_thin("extract", 3_000)
    assert not usual.is_thin("discover", 10)


def test_a_rule_is_added_without_code(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text('[[rule]]\nkind = "queue"\nbody = ["you are number", "in the queue"]\nstatus = [200]\n')
    rules = read_rules(own)
    wall = html("Portal", "You are number 5 in the queue")
    assert (rules.kind_of(200, URL, wall), rules.kind_of(503, URL, wall)) == ("queue", None)
    assert rules.kind_of(200, URL, html("Just a moment...")) == "cloudflare", "ours stay"


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
def test_a_bad_rule_is_told(tmp_path: Path, text: str) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(text)
    with pytest.raises(BadRules):
        read_rules(own)


def test_a_page_that_ends_in_the_middle_was_cut_off() -> None:
    usual = Usual()
    for _ in range(5):
        assert not usual.is_cut_short("extract", b"<html><p>half a pa")
        usual.saw("extract", html("Home"))
    assert usual.is_cut_short("extract", b"<html><p>half a pa")
    assert not usual.is_cut_short("extract", html("Another", "with more") + b"\n<!-- made in 5 ms -->")
    assert not usual.is_cut_short("discover", b'{"results": [')
    usual.saw("extract", b"<p>a page that never ends")
    assert not usual.is_cut_short("extract", b"<html><p>half a pa"), "this portal does not end its pages"
