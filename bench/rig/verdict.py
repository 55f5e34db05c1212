"""How much of the truth a crawler has: listings that are right, wrong, or missing with a dead letter."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from realestate.demo.truth import compare

Rows = Sequence[dict[str, Any]]
#: The texts of emlak's pages that peers and the truth have in the same form. Price and photos are compared too.
_TEXTS = ("ref", "title", "description")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    expected: int
    right: int
    wrong: int
    """Listings with a wrong value, and listings that do not exist."""
    accounted: int = 0
    """Missing listings that have a dead letter."""
    gone: int = 0
    """Live listings that are marked as gone."""
    faults: tuple[str, ...] = ()
    """Descriptions of what is wrong."""

    @property
    def right_share(self) -> float:
        return self.right / self.expected if self.expected else 0.0

    @property
    def lost(self) -> int:
        """Listings that are neither right nor a dead letter."""
        return self.expected - self.right - self.accounted


def of_stored(truth: Rows, stored: Rows, dead: Iterable[str]) -> Verdict:
    """Judge our crawl by every field. `dead` are the URLs of the dead letters. No listing of the truth is gone."""
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
    """Judge a peer's crawl by the fields it reads as the truth has them. The last record of a URL counts."""
    found = {record["url"]: record for record in records}
    right = sum(row["url"] in found and _is_true(found[row["url"]], row) for row in truth)
    return Verdict(expected=len(truth), right=right, wrong=len(found) - right)


def _is_true(record: dict[str, Any], row: dict[str, Any]) -> bool:
    """Compare without regard to whitespace; an empty text counts as none."""
    price = re.sub(r"\D", "", record["price"] or "")
    is_asked = price == ("" if row["price"] is None else str(row["price"]))
    texts = all((record[name] or "").split() == (row[name] or "").split() for name in _TEXTS)
    return is_asked and texts and record["photos"] == row["photos"]
