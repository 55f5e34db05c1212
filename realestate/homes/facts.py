"""What linking needs to know of a listing: its facts, and the keys under which similar listings are found.

A value that the listing does not have is None; it neither agrees nor differs. Floors and agency codes that stand in the
text only are read from there.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from math import floor, log
from types import MappingProxyType
from typing import Any

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
EMPTY: Mapping[str, Any] = MappingProxyType({})

_MOST_NAMES = 12
#: Names by which candidates are looked for.
_KEY_NAMES = 3
#: A word with a capital letter within a sentence, and the word after it.
_NAME = re.compile(r"(?<=[\w,] )([A-ZÀ-ÖØ-ÞƏĞİIŞÇÖÜŁŚŻ]\w{2,})\s+(\w+)")
#: A word, or a part of one, without its digits.
_WORD = re.compile(r"[^\W\d]+")
# The lengths below are limited: without that, the time would grow with the square of a hostile text's length.
_HOUSE_NUMBER = re.compile(r"\s?,?\s?(?<!\d)(\d{1,6}\w?)\s?(?:,.*)?$")
#: "5-ci mərtəbə", "5/16 mərtəbə", "5th floor", "floor 5", "3ème étage", "5e verdieping", "piętro 5", "2. Stock".
_FLOOR = re.compile(
    r"\b(\d{1,2})\s{0,3}(?:/\s{0,3}\d{1,2}\s{0,3})?(?:-?\s{0,3}(?:ci|cı|cu|cü)\b\s{0,3})?mərtəbə(?!li)"
    r"|\b(\d{1,2})(?:st|nd|rd|th) floor\b|\bfloor (\d{1,2})\b"
    r"|\b(\d{1,2})(?:er|e|ème|eme) étage\b|\b(\d{1,2})(?:e|de|ste) verdieping\b"
    r"|\bpiętro:? (\d{1,2})\b|\b(\d{1,2})\. (?:stock|obergeschoss|og)\b",
    re.IGNORECASE,
)
#: A text without one of these words names no floor. To look for them is much faster than the expression.
_FLOOR_WORDS = ("mərtəbə", "floor", "étage", "verdieping", "piętro", "stock", "obergeschoss", "og")
#: "Nizami küç.", "Azadlıq pr.", in a title or a text.
_STREET = re.compile(r"((?:[A-ZƏĞİŞÇÖÜ]\w{1,40} )(?:\w{1,40} ){0,2}?(?:küç|pr)\.)")
#: The word after a name, if the name is a street's.
_STREET_WORDS = frozenset({"küç", "pr", "küçəsi", "prospekti", "str", "straße", "street", "road", "ul"})
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
    period: str | None
    """The rent period of the price."""
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
    photos: tuple[int, ...] = ()
    """Perceptual hashes of its photos, if they were fetched."""
    keys: tuple[int, ...] = ()
    """Listings that share a key are candidates."""
    groups: tuple[int, ...] = ()
    """Listings that share a group are alike in all but floor and reference: if those differ, it is a block."""

    @property
    def name(self) -> str:
        return f"{self.portal}/{self.ref}"


Hashes = Mapping[str, Mapping[str, int]]
"""Of listings (portal/ref): the perceptual hashes of their photos, by address."""


def facts_of_all(listings: Iterable[Listing], hashes: Hashes = EMPTY) -> list[Facts]:
    """Return the facts of listings. All at once, because MinHash is much faster for many texts."""
    given = list(listings)
    texts = dict.fromkeys(each.description or "" for each in given)  # many adverts have the same one
    known = dict(zip(texts, _texts_of(list(texts)), strict=True))
    found = [_facts_of(each, known[each.description or ""]) for each in given]
    if hashes:
        for listing, facts in zip(given, found, strict=True):
            own = hashes.get(facts.name, EMPTY)
            facts.photos = tuple(sorted({own[url] for url in map(str, listing.photos) if url in own}))
    return found


@dataclass(slots=True)
class _Text:
    """What is read from a text."""

    text: str
    signature: bytes | None
    wording: int | None
    names: tuple[int, ...]
    code: str | None
    street: str | None


def _texts_of(texts: list[str]) -> Iterator[_Text]:
    words = [_WORD.findall(plain(each)) for each in texts]
    for text, own, signature in zip(texts, words, signatures_of(words), strict=True):
        is_long = len(own) >= _FEWEST_WORDS
        yield _Text(
            text=text,
            signature=signature if is_long else None,
            wording=hashed(" ".join(own)) if is_long else None,
            names=names_in(text),
            code=code_in(text),
            street=street_in(text),
        )


def _facts_of(listing: Listing, text: _Text) -> Facts:
    size = listing.area_m2 or listing.plot_m2
    price = float(listing.price) if listing.price is not None and listing.price_basis == "total" else None
    storey = listing.floor if listing.floor is not None else floor_in(text.text)
    street, number = street_of(listing.street or text.street)
    city, district, metro, agency = map(
        _plain_or_none, (listing.city, listing.district, listing.metro_station, listing.agency_name)
    )
    code = listing.agency_ref or text.code
    point = _point(listing)
    kind = f"{listing.country}/{listing.operation}/{listing.property_type}"
    places = []
    if district is not None:
        places.append(_number(f"district/{city}/{district}"))
    if metro is not None:
        places.append(_number(f"metro/{metro}"))
    if street is not None:
        places.append(_number(f"street/{city}/{street}"))
    if point is not None:
        places.append(_number(f"cell/{_cell(*point)}"))
    facts = Facts(
        portal=listing.portal,
        ref=listing.ref,
        kind=kind,
        money=None if price is None else f"{listing.currency}/{listing.rent_period}",
        price=price,
        period=listing.rent_period,
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
        signature=text.signature,
        wording=text.wording,
        names=text.names,
        begun_at=_begun(listing),
        ended_at=_ended(listing),
    )
    facts.keys = tuple(set(_keys(facts, places)))
    facts.groups = tuple(set(_groups(facts, places)))
    return facts


def _keys(facts: Facts, places: list[int]) -> Iterator[int]:
    """Yield the keys: place and size, names or code and size, size and price, the same rare numbers in one city, the
    same text or reference.

    Two sizes that differ by 1 after rounding have a key in common: each is in one or two buckets of width 2."""
    kind = _number(facts.kind)
    city = _number(facts.city)
    if facts.size is not None:
        whole = round(facts.size)
        others = [_whole(each) for each in (facts.rooms, facts.floor, facts.floors)]
        if facts.city is not None and _MISSING not in others:
            places = [*places, hash((city, *others))]
        for bucket in {whole // 2, (whole + 1) // 2}:
            for place in places:
                yield hash((kind, place, bucket))
            for name in facts.names[:_KEY_NAMES]:
                yield hash((kind, _NEAR, name, bucket))
            if facts.code is not None:
                yield hash((kind, _REFERENCE, _number(facts.code), bucket))
            if facts.city is not None and facts.floor is not None and facts.rooms is not None:
                yield hash((kind, city, facts.rooms, facts.floor, bucket))
        if facts.price:
            step = log(facts.price) / _PRICE_STEP
            for price in (floor(step), floor(step + 0.5) + 0.5):
                yield hash((kind, facts.size, _number(facts.money), price))
    if facts.wording is not None:
        yield hash((kind, facts.wording, _MISSING if facts.size is None else round(facts.size)))
        if facts.size is None or not places:
            yield hash((kind, facts.wording))
    if facts.code is not None and facts.agency is not None:
        yield hash((kind, _number(facts.agency), _number(facts.code)))


def _groups(facts: Facts, places: list[int]) -> Iterator[int]:
    """Yield the groups: one layout at one address, exact point or near the same places in a building of as many floors;
    at one place also with the same text. And what one agency advertises with one text."""
    if facts.size is None:
        return
    kind = _number(facts.kind)
    floors = _whole(facts.floors)
    if facts.wording is not None and facts.agency is not None:
        yield hash((kind, _TEXT, _number(facts.agency), facts.wording))
    whole = round(facts.size)
    near = [hash((_NEAR, name)) for name in facts.names[:_KEY_NAMES]]
    if facts.number is not None:
        near.append(_number(f"address/{facts.city}/{facts.street}/{facts.number}"))
    if facts.is_exact and facts.latitude is not None and facts.longitude is not None:
        near.append(hash((round(facts.latitude, 3), round(facts.longitude, 3))))
    for place in near if facts.floors is not None else ():
        for bucket in {whole // 2, (whole + 1) // 2}:
            yield hash((kind, _GROUP, bucket, floors, place))
    for place in places:
        yield hash((kind, _GROUP, facts.size, _whole(facts.rooms), floors, place))
        if facts.wording is not None:
            yield hash((kind, _GROUP, whole, place, facts.wording))


#: Keys are hashes of numbers only: those of texts differ from process to process, and None's from machine to machine.
_MISSING = -2
_NEAR, _REFERENCE, _TEXT, _GROUP = 11, 12, 13, 14


@lru_cache(maxsize=1_000_000)
def _number(text: str | None) -> int:
    return _MISSING if text is None else hashed(text)


def _whole(value: int | None) -> int:
    return _MISSING if value is None else value


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
    small = text.casefold()
    if not any(word in small for word in _FLOOR_WORDS):
        return None
    found = {int(next(filter(None, match.groups()))) for match in _FLOOR.finditer(text)}
    return found.pop() if len(found) == 1 else None


def code_in(text: str) -> str | None:
    """Return the agency's code that a text names."""
    found = _CODE.search(text)
    return found[1] if found else None


def street_in(text: str) -> str | None:
    """Return the street that a text names, if it names one and no other."""
    found = set(_STREET.findall(text))
    return found.pop() if len(found) == 1 else None


def names_in(text: str) -> tuple[int, ...]:
    """Return hashes of the proper names that a text has within its sentences."""
    found = {
        _number(f"{name.casefold()} {word}")
        for name, after in _NAME.findall(text)
        if (word := after.casefold()) not in _STREET_WORDS
    }
    return tuple(sorted(found))[:_MOST_NAMES]


def street_of(text: str | None) -> tuple[str | None, str | None]:
    """Return the street and the house number."""
    if text is None:
        return None, None
    street = plain(text)
    found = _HOUSE_NUMBER.search(street)
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
