"""Label/value rows by their folded label: rows come and go, so position says nothing."""

from typing import Any

from realestate.parsing.embedded import at
from realestate.parsing.text import fold, missing


class Rows(dict[str, Any]):
    """What rows tell; labels are compared folded. The first row of a label counts."""

    def add(self, label: object, value: Any) -> None:
        if isinstance(label, str | int) and not missing(value):
            self.setdefault(fold(str(label)), value)

    def put(self, label: str, text: str | None) -> None:
        """As `add`, of a text that `line` has cleaned: it is None where nothing is said."""
        if text is not None:
            self.setdefault(fold(label), text)

    def told(self, *labels: str) -> Any:
        """The value under the first of these labels that has one."""
        for label in labels:
            if (name := fold(label)) in self:
                return self[name]
        return None

    def take(self, *labels: str) -> Any:
        """As `told`, and the row is gone: what is left at the end belongs into `extra`."""
        for label in labels:
            if (name := fold(label)) in self:
                return self.pop(name)
        return None


def of(items: Any, label: str = "name", value: str = "value") -> Rows:
    """From `[{name, value}]`, or `{"attribute": [{name, values: […]}]}` with `value="values"`: one value comes bare."""
    if isinstance(items, dict):
        items = next((each for each in items.values() if isinstance(each, list)), None)
    rows = Rows()
    for item in items if isinstance(items, list) else ():
        told = at(item, value)
        rows.add(at(item, label), told[0] if isinstance(told, list) and len(told) == 1 else told)
    return rows
