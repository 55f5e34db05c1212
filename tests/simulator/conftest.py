"""A small world, and functions that get its pages without a network."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from realestate.simulator.bina import Bina
from realestate.simulator.emlak import Emlak
from realestate.simulator.immoweb import Immoweb
from realestate.simulator.lalafo import Lalafo
from realestate.simulator.portals import PORTALS
from realestate.simulator.server import Simulator
from realestate.simulator.site import Site
from realestate.simulator.tap import Tap
from realestate.simulator.world import World

BASES = {name: f"http://{name}.test" for name in ("control", *PORTALS)}


@pytest.fixture(scope="module")
def world() -> World:
    return World(seed=3, listings=400)


@pytest.fixture(scope="module")
def immoweb(world: World) -> Site:
    return Immoweb(world, BASES["immoweb"])


@pytest.fixture(scope="module")
def emlak(world: World) -> Site:
    return Emlak(world, BASES["emlak"])


@pytest.fixture(scope="module")
def lalafo(world: World) -> Site:
    return Lalafo(world, BASES["lalafo"])


@pytest.fixture(scope="module")
def bina(world: World) -> Site:
    return Bina(world, BASES["bina"])


@pytest.fixture(scope="module")
def tap(world: World) -> Site:
    return Tap(world, BASES["tap"])


@pytest.fixture
def simulator() -> Simulator:
    """A world only for one test that lets days pass. Every portal has been requested once."""
    return opened(Simulator(World(seed=5, listings=200), BASES))


class Lived:
    """A simulator after some days, and its records of each day. Tests must not change it."""

    def __init__(self, world: World, days: int) -> None:
        self.simulator = opened(Simulator(world, BASES))
        self.days: list[dict[str, Any]] = [self.simulator.advance() for _ in range(days)]


@pytest.fixture(scope="session")
def after_many_days() -> Lived:
    """Shared by many tests: one day of all portals takes a tenth of a second."""
    return Lived(World(seed=5, listings=200), 13)


def opened(simulator: Simulator) -> Simulator:
    for name in PORTALS:
        simulator.world.listed(name)
    return simulator


@pytest.fixture
def embedded() -> Callable[[bytes], dict[str, Any]]:
    """Read `window.classified` up to its own closing brace."""

    def read(page: bytes) -> dict[str, Any]:
        script = page.decode().partition("window.classified = ")[2]
        found: dict[str, Any] = json.JSONDecoder().raw_decode(script)[0]
        return found

    return read
