"""Small sites that do not show homes. Their items depend on the seed and the day."""

from realestate.simulator.others.quotes import Quotes
from realestate.simulator.others.shop import Shop
from realestate.simulator.others.stand import Stand

#: In the order of their ports, after all portals.
OTHERS: dict[str, type[Stand]] = {"ecommerce": Shop, "finance": Quotes}

__all__ = ["OTHERS", "Stand"]
