"""The stores that keep house: a test that imports `any_url` from here runs on these."""

import pytest

#: kind -> the fixtures that give the addresses of two empty databases.
HOUSES = {"postgres": ("store_url", "second_store_url")}


@pytest.fixture(params=HOUSES)
def any_url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(HOUSES[request.param][0]))


@pytest.fixture(params=HOUSES)
def other_url(request: pytest.FixtureRequest) -> str:
    """Of every kind, whatever the first is."""
    return str(request.getfixturevalue(HOUSES[request.param][1]))
