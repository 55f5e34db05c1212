"""How much of the truth a crawler brought home, by listing: right, wrong, or missing and accounted for."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from realestate.demo.truth import compare

Rows = Sequence[dict[str, Any]]
#: What a peer reads of emlak's pages as it stands in the truth, beside the price's digits and the photos.
_TEXTS = ("ref", "title", "description")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    expected: int
    right: int
    wrong: int
    """Listings with a value that is not true, or that are none at all."""
    accounted: int = 0
    """Missing, and a dead letter says so."""
    gone: int = 0
    """Marked as gone while they are there."""
    faults: tuple[str, ...] = ()
    """What is wrong, in words."""

    @property
    def right_share(self) -> float:
        return self.right / self.expected if self.expected else 0.0

    @property
    def lost(self) -> int:
        """Neither right nor accounted for."""
        return self.expected - self.right - self.accounted


def of_stored(truth: Rows, stored: Rows, dead: Iterable[str]) -> Verdict:
    """Ours: every field. `dead` are the addresses of the dead letters. Nothing of the truth is gone."""
    found = compare(list(truth), list(stored))
    false = {fault.partition(".")[0] for fault in found.wrong}
    named = set(re.findall(r"\d+", " ".join(dead)))
    return Verdict(
        expected=found.expected,
        right=found.expected - len(found.missing) - len(false),
        wrong=len(false) + len(found.unexpected) + found.duplicates,
        accounted=len(named.intersection(found.missing)),
        gone=sum(row["delisted_at"] is not None for row in stored),
        faults=(*found.wrong, *(f"{ref}: there is no such listing" for ref in found.unexpected)),
    )


def of_read(truth: Rows, records: Rows) -> Verdict:
    """A peer's: those fields whose text is the truth's. Of what was read twice at one address the last counts."""
    found = {record["url"]: record for record in records}
    right = sum(row["url"] in found and _is_true(found[row["url"]], row) for row in truth)
    return Verdict(expected=len(truth), right=right, wrong=len(found) - right)


def _is_true(record: dict[str, Any], row: dict[str, Any]) -> bool:
    """Blanks and an empty text for none are a matter of taste."""
    price = re.sub(r"\D", "", record["price"] or "")
    is_asked = price == ("" if row["price"] is None else str(row["price"]))
    texts = all((record[name] or "").split() == (row[name] or "").split() for name in _TEXTS)
    return is_asked and texts and record["photos"] == row["photos"]
