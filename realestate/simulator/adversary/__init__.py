"""Who stands before the portals' pages and lets not everybody in. Everything follows from the seed."""

from realestate.simulator.adversary.adversary import Adversary, Visit
from realestate.simulator.adversary.profiles import PROFILES, Profile

__all__ = ["PROFILES", "Adversary", "Profile", "Visit"]
