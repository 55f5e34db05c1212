"""Which hosts and IP addresses are public, in every spelling."""

import pytest

from realestate.parsing.hosts import is_public_address, is_public_host, is_public_ip


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "[2606:4700::1111]", "64:ff9b::101:101"])
def test_public_ip_addresses(address: str) -> None:
    assert is_public_ip(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001:0:4136:e378:8000:63bf:80ff:fffe",
        "localhost",
        "2130706433",
        "0x7f.1",
        "",
        "fec0::1",
        "64:ff9b:1::a00:1",
        "::ffff:0:127.0.0.1",
    ],
)
def test_ip_addresses_that_are_not_public(address: str) -> None:
    assert not is_public_ip(address)


@pytest.mark.parametrize(
    "host",
    ["www.immoweb.be", "xn--mgbh0fb.example", "a_b.example.org", "1.1.1.1", "2606:4700::1111", "WWW.Example.ORG."],
)
def test_public_names(host: str) -> None:
    assert is_public_host(host)


@pytest.mark.parametrize(
    "host",
    [
        *(
            "redis",
            "localhost",
            "a.localhost",
            "metadata.google.internal",
            "printer.local",
            "nas.lan",
            "router.home.arpa",
            "www.site.test",
            "www.site.invalid",
            "site.onion",
        ),
        *("127.0.0.1", "2130706433", "0x7f.1", "1.1.1.256", "a.0x7f", "::1", "", ".", "127.0.0.1.nip.io:80"),
        *("a b.example", "a\\b.example", "é.example", "%6c%6fcalhost.example"),
    ],
)
def test_names_that_are_not_public(host: str) -> None:
    assert not is_public_host(host)


@pytest.mark.parametrize(
    "url", ["https://[::1", "https://a]b/x", f"https://{'a.' * 50_000}example.com/", "https://\udcff/"]
)
def test_an_address_without_a_possible_host_is_not_public(url: str) -> None:
    assert not is_public_address(url)
