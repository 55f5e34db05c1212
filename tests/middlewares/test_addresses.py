"""An address of ours is not taken for one of the open internet, however it is written."""

import pytest

from realestate.middlewares.addresses import is_public


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "[2606:4700::1111]", "64:ff9b::101:101"])
def test_of_the_open_internet(address: str) -> None:
    assert is_public(address)


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
def test_not_of_the_open_internet(address: str) -> None:
    assert not is_public(address)
