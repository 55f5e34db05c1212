"""Portals we own: an invented world of homes, shown as real portals would, with the truth to compare with."""

from realestate.simulator.adversary import PROFILES
from realestate.simulator.portals import PORTALS
from realestate.simulator.server import Adversity, Simulator, running, serve
from realestate.simulator.world import World

__all__ = ["PORTALS", "PROFILES", "Adversity", "Simulator", "World", "running", "serve"]
