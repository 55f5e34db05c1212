"""Which variables of the environment are read."""

import ast
import inspect

from realestate import environment, settings

#: The functions that read a variable.
READERS = {name for name, _ in inspect.getmembers(environment, inspect.isfunction)}


def variables_read() -> set[str]:
    return {
        node.args[0].value
        for module in (settings, environment)
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Call)
        and node.args
        and isinstance(node.func, ast.Name)
        and node.func.id in READERS
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    }
