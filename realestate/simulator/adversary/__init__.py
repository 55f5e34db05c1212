"""The adversary: limits, bans, ban pages and faults before the pages of the portals. The seed decides everything."""

from realestate.simulator.adversary.adversary import Adversary, Visit
from realestate.simulator.adversary.profiles import PROFILES, Profile

__all__ = ["PROFILES", "Adversary", "Profile", "Visit"]
