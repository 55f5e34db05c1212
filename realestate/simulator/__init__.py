"""Portals we own: an invented world of homes, shown as real portals would, with the truth to compare with."""

from realestate.simulator.portals import PORTALS
from realestate.simulator.server import Simulator, running, serve
from realestate.simulator.world import World

__all__ = ["PORTALS", "Simulator", "World", "running", "serve"]
