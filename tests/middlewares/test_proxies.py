"""Proxy addresses are parsed or refused, and credentials are never shown."""

from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realestate.middlewares.proxies import (
    DIRECT,
    BadProxy,
    Gateway,
    Proxy,
    ProxyPool,
    parse_proxies,
    parse_proxy,
    split_proxies,
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
def test_an_address_is_parsed(text: str, address: str, user: str, password: str) -> None:
    proxy = parse_proxy(text)
    assert (proxy.address, proxy.user, proxy.password) == (address, user, password)


def test_the_url_contains_the_credentials() -> None:
    assert parse_proxy("http://me:p%40s%3A@h:1").url == "http://me:p%40s%3A@h:1"
    assert parse_proxy("h:1").url == "http://h:1"
    assert parse_proxy("direct") is DIRECT
    assert DIRECT.url is None


def test_options_follow_a_space_or_are_a_query(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.touch()
    found = parse_proxy(f"h:1 tier=residential ca={ca} verify=no")
    assert (found.tier, found.ca, found.verify) == ("residential", ca, False)
    assert parse_proxy(f"h:1?tier=residential&ca={quote(str(ca))}&verify=no") == found
    assert (parse_proxy("h:1").tier, parse_proxy("h:1").ca, parse_proxy("h:1").verify) == ("datacentre", None, True)
    assert found.ref.tier > parse_proxy("h:1").ref.tier > DIRECT.ref.tier


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("socks5://me:s3cr3t@h:1080", "socks5://h: only http and https proxies are supported, not socks5"),
        ("socks4://h:1080", "not socks4"),
        ("s3cr3t://h:1080", "only http and https proxies are supported"),
        ("http://me:s3cr3t@host", "host and port are missing or not valid"),
        ("http://me:s3cr3t@host:s3cr3t", "host and port are missing or not valid"),
        ("http://me:s3cr3t", "host and port are missing or not valid"),
        ("http://me:s3/cr3t@", "host and port are missing or not valid"),
        ("me s3cr3t@host:80", "host and port are missing or not valid"),
        ("h:1 s3cr3t@host:80", "the options are tier=, ca= and verify="),
        ("h:0", "host and port are missing or not valid"),
        ("h:70000", "host and port are missing or not valid"),
        ("http://me:s3cr3t%0d%0aX: y@h:80", "host and port are missing or not valid"),
        ("http://me:s3cr3t%0d%0aX@h:80", "the credentials contain characters that cannot be printed"),
        ("h:1 tier=s3cr3t", "tier= must be one of datacentre, residential"),
        ("h:1 verify=s3cr3t", "verify= must be yes or no"),
        ("h:1 ca=/s3cr3t", "the file of ca= does not exist"),
        ("", "host and port are missing or not valid"),
    ],
)
def test_a_bad_proxy_is_refused_without_showing_a_secret(text: str, why: str) -> None:
    with pytest.raises(BadProxy) as caught:
        parse_proxy(text)
    assert why in str(caught.value)
    assert SECRET not in str(caught.value)


@given(st.text(alphabet=st.sampled_from("ab:/@?#= %.\n1"), max_size=12), st.sampled_from(["http://", "socks5://", ""]))
def test_no_message_contains_a_password(noise: str, scheme: str) -> None:
    """Wherever a typing error puts the password."""
    text = f"{scheme}me:{noise}PASSWORD{noise}@host.example:80{noise}"
    try:
        proxy = parse_proxy(text)
        found = f"{proxy!r} {proxy.address} {proxy.id} {proxy.ref}"
    except BadProxy as error:
        found = str(error)
    assert "PASSWORD" not in found


def test_the_error_gives_the_number_of_the_bad_proxy() -> None:
    with pytest.raises(BadProxy, match=r"^proxy 2: host and port are missing or not valid$"):
        parse_proxies(["h:1", "me:s3cr3t", "h:2"])


def test_a_list_is_split_at_commas_and_lines() -> None:
    assert split_proxies("h:1, h:2 tier=residential\n\nh:3,\n") == ["h:1", "h:2 tier=residential", "h:3"]


def test_the_id_depends_on_address_and_user_only() -> None:
    assert parse_proxy("http://a:b@h:1").id == parse_proxy("a:b@H:1").id
    assert (
        len({parse_proxy(text).id for text in ("h:1", "a:b@h:1", "a:c@h:1", "c:b@h:1", "https://h:1", "direct")}) == 6
    )


def test_a_refused_session_gets_another_address_of_the_provider() -> None:
    proxy = Proxy("http://h:1", "user-session-3", "p", has_sessions=True)
    assert [proxy.url_after(times) for times in (0, 1, 2)] == [
        "http://user-session-3:p@h:1",
        "http://user-session-3x1:p@h:1",
        "http://user-session-3x2:p@h:1",
    ]
    assert parse_proxy("a:b@h:1").url_after(2) == "http://a:b@h:1"


GATEWAY = Gateway("aws x https://www.portal.example", "https://www.portal.example", "https://id.aws.example/site")


@pytest.mark.parametrize(
    ("url", "expected"),
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
def test_a_gateway_changes_the_address_of_its_site_only(url: str, expected: str | None) -> None:
    assert GATEWAY.url_for(url) == expected


def test_a_gateway_created_again_has_the_same_id() -> None:
    again = Gateway(GATEWAY.name, GATEWAY.site, "https://another.aws.example/site")
    assert Proxy(None, gateway=again).id == Proxy(None, gateway=GATEWAY).id
    assert Proxy(None, gateway=again).id != DIRECT.id


def test_a_pool_says_whether_it_changed() -> None:
    one, two = parse_proxy("h:1"), parse_proxy("h:2")
    pool = ProxyPool([one])
    assert not pool.replace([one, one])
    assert pool.replace([one, two])
    assert pool.get(two.id) == two
    assert not pool.replace([two, one])
    assert pool.replace([one, parse_proxy("h:2 tier=residential")])
    assert [ref.tier for ref in pool.refs()] == [1, 2]
