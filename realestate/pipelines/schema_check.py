"""Checks an item against the JSON Schema of its kind."""

from collections.abc import Callable
from math import isfinite
from typing import Any

import jsonschema_rs
from scrapy.statscollectors import StatsCollector

#: A message repeats the value, which may be a whole page by mistake.
_LONGEST_MESSAGE = 300


class SchemaCheck:
    """The schema of one kind of item. `kind` is the beginning of the names of its statistics."""

    is_valid: Callable[[Any], bool]
    """Return whether a record is valid. It is the validator's own method: it is called for every item."""

    def __init__(self, kind: str, schema: dict[str, Any], stats: StatsCollector) -> None:
        self._kind = kind
        self._stats = stats
        self._rules = schema["allOf"]
        self._validator = jsonschema_rs.Draft202012Validator(schema)
        self.is_valid = self._validator.is_valid

    def errors(self, record: dict[str, Any]) -> list[str]:
        """Return all errors of a record, as `field: message` or `rule: message`, and count them in the statistics."""
        errors = sorted(self._validator.iter_errors(record), key=lambda error: list(map(str, error.instance_path)))
        for field in {str(error.instance_path[0]) for error in errors if error.instance_path}:
            self._stats.inc_value(f"{self._kind}/field/{field}/invalid")
        for name in {rule["title"] for error in errors if (rule := self._rule_of(error))}:
            self._stats.inc_value(f"{self._kind}/rule/{name}/error")
        return list(dict.fromkeys(self._message(error, record) for error in errors))

    def _message(self, error: jsonschema_rs.ValidationError, record: dict[str, Any]) -> str:
        if rule := self._rule_of(error):
            return f"{rule['title']}: {rule['description']}"
        path = list(map(str, error.instance_path)) or [self._kind]
        value = record.get(path[0])
        if isinstance(value, float) and not isfinite(value):  # the validator reads it as null
            return f"{path[0]}: {value} is not a number"
        return f"{'.'.join(path)}: {error.message[:_LONGEST_MESSAGE]}"

    def _rule_of(self, error: jsonschema_rs.ValidationError) -> dict[str, Any] | None:
        """Return the rule between fields that is broken; None if one field by itself is wrong."""
        match error.schema_path:
            case ["allOf", int(position), *_]:
                rule: dict[str, Any] = self._rules[position]
                return rule
            case _:
                return None
