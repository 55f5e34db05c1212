"""The docstrings of the fields of a dataclass. Python keeps none at run time, so they are read from the source."""

import ast
import inspect
from functools import cache
from textwrap import dedent
from threading import Lock

#: Stores are opened in threads. In Python 3.11 `ast.parse` may fail if two threads call it at once.
_PARSING = Lock()


def field_docstrings(kind: type) -> dict[str, str]:
    """Return field -> its docstring in one line, of the fields that have one. Empty if there is no source."""
    with _PARSING:
        return dict(_read(kind))


@cache
def _read(kind: type) -> dict[str, str]:
    try:
        (defined,) = ast.parse(dedent(inspect.getsource(kind))).body
    except OSError:
        return {}
    assert isinstance(defined, ast.ClassDef)
    found = {}
    for declared, text in zip(defined.body, defined.body[1:], strict=False):
        match declared, text:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(line))),
            ):
                found[name] = " ".join(line.split())
    return found
