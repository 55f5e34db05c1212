"""The simulated portals and their classes."""

from realestate.simulator.bina import Bina
from realestate.simulator.emlak import Emlak
from realestate.simulator.immoweb import Immoweb
from realestate.simulator.lalafo import Lalafo
from realestate.simulator.site import Site
from realestate.simulator.small.daft import Daft
from realestate.simulator.small.generic import Generic
from realestate.simulator.small.onthemarket import Onthemarket
from realestate.simulator.small.otodom import Otodom
from realestate.simulator.small.property24 import Property24
from realestate.simulator.small.willhaben import Willhaben
from realestate.simulator.tap import Tap

SITES: dict[str, type[Site]] = {
    "immoweb": Immoweb,
    "emlak": Emlak,
    "lalafo": Lalafo,
    "bina": Bina,
    "tap": Tap,
    "daft": Daft,
    "willhaben": Willhaben,
    "otodom": Otodom,
    "onthemarket": Onthemarket,
    "property24": Property24,
    "generic": Generic,
}
