"""The address of a portal, and that of a simulated one."""

import pytest

from realestate.crawling.site_address import simulated_portals


@pytest.mark.parametrize(("address", "reason"), [("http://127.0.0.1:1", "Connection refused"), ("foo", "unknown url")])
def test_without_a_simulator_the_error_says_what_to_start(address: str, reason: str) -> None:
    with pytest.raises(OSError, match=f"^SIMULATOR_URL '{address}': no simulator answers there") as given:
        simulated_portals(address)
    assert reason in str(given.value)
    assert str(given.value).endswith("start `realestate simulate`")
    assert "urlopen" not in str(given.value)
