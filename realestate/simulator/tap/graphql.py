"""The part of GraphQL that clients of tap need: one field of Query or Mutation, its arguments and its selection."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from realestate.simulator.tap.search import Unknown

Selection = dict[str, "Selection"]

_ARGUMENTS = re.compile(r"\([^()]*\)")
_TOKEN = re.compile(r"[A-Za-z_]\w*|[{}]")


class _Body(msgspec.Struct):
    query: str
    variables: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    text: str
    variables: Mapping[str, Any]
    selection: Selection

    @classmethod
    def read(cls, body: bytes) -> "Operation":
        try:
            parsed = msgspec.json.decode(body, type=_Body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise Unknown(f"No query string was present: {error}") from error
        return cls(parsed.query, parsed.variables or {}, _selection(parsed.query))

    def argument(self, name: str) -> Any:
        """Return the value of a literal or of a variable, or None if there is none."""
        found = re.search(rf'\b{name}\s*:\s*(?:\$(\w+)|"([^"]*)"|(\w+))', self.text.partition("{")[2])
        if not found:
            return None
        return self.variables.get(found[1]) if found[1] else found[2] if found[2] is not None else found[3]


def selected(value: Any, selection: Selection, of: str) -> Any:
    """Return only the requested fields. A field that does not exist is an error, as in GraphQL."""
    if isinstance(value, list):
        return [selected(each, selection, of) for each in value]
    if not isinstance(value, dict) or not selection:
        return value
    if unknown := selection.keys() - value.keys():
        raise Unknown(f"Field '{sorted(unknown)[0]}' doesn't exist on type '{of}'")
    return {name: selected(value[name], inner, name) for name, inner in selection.items()}


def _selection(query: str) -> Selection:
    bare = query[:20_000]
    while (shorter := _ARGUMENTS.sub("", bare)) != bare:
        bare = shorter
    root: Selection = {}
    levels = [root]
    name = ""
    for token in _TOKEN.findall(bare.partition("{")[2]):
        if token == "{":
            levels.append(levels[-1].get(name, {}))
        elif token == "}":
            levels.pop()
            if not levels:
                break
        else:
            name = token
            levels[-1][name] = {}
    if levels or not root:
        raise Unknown("Parse error: unexpected end of the query")
    return root
