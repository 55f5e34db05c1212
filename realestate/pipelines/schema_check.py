"""An item beside the JSON Schema of its kind: whether it keeps to it, and if not, why."""

from collections.abc import Callable
from math import isfinite
from typing import Any

import jsonschema_rs
from scrapy.statscollectors import StatsCollector

#: A message repeats the value, which may be a whole page by mistake.
_LONGEST_MESSAGE = 300


class SchemaCheck:
    """Of one kind of item, whose name its stats begin with."""

    is_valid: Callable[[Any], bool]
    """The validator's own: asked of every item."""

    def __init__(self, kind: str, schema: dict[str, Any], stats: StatsCollector) -> None:
        self._kind = kind
        self._stats = stats
        self._rules = schema["allOf"]
        self._validator = jsonschema_rs.Draft202012Validator(schema)
        self.is_valid = self._validator.is_valid

    def errors(self, record: dict[str, Any]) -> list[str]:
        """All that is wrong, as `field: message` or `rule: message`; counted by field and by rule."""
        errors = sorted(self._validator.iter_errors(record), key=lambda error: list(map(str, error.instance_path)))
        for field in {str(error.instance_path[0]) for error in errors if error.instance_path}:
            self._stats.inc_value(f"{self._kind}/field/{field}/invalid")
        for name in {rule["title"] for error in errors if (rule := self._rule_of(error))}:
            self._stats.inc_value(f"{self._kind}/rule/{name}/error")
        return list(dict.fromkeys(self._told(error, record) for error in errors))

    def _told(self, error: jsonschema_rs.ValidationError, record: dict[str, Any]) -> str:
        if rule := self._rule_of(error):
            return f"{rule['title']}: {rule['description']}"
        path = list(map(str, error.instance_path)) or [self._kind]
        value = record.get(path[0])
        if isinstance(value, float) and not isfinite(value):  # which the validator takes for null
            return f"{path[0]}: {value} is no number"
        return f"{'.'.join(path)}: {error.message[:_LONGEST_MESSAGE]}"

    def _rule_of(self, error: jsonschema_rs.ValidationError) -> dict[str, Any] | None:
        """The schema's rule between fields that is broken; None where a field by itself is wrong."""
        match error.schema_path:
            case ["allOf", int(position), *_]:
                rule: dict[str, Any] = self._rules[position]
                return rule
            case _:
                return None
