"""The kinds of homes in Azerbaijan and the values a perfect crawl stores for them."""

from typing import NamedTuple

from realestate.items import PropertyType


class Kind(NamedTuple):
    property_type: PropertyType
    subtype: str | None = None
    is_new_building: bool | None = None


KINDS = {
    "new_building": Kind("apartment", "new_building", True),
    "old_building": Kind("apartment", "old_building", False),
    "yard_house": Kind("house", "yard_house"),
    "garden_house": Kind("house", "garden_house"),
    "villa": Kind("house", "villa"),
    "office": Kind("office"),
    "garage": Kind("garage"),
    "land": Kind("land"),
    "shop": Kind("commercial"),
}
