"""Random listings and filters, small enough that filters match some of them."""

from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from typing import Any

from realestate.items import Listing
from realestate.storage.query import QUERY_FIELDS
from tests.examples import a_listing

CITIES = (None, "Bakı", "BAKI", "Gəncə", "Namur", "Saint-Étienne", "İsmayıllı", "Баку", "o'neil \\ % _")
TITLES = (None, "House with a garden", "Sea view, GARDEN!", "Mənzil 3 otaqlı", "100% new_build", "Ёлка — дом № 5")
DESCRIPTIONS = (None, "A quiet street near the park.", "Garden\nand pool", "x" * 300)
PORTALS = ("bina", "tap", "immoweb")
KINDS = ("apartment", "house", "land", None)
FEATURES = ("garden", "pool", "lift")
MOMENTS = tuple(datetime(2026, month, 3, 4, 5, 6, tzinfo=UTC) for month in (1, 5, 9))


def random_listing(random: Random, portal: str, ref: str) -> Listing:
    """A listing; the same values come often, also none."""
    price = random.choice((None, 50_000, Decimal("99999.99"), 150_000, 150_000, 200_000))
    has_place = random.random() < 0.8
    return a_listing(
        portal=portal,
        ref=ref,
        url=f"https://{portal}.example/{ref}",
        country=random.choice(("AZ", "BE")),
        operation=random.choice(("sale", "rent")),
        property_type=random.choice(KINDS),
        price=None if price is None else Decimal(price),
        currency=None if price is None else "AZN",
        price_per_m2=random.choice((None, Decimal("1250.50"), Decimal(900))),
        area_m2=random.choice((None, 40.0, 72.5, 72.5, 100.0)),
        rooms=random.choice((None, 1, 2, 3, 3)),
        floor=random.choice((None, -1, 0, 5)),
        is_new_building=random.choice((None, True, False)),
        has_deed=random.choice((None, True, False)),
        features=frozenset(random.sample(FEATURES, random.randrange(3))),
        city=random.choice(CITIES),
        district=random.choice((None, "Yasamal", "Nizami")),
        street=random.choice((None, "Nizami küç. 5")),
        latitude=random.uniform(40.3, 40.6) if has_place else None,
        longitude=random.uniform(49.7, 50.1) if has_place else None,
        geo_precision="exact" if has_place else None,
        title=random.choice(TITLES),
        description=random.choice(DESCRIPTIONS),
        photos=[f"https://photos.example/{ref}/{number}.jpg" for number in range(random.randrange(3))],
        seller_type=random.choice((None, "owner", "agency")),
        posted_at=random.choice((None, *MOMENTS)),
    )


_SEARCHED = ("garden", "gard view", "baki", "otaq", "дом", "ёл", "100", "park", "pool gar")


_BEGINNINGS = ("bak", "gən", "etie", "garden", "NIZ", "ismayilli", "o neil", "aki", "bina")


def random_condition(random: Random) -> str:
    """One condition of a filter, as text."""
    field = random.choice(("text", "words", "box", "polygon", "since", *["compare"] * 8))
    match field:
        case "text":
            return f'text~"{random.choice(_SEARCHED)}"'
        case "words":
            name = random.choice(("city", "title", "street", "district", "description", "url"))
            return f'{name}~"{random.choice(_BEGINNINGS)}"'
        case "box":
            west, south = random.uniform(49.7, 50), random.uniform(40.3, 40.5)
            return f"bbox={west:.5f},{south:.5f},{west + random.random() / 3:.5f},{south + random.random() / 5:.5f}"
        case "polygon":
            count = random.randrange(3, 8)
            corners = (f"{random.uniform(49.7, 50.1):.6f},{random.uniform(40.3, 40.6):.6f}" for _ in range(count))
            return "polygon=" + ";".join(corners)
        case "since":
            name = random.choice(("new_since", "changed_since", "price_changed_since"))
            return f"{name}={random.choice(('1h', '7d', '2030-01-01', '2020-01-01T10:00:00+04:00'))}"
        case _:
            return _comparison(random)


_VALUES: dict[Any, tuple[str, ...]] = {
    bool: ("yes", "no", "none"),
    int: ("-1", "0", "1", "2", "3", "5", "none"),
    float: ("40", "72.5", "100", "40.45", "49.9", "none"),
    Decimal: ("50000", "99999.99", "150000", "5", "-20", "900", "1250.5", "none"),
    datetime: ("1h", "30d", "2026-05-03T04:05:06Z", "2026-09-01", "none"),
}
_TEXTS: dict[str, tuple[str, ...]] = {
    "portal": PORTALS,
    "country": ("AZ", "BE", "US"),
    "operation": ("sale", "rent"),
    "property_type": ("apartment", "house", "land"),
    "status": ("active", "reserved", "sold", "delisted"),
    "city": ("Bakı", "Namur", '"o\'neil \\\\ % _"', "baki", "none"),
    "district": ("Yasamal", "Nizami", "none"),
    "seller_type": ("owner", "none"),
    "features": ("garden", "pool", "none"),
    "quality_flags": ("odd", "none"),
    "ref": ("1", "2", "17"),
    "photo": ("none", '"https://photos.example/3/0.jpg"'),
    "rent_period": ("month", "none"),
    "price_basis": ("total", "on_request", "none"),
    "geo_precision": ("exact", "none"),
}
COMPARED = [name for name, kind in QUERY_FIELDS.items() if kind not in (str, frozenset) or name in _TEXTS]


def _comparison(random: Random) -> str:
    name = random.choice(COMPARED)
    kind = QUERY_FIELDS[name]
    values = _TEXTS.get(name) or _VALUES[kind]
    if kind in (str, frozenset, bool) or random.random() < 0.3:
        chosen = random.sample(values, random.randrange(1, min(4, len(values))))
        return f"{name}{random.choice(('=', '!='))}{','.join(chosen)}"
    wanted = random.choice([value for value in values if value != "none"])
    return f"{name}{random.choice(('<', '<=', '>', '>='))}{wanted}"


def random_filter(random: Random) -> str:
    conditions = [random_condition(random) for _ in range(random.choice((0, 1, 1, 2, 2, 3)))]
    if random.random() < 0.3:
        conditions.append("status=any")
    return " ".join(conditions)
