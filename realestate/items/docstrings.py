"""The docstrings of the fields of a dataclass. Python keeps none at run time, so they are read from the source."""

import ast
import inspect
from textwrap import dedent


def field_docstrings(kind: type) -> dict[str, str]:
    """Return field -> its docstring in one line, of the fields that have one. Empty if there is no source."""
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
