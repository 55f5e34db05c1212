"""Rows with a label and a value. A value is found by its label, because the position of a row differs between pages."""

from typing import Any

from realestate.parsing.embedded import at
from realestate.parsing.text import fold, missing


class Rows(dict[str, Any]):
    """Values by label. Labels are compared as `text.fold` writes them. The first row with a label counts."""

    def add(self, label: object, value: Any) -> None:
        """Add a value, unless it is missing (see `text.missing`)."""
        if isinstance(label, str | int) and not missing(value):
            self.setdefault(fold(str(label)), value)

    def put(self, label: str, text: str | None) -> None:
        """Add a text that `text.line` has cleaned. None is ignored."""
        if text is not None:
            self.setdefault(fold(label), text)

    def first(self, *labels: str) -> Any:
        """Return the value of the first of these labels that has one."""
        for label in labels:
            if (name := fold(label)) in self:
                return self[name]
        return None

    def take(self, *labels: str) -> Any:
        """Return what `first` returns, and remove the row: the rows that are left at the end go into `extra`."""
        for label in labels:
            if (name := fold(label)) in self:
                return self.pop(name)
        return None


def of(items: Any, label: str = "name", value: str = "value") -> Rows:
    """Return the rows of `[{name, value}]`, or of `{"attribute": [{name, values: […]}]}` with `value="values"`.

    A list with one value is replaced by that value.
    """
    if isinstance(items, dict):
        items = next((each for each in items.values() if isinstance(each, list)), None)
    rows = Rows()
    for item in items if isinstance(items, list) else ():
        found = at(item, value)
        rows.add(at(item, label), found[0] if isinstance(found, list) and len(found) == 1 else found)
    return rows
