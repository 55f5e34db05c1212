"""Small sites that do not show homes. Their items depend on the seed and the day."""

from realestate.simulator.others.other_site import OtherSite
from realestate.simulator.others.quotes import Quotes
from realestate.simulator.others.shop import Shop

#: In the order of their ports, after all portals.
OTHERS: dict[str, type[OtherSite]] = {"ecommerce": Shop, "finance": Quotes}

__all__ = ["OTHERS", "OtherSite"]
