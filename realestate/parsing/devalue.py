"""The devalue format of Nuxt and SvelteKit: an array in which objects contain the indices of their values.

Rightmove's `__PAGE_MODEL` has the same form.
"""

from typing import Any

from realestate.parsing.embedded import decoded

#: Wrappers around one value, written by Nuxt.
_WRAPPERS = frozenset({"Reactive", "ShallowReactive", "Ref", "ShallowRef", "EmptyRef", "EmptyShallowRef"})


def unpacked(packed: object) -> Any:
    """Return the value of the first entry, from a list or from JSON text. A value that contains itself becomes None."""
    entries = decoded(packed)
    if not isinstance(entries, list) or not entries:
        return None
    try:
        return _Reader(entries).at(0)
    except RecursionError:
        return None


class _Reader:
    """Reads each entry once and shares it between all references: otherwise a small page could use all memory."""

    def __init__(self, entries: list[Any]) -> None:
        self.entries = entries
        self.done: dict[int, Any] = {}
        self.begun: set[int] = set()

    def at(self, index: object) -> Any:
        """Return the value of an entry. Indices below zero mean undefined, NaN and the like: None."""
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(self.entries):
            return None
        if index not in self.done:
            if index in self.begun:
                return None
            self.begun.add(index)
            self.done[index] = self._read(self.entries[index])
        return self.done[index]

    def _read(self, entry: Any) -> Any:
        if isinstance(entry, dict):
            return {name: self.at(index) for name, index in entry.items()}
        if not isinstance(entry, list):
            return entry
        if entry and isinstance(entry[0], str):
            return self._special(*entry)
        return [self.at(index) for index in entry]

    def _special(self, kind: str, *values: Any) -> Any:
        """Return the value of a list that begins with a type: ["Date", "2026-…"], ["Set", 3, 5], ["Reactive", 1]."""
        match kind:
            case "Set":
                return [self.at(index) for index in values]
            case "Map":
                return {
                    str(self.at(key)): self.at(value) for key, value in zip(values[::2], values[1::2], strict=False)
                }
            case "null":
                return {str(name): self.at(value) for name, value in zip(values[::2], values[1::2], strict=False)}
            case "Date" | "BigInt":
                return values[0] if values else None
        return self.at(values[0]) if kind in _WRAPPERS and values else None
