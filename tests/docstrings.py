"""The docstrings of the fields of Listing."""

import ast
import inspect

from realestate import items


def field_docstrings() -> dict[str, str]:
    (listing,) = (
        node
        for node in ast.parse(inspect.getsource(items)).body
        if isinstance(node, ast.ClassDef) and node.name == "Listing"
    )
    lines = {}
    for declared, text in zip(listing.body, listing.body[1:], strict=False):
        if isinstance(declared, ast.AnnAssign) and isinstance(declared.target, ast.Name):
            match text:
                case ast.Expr(value=ast.Constant(value=str(line))):
                    lines[declared.target.id] = line
    return lines
