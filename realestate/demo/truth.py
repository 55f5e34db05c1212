"""Compare what is stored with the truth of the simulator."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.request import ProxyHandler, build_opener

import msgspec

from realestate.items import FIELDS, OURS
from realestate.storage import Store

#: The fields that come from the portal. Store and truth must agree on them.
COMPARED = tuple(name for name in FIELDS if name not in OURS)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT")


@dataclass(frozen=True)
class Comparison:
    """What is stored of one portal, compared with the truth."""

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
    with open_truth(simulator, portal) as response:
        return [msgspec.json.decode(line) for line in response.read().splitlines()]


def open_truth(simulator: str, portal: str) -> Any:
    """The response of the simulator: one line of JSON per advert."""
    return build_opener(ProxyHandler({})).open(f"{simulator}/_truth/{portal}", timeout=60)


def compare_stored(store: Store, simulator: str, portal: str) -> Comparison:
    _, quarantined = store.counts().get(portal, (0, 0))
    return compare(truth_of(simulator, portal), list(store.records(portal)), quarantined)


def compare(truth: list[dict[str, Any]], stored: list[dict[str, Any]], quarantined: int = 0) -> Comparison:
    expected = {row["ref"]: row for row in truth}
    found = {row["ref"]: row for row in stored}
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
        # The primary key forbids two rows with one ref. The same advert under two refs would have the same URL twice.
        duplicates=len(stored) - len({row["url"] for row in stored}),
    )


def _same(stored: Any, true: Any) -> bool:
    """Whether two values are equal. The same time may be written with different offsets."""
    if stored == true:
        return True
    if isinstance(stored, str) and isinstance(true, str) and _TIME.match(stored) and _TIME.match(true):
        return datetime.fromisoformat(stored) == datetime.fromisoformat(true)
    return False
