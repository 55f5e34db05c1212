"""Label/value rows by their folded label: rows come and go, so position says nothing."""

from typing import Any

from realestate.parsing.embedded import at
from realestate.parsing.text import fold, missing


class Rows(dict[str, Any]):
    """What rows tell; labels are compared folded. The first row of a label counts."""

    def add(self, label: object, value: Any) -> None:
        if isinstance(label, str | int) and not missing(value):
            self.setdefault(fold(str(label)), value)

    def told(self, *labels: str) -> Any:
        """The value under the first of these labels that has one."""
        return next((self[name] for name in map(fold, labels) if name in self), None)

    def take(self, *labels: str) -> Any:
        """As `told`, and the row is gone: what is left at the end belongs into `extra`."""
        name = next((name for name in map(fold, labels) if name in self), None)
        return None if name is None else self.pop(name)


def of(items: Any, label: str = "name", value: str = "value") -> Rows:
    """From `[{name, value}]`, or `{"attribute": [{name, values: […]}]}` with `value="values"`: one value comes bare."""
    if isinstance(items, dict):
        items = next((each for each in items.values() if isinstance(each, list)), None)
    rows = Rows()
    for item in items if isinstance(items, list) else ():
        told = at(item, value)
        rows.add(at(item, label), told[0] if isinstance(told, list) and len(told) == 1 else told)
    return rows
