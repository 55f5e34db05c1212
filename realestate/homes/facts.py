"""What linking needs to know of a listing: its facts, and the keys under which similar listings are found.

A value that the listing does not have is None; it neither agrees nor differs. Floors and agency codes that stand in the
text only are read from there.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from math import floor, log

from realestate.items import Listing

#: Numbers of a MinHash signature. More would cost memory, and tell similar texts apart no better.
PERMUTATIONS = 64
_SEED = 1
#: Texts with fewer words say nothing: "call me".
_FEWEST_WORDS = 6
#: Resolution of the H3 cells in which candidates are looked for: about 5 km².
_CELL = 7
#: Width of the buckets of the logarithm of the price.
_PRICE_STEP = 0.3
_FOREVER = float("inf")

_MOST_NAMES = 12
#: A word with a capital letter within a sentence, and the word after it.
_NAME = re.compile(r"(?<=[\w,] )([A-ZÀ-ÖØ-ÞƏĞİIŞÇÖÜŁŚŻ]\w{2,})\s+(\w+)")
_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(r"\s*,?\s*(\d+\w?)\s*(?:,.*)?$")
#: "5-ci mərtəbə", "5/16 mərtəbə", "5th floor", "floor 5", "3ème étage", "5e verdieping", "piętro 5", "2. Stock".
_FLOOR = re.compile(
    r"\b(\d{1,2})\s*(?:/\s*\d{1,2}\s*)?(?:-?\s*(?:ci|cı|cu|cü)\b\s*)?mərtəbə(?!li)"
    r"|\b(\d{1,2})(?:st|nd|rd|th) floor\b|\bfloor (\d{1,2})\b"
    r"|\b(\d{1,2})(?:er|e|ème|eme) étage\b|\b(\d{1,2})(?:e|de|ste) verdieping\b"
    r"|\bpiętro:? (\d{1,2})\b|\b(\d{1,2})\. (?:stock|obergeschoss|og)\b",
    re.IGNORECASE,
)
#: "Kod: 4821", "Ref. AB-123", "Réf: 77".
_CODE = re.compile(r"\b(?:kod|code|ref|réf)(?:erence|érence)?\s*[.:№#]+\s*([a-z]{0,4}[-_]?\d{3,10})\b", re.IGNORECASE)


@dataclass(slots=True, kw_only=True)
class Facts:
    """The facts of one listing that decide which listings are the same home."""

    portal: str
    ref: str
    kind: str
    """Country, operation and type of property: listings of different kinds are never candidates."""
    money: str | None
    """Currency and rent period of the price: prices of different money cannot be compared."""
    price: float | None
    size: float | None
    """Living area, or the plot where there is no living area."""
    rooms: int | None
    floor: int | None
    floors: int | None
    city: str | None
    district: str | None
    metro: str | None
    street: str | None
    number: str | None
    latitude: float | None
    longitude: float | None
    is_exact: bool
    is_new: bool
    """Whether the building is new: its flats are often alike."""
    agency: str | None
    code: str | None
    """The agency's reference for the home."""
    signature: bytes | None
    """MinHash of the text without its numbers."""
    wording: int | None
    """Hash of the text without its numbers."""
    names: tuple[int, ...]
    """Hashes of the proper names in the text, each with the word after it: "Lalə parkı", "Green Park"."""
    begun_at: float
    """When the advert appeared, in seconds since 1970."""
    ended_at: float
    """When it left the market; infinity if it has not."""
    keys: tuple[int, ...] = ()
    """Listings that share a key are candidates."""
    groups: tuple[int, ...] = ()
    """Listings that share a group are alike in all but floor and reference: if those differ, it is a block."""

    @property
    def name(self) -> str:
        return f"{self.portal}/{self.ref}"


def facts_of_all(listings: Iterable[Listing]) -> list[Facts]:
    """Return the facts of listings. All at once, because MinHash is much faster for many texts."""
    given = list(listings)
    words = [_WORD.findall(_DIGITS.sub(" ", plain(each.description or ""))) for each in given]
    signatures = signatures_of(words)
    return [_facts_of(*each) for each in zip(given, words, signatures, strict=True)]


def _facts_of(listing: Listing, words: list[str], signature: bytes) -> Facts:
    text = listing.description or ""
    is_text = len(words) >= _FEWEST_WORDS
    size = listing.area_m2 or listing.plot_m2
    price = float(listing.price) if listing.price is not None and listing.price_basis == "total" else None
    storey = listing.floor if listing.floor is not None else floor_in(text)
    street, number = street_of(listing.street)
    city, district, metro, agency = map(
        _plain_or_none, (listing.city, listing.district, listing.metro_station, listing.agency_name)
    )
    code = listing.agency_ref or code_in(text)
    wording = hash(tuple(words)) if is_text else None
    point = _point(listing)
    kind = f"{listing.country}/{listing.operation}/{listing.property_type}"
    places: list[tuple[str | None, ...]] = []
    if district is not None:
        places.append(("district", city, district))
    if metro is not None:
        places.append(("metro", metro))
    if street is not None:
        places.append(("street", city, street))
    if point is not None:
        places.append(("cell", _cell(*point)))
    facts = Facts(
        portal=listing.portal,
        ref=listing.ref,
        kind=kind,
        money=None if price is None else f"{listing.currency}/{listing.rent_period}",
        price=price,
        size=size,
        rooms=listing.rooms,
        floor=storey,
        floors=listing.floors_total,
        city=city,
        district=district,
        metro=metro,
        street=street,
        number=number,
        latitude=point[0] if point else None,
        longitude=point[1] if point else None,
        is_exact=listing.geo_precision == "exact",
        is_new=listing.is_new_building is True,
        agency=agency,
        code=code and code.casefold(),
        signature=signature if is_text else None,
        wording=wording,
        names=names_in(text),
        begun_at=_begun(listing),
        ended_at=_ended(listing),
    )
    facts.keys = tuple(set(_keys(facts, places)))
    facts.groups = tuple(set(_groups(facts, places)))
    return facts


