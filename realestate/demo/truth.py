"""What is stored beside what the simulator knows to be true."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.request import ProxyHandler, build_opener

import msgspec

from realestate.items import FIELDS, OURS
from realestate.storage import Store

#: What a portal tells: the truth and the store must agree on it.
COMPARED = tuple(name for name in FIELDS if name not in OURS)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT")


@dataclass(frozen=True)
class Comparison:
    """What is stored of one portal beside what its simulator knows to be true."""

    expected: int
    stored: int
    quarantined: int
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    wrong: tuple[str, ...]
    """`ref.field: stored, not true`."""
    duplicates: int

    @property
    def right(self) -> bool:
        return not (self.missing or self.unexpected or self.wrong or self.duplicates)


def truth_of(simulator: str, portal: str) -> list[dict[str, Any]]:
    """What a perfect crawl would store."""
    with asked(simulator, portal) as answer:
        return [msgspec.json.decode(line) for line in answer.read().splitlines()]


def asked(simulator: str, portal: str) -> Any:
    """Its answer, a line of JSON for each advert."""
    return build_opener(ProxyHandler({})).open(f"{simulator}/_truth/{portal}", timeout=60)


def compare_stored(store: Store, simulator: str, portal: str) -> Comparison:
    _, quarantined = store.counts().get(portal, (0, 0))
    return compare(truth_of(simulator, portal), list(store.records(portal)), quarantined)


def compare(truth: list[dict[str, Any]], stored: list[dict[str, Any]], quarantined: int = 0) -> Comparison:
    expected, found = {row["ref"]: row for row in truth}, {row["ref"]: row for row in stored}
    wrong = [
        f"{ref}.{name}: {found[ref][name]!r}, not {row[name]!r}"
        for ref, row in expected.items()
        if ref in found
        for name in COMPARED
        if not _same(found[ref][name], row[name])
    ]
    return Comparison(
        expected=len(expected),
        stored=len(stored),
        quarantined=quarantined,
        missing=tuple(sorted(expected.keys() - found.keys())),
        unexpected=tuple(sorted(found.keys() - expected.keys())),
        wrong=tuple(wrong),
        # The key forbids two rows of one ref; the same advert under two refs would show as one address twice.
        duplicates=len(stored) - len({row["url"] for row in stored}),
    )


def _same(stored: Any, true: Any) -> bool:
    """Equal; moments written with different offsets are the same moment."""
    if stored == true:
        return True
    if isinstance(stored, str) and isinstance(true, str) and _MOMENT.match(stored) and _MOMENT.match(true):
        return datetime.fromisoformat(stored) == datetime.fromisoformat(true)
    return False
