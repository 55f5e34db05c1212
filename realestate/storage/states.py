"""Small JSON documents with a name, for what monitoring remembers: alerts, silences, when a report was sent."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

State = dict[str, Any]
Change = Callable[[State | None], State | None]
"""Gets the stored state, and returns the new one; None deletes it. It may be called several times."""


@runtime_checkable
class StateStore(Protocol):
    """The documents. A change is applied to what is stored, however many change it at once."""

    def states(self, prefix: str = "") -> Mapping[str, State]:
        """The documents whose names begin so, by name."""

    def change_state(self, name: str, change: Change) -> State | None:
        """Apply the change, and return the result."""