def _keys(facts: Facts, places: list[tuple[str | None, ...]]) -> Iterator[int]:
    """Yield the keys: place and size, size and price, the same rare numbers in one city, the same text or reference.

    Two sizes that differ by 1 after rounding have a key in common: each is in one or two buckets of width 2. Keys are
    compared only within one process.
    """
    kind = facts.kind
    if facts.size is not None:
        whole = round(facts.size)
        others = (facts.rooms, facts.floor, facts.floors)
        if facts.city is not None and None not in others:
            places = [*places, (facts.city, *map(str, others))]
        for bucket in {whole // 2, (whole + 1) // 2}:
            for place in places:
                yield hash((kind, place, bucket))
        if facts.price:
            step = log(facts.price) / _PRICE_STEP
            for price in (floor(step), floor(step + 0.5) + 0.5):
                yield hash((kind, facts.size, facts.money, price))
    if facts.wording is not None:
        yield hash((kind, facts.wording, facts.size and round(facts.size)))
        if facts.size is None or not places:
            yield hash((kind, facts.wording))
    if facts.code is not None and facts.agency is not None:
        yield hash((kind, facts.agency, facts.code))


def _groups(facts: Facts, places: list[tuple[str | None, ...]]) -> Iterator[int]:
    """Yield the groups: one layout at the same address or exact point, or at the same place in a building of as many
    floors or with the same text."""
    if facts.size is None or (facts.floor is None and facts.code is None):
        return
    layout = (facts.kind, round(facts.size), facts.rooms)
    if facts.number is not None:
        yield hash((layout, facts.street, facts.number))
    if facts.is_exact and facts.latitude is not None and facts.longitude is not None:
        yield hash((layout, round(facts.latitude, 3), round(facts.longitude, 3)))
    for place in places:
        yield hash((layout, facts.size, facts.floors, place))
        if facts.wording is not None:
            yield hash((layout, place, facts.wording))


# ----- values


def plain(text: str) -> str:
    """Return the text in small letters, with each run of spaces as one space."""
    small = text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold().replace("i̇", "i")
    return " ".join(small.split())


def hashed(text: str) -> int:
    """Return a hash that is the same in every process, as a signed number of 64 bits."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)


def signatures_of(texts: list[list[str]]) -> list[bytes]:
    """Return the MinHash of the pairs of neighbouring words of each text."""
    import numpy as np
    from rensa import RMinHash

    pairs = [[f"{one} {other}" for one, other in pairwise(words)] for words in texts]
    rows = RMinHash.digests_from_token_sets(pairs, PERMUTATIONS, _SEED)
    return [row.tobytes() for row in np.array(rows, dtype="uint32")]


def floor_in(text: str) -> int | None:
    """Return the floor that a text names, if it names one and no other."""
    found = {int(next(filter(None, match.groups()))) for match in _FLOOR.finditer(text)}
    return found.pop() if len(found) == 1 else None


def code_in(text: str) -> str | None:
    """Return the agency's code that a text names."""
    found = _CODE.search(text)
    return found[1] if found else None


def names_in(text: str) -> tuple[int, ...]:
    """Return hashes of the proper names that a text has within its sentences."""
    found = {hash((name.casefold(), after.casefold())) for name, after in _NAME.findall(text)}
    return tuple(sorted(found))[:_MOST_NAMES]


def street_of(text: str | None) -> tuple[str | None, str | None]:
    """Return the street and the house number."""
    if text is None:
        return None, None
    street = plain(text)
    found = _NUMBER.search(street)
    return (street[: found.start()], found[1]) if found else (street, None)


def _plain_or_none(text: str | None) -> str | None:
    return None if text is None else plain(text) or None


def _point(listing: Listing) -> tuple[float, float] | None:
    if listing.latitude is None or listing.longitude is None:
        return None
    return listing.latitude, listing.longitude


def _cell(latitude: float, longitude: float) -> str:
    import h3  # type: ignore[import-untyped]

    return str(h3.latlng_to_cell(latitude, longitude, _CELL))


def _begun(listing: Listing) -> float:
    times = [each.timestamp() for each in (listing.posted_at, listing.first_seen_at) if each is not None]
    return min(times, default=0.0)


def _ended(listing: Listing) -> float:
    return _FOREVER if listing.delisted_at is None else listing.delisted_at[1].timestamp()
