"""A proxy's address is read or refused, and its credentials are told to nobody."""

from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realestate.middlewares.proxies import (
    DIRECT,
    BadProxy,
    Gateway,
    Pool,
    Proxy,
    listed,
    parse,
    parse_all,
)

SECRET = "s3cr3t"


@pytest.mark.parametrize(
    ("text", "address", "user", "password"),
    [
        ("host.example:8080", "http://host.example:8080", "", ""),
        ("http://host.example:8080/", "http://host.example:8080", "", ""),
        ("HTTPS://Host.example:443", "https://host.example:443", "", ""),
        ("http://[2001:db8::1]:80", "http://[2001:db8::1]:80", "", ""),
        ("http://me:pass@1.2.3.4:80", "http://1.2.3.4:80", "me", "pass"),
        ("me:p%40ss%2C@1.2.3.4:80", "http://1.2.3.4:80", "me", "p@ss,"),
        ("http://me:p@s/s?w#rd@1.2.3.4:80", "http://1.2.3.4:80", "me", "p@s/s?w#rd"),
        ("1.2.3.4:80:me:p%40ss", "http://1.2.3.4:80", "me", "p%40ss"),
        ("http://me@1.2.3.4:80", "http://1.2.3.4:80", "me", ""),
    ],
)
def test_an_address_is_read(text: str, address: str, user: str, password: str) -> None:
    proxy = parse(text)
    assert (proxy.address, proxy.user, proxy.password) == (address, user, password)


def test_what_is_asked_of_a_proxy_is_what_was_read() -> None:
    assert parse("http://me:p%40s%3A@h:1").url == "http://me:p%40s%3A@h:1"
    assert parse("h:1").url == "http://h:1"
    assert parse("direct") is DIRECT
    assert DIRECT.url is None


def test_options_follow_a_space_or_are_a_query(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.touch()
    told = parse(f"h:1 tier=residential ca={ca} verify=no")
    assert (told.tier, told.ca, told.verifies) == ("residential", ca, False)
    assert parse(f"h:1?tier=residential&ca={quote(str(ca))}&verify=no") == told
    assert (parse("h:1").tier, parse("h:1").ca, parse("h:1").verifies) == ("datacentre", None, True)
    assert told.exit.tier > parse("h:1").exit.tier > DIRECT.exit.tier


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("socks5://me:s3cr3t@h:1080", "socks5://h: the download handler speaks http and https proxies, not socks5"),
        ("socks4://h:1080", "not socks4"),
        ("s3cr3t://h:1080", "not others"),
        ("http://me:s3cr3t@host", "a host and a port are needed"),
        ("http://me:s3cr3t@host:s3cr3t", "a host and a port are needed"),
        ("http://me:s3cr3t", "a host and a port are needed"),
        ("http://me:s3/cr3t@", "a host and a port are needed"),
        ("me s3cr3t@host:80", "a host and a port are needed"),
        ("h:1 s3cr3t@host:80", "its options are tier=, ca= and verify="),
        ("h:0", "a host and a port are needed"),
        ("h:70000", "a host and a port are needed"),
        ("http://me:s3cr3t%0d%0aX: y@h:80", "a host and a port are needed"),
        ("http://me:s3cr3t%0d%0aX@h:80", "the credentials are no text"),
        ("h:1 tier=s3cr3t", "tier= is one of datacentre, residential"),
        ("h:1 verify=s3cr3t", "verify= is yes or no"),
        ("h:1 ca=/s3cr3t", "ca= names no file"),
        ("", "a host and a port are needed"),
    ],
)
def test_what_is_no_proxy_is_refused_without_telling_a_secret(text: str, why: str) -> None:
    with pytest.raises(BadProxy) as caught:
        parse(text)
    assert why in str(caught.value)
    assert SECRET not in str(caught.value)


@given(st.text(alphabet=st.sampled_from("ab:/@?#= %.\n1"), max_size=12), st.sampled_from(["http://", "socks5://", ""]))
def test_no_message_ever_holds_a_password(noise: str, scheme: str) -> None:
    """Wherever the password ends up by a slip of who wrote it."""
    text = f"{scheme}me:{noise}PASSWORD{noise}@host.example:80{noise}"
    try:
        proxy = parse(text)
        told = f"{proxy!r} {proxy.address} {proxy.id} {proxy.exit}"
    except BadProxy as error:
        told = str(error)
    assert "PASSWORD" not in told


def test_the_bad_one_of_a_list_is_told_by_its_place() -> None:
    with pytest.raises(BadProxy, match=r"^proxy 2: a host and a port are needed$"):
        parse_all(["h:1", "me:s3cr3t", "h:2"])


def test_a_list_is_parted_by_commas_or_lines() -> None:
    assert listed("h:1, h:2 tier=residential\n\nh:3,\n") == ["h:1", "h:2 tier=residential", "h:3"]


def test_an_exit_is_the_same_on_every_worker_and_another_with_another_user() -> None:
    assert parse("http://a:b@h:1").id == parse("a:b@H:1").id
    assert len({parse(text).id for text in ("h:1", "a:b@h:1", "a:c@h:1", "c:b@h:1", "https://h:1", "direct")}) == 6


def test_a_refused_session_gets_another_address_of_the_provider() -> None:
    proxy = Proxy("http://h:1", "user-session-3", "p", has_sessions=True)
    assert [proxy.url_after(times) for times in (0, 1, 2)] == [
        "http://user-session-3:p@h:1",
        "http://user-session-3x1:p@h:1",
        "http://user-session-3x2:p@h:1",
    ]
    assert parse("a:b@h:1").url_after(2) == "http://a:b@h:1"


GATEWAY = Gateway("aws x https://www.portal.example", "https://www.portal.example", "https://id.aws.example/site")


@pytest.mark.parametrize(
    ("url", "entered"),
    [
        ("https://www.portal.example/a/b?c=%20d&c=2", "https://id.aws.example/site/a/b?c=%20d&c=2"),
        ("https://WWW.portal.example", "https://id.aws.example/site/"),
        ("https://www.portal.example?q=1#part", "https://id.aws.example/site/?q=1"),
        ("https://www.portal.example//x", "https://id.aws.example/site//x"),
        ("https://api.portal.example/a", None),
        ("http://www.portal.example/a", None),
        ("https://www.portal.example.evil.example/a", None),
        ("https://www.portal.example:8443/a", None),
        ("https://user@www.portal.example/a", None),
    ],
)
def test_a_gateway_changes_the_address_of_its_site_only(url: str, entered: str | None) -> None:
    assert GATEWAY.entered(url) == entered


def test_a_gateway_made_anew_is_the_same_exit() -> None:
    again = Gateway(GATEWAY.name, GATEWAY.site, "https://another.aws.example/site")
    assert Proxy(None, gateway=again).id == Proxy(None, gateway=GATEWAY).id
    assert Proxy(None, gateway=again).id != DIRECT.id


def test_a_pool_says_whether_it_changed() -> None:
    one, two = parse("h:1"), parse("h:2")
    pool = Pool([one])
    assert not pool.replace([one, one])
    assert pool.replace([one, two])
    assert pool.get(two.id) == two
    assert not pool.replace([two, one])
    assert pool.replace([one, parse("h:2 tier=residential")])
    assert [exit.tier for exit in pool.exits()] == [1, 2]
