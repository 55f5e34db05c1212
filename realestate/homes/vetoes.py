"""What contradicts that two listings are the same home. The same rules as `pairs.VETOES`, which are in SQL."""

from realestate.homes.facts import Facts
from realestate.homes.pairs import METRES, PRICE_FACTOR, SIZE_M2


def vetoes(a: Facts, b: Facts) -> list[str]:
    """Return the names of the vetoes against two listings. A missing value contradicts nothing."""
    found = {
        "kind": a.kind != b.kind,
        "floor": _differ(a.floor, b.floor),
        "rooms": _differ(a.rooms, b.rooms),
        "size": a.size is not None and b.size is not None and abs(a.size - b.size) > SIZE_M2,
        "price": _prices_differ(a, b),
        "reference": a.agency is not None and a.agency == b.agency and _differ(a.code, b.code),
        "distance": a.is_exact and b.is_exact and _are_far(a, b),
    }
    return [name for name, holds in found.items() if holds]


def needs_block_evidence(a: Facts, b: Facts) -> bool:
    """Whether two listings may well be in a block that is not known: new flats on one portal, both without a floor."""
    return a.is_new and b.is_new and a.floor is None and b.floor is None and a.portal == b.portal


#: From this probability on, two adverts on one portal that name the same place are one flat of a block.
_SURE = 0.9


def has_block_evidence(a: Facts, b: Facts, score: float = 0.0) -> bool:
    """Whether two listings in a block of alike homes can be one: they have an equal reference or an equal floor.

    A portal that has both of them demands an equal text too, or a high probability and a place that both texts name:
    there, two flats are likelier than one that is advertised twice."""
    if a.code is not None and a.code == b.code and not _differ(a.agency, b.agency):
        return True
    is_same_text = a.wording is not None and a.wording == b.wording
    is_near_same = score >= _SURE and not set(a.names).isdisjoint(b.names) and not _differ(a.code, b.code)
    return a.floor is not None and a.floor == b.floor and (a.portal != b.portal or is_same_text or is_near_same)


def _prices_differ(a: Facts, b: Facts) -> bool:
    """Whether the prices are too far apart, and both were asked at the same time."""
    if a.price is None or b.price is None or a.money != b.money:
        return False
    is_together = a.begun_at < b.ended_at and b.begun_at < a.ended_at
    return is_together and max(a.price, b.price) > PRICE_FACTOR * min(a.price, b.price)


def _are_far(a: Facts, b: Facts) -> bool:
    from math import cos, radians

    if a.latitude is None or b.latitude is None or a.longitude is None or b.longitude is None:
        return False
    north = abs(a.latitude - b.latitude)
    east = abs(a.longitude - b.longitude) * cos(radians(a.latitude))
    return max(north, east) * 111_195 > METRES


def _differ(one: object, other: object) -> bool:
    return one is not None and other is not None and one != other
