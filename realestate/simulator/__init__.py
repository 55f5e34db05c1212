"""Simulated portals: an invented world of homes, shown as real portals would show it, and the truth for comparison."""

from realestate.simulator.adversary import PROFILES
from realestate.simulator.linkage import truth_of_homes
from realestate.simulator.portals import PORTALS
from realestate.simulator.server import Adversity, Simulator, running, serve
from realestate.simulator.traps import Traps
from realestate.simulator.world import World

__all__ = ["PORTALS", "PROFILES", "Adversity", "Simulator", "Traps", "World", "running", "serve", "truth_of_homes"]
