"""The private names of Scrapy that the accelerator uses still exist, and its docstring lists them."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from realestate import accelerate

ADVICE = (
    "{name} is gone from this version of Scrapy. Set ACCELERATE=off: everything works, only slower. "
    "Then repair realestate/accelerate, and its docstring, for this version."
)
LISTED = re.findall(r"^    ((?:scrapy|pydispatch)\.[\w.]+)$", accelerate.__doc__ or "", re.MULTILINE)
FILES = sorted(Path(accelerate.__file__).parent.glob("*.py"))


def exists(name: str) -> bool:
    """Whether a name can be imported, or is an attribute that the source of its class sets or reads."""
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            found: object = import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for index, part in enumerate(parts[length:], start=length):
            if hasattr(found, part):
                found = getattr(found, part)
                continue
            is_last = index == len(parts) - 1
            return is_last and isinstance(found, type) and _sets_attribute(found, part)
        return True
    return False


def _sets_attribute(owner: type, attribute: str) -> bool:
    source = Path(import_module(owner.__module__).__file__ or "").read_text("utf-8")
    return re.search(rf"\bself\.{attribute}\b", source) is not None


@pytest.mark.parametrize("name", LISTED)
def test_a_private_name_still_exists(name: str) -> None:
    assert exists(name), ADVICE.format(name=name)


def test_a_name_that_is_gone_is_noticed() -> None:
    assert not exists("scrapy.core.engine.ExecutionEngine._gone")
    assert not exists("scrapy.gone.Engine._slot")
    assert len(LISTED) > 30


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_private_name_that_is_used_is_listed(path: Path) -> None:
    """Attributes and imports with a leading underscore that this package does not define itself."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    own: set[str] = set()
    used: set[str] = set()
    for node in nodes:
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store()):
                own.add(name)
            case ast.Attribute(attr=name):
                used.add(name)
            case ast.ImportFrom(names=names):
                used |= {alias.name for alias in names}
            case ast.AnnAssign(target=ast.Name(id=name)):
                own.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                own.add(name)
    listed = {name.rpartition(".")[2] for name in LISTED}
    private = {name for name in used if name.startswith("_") and not name.startswith("__")}
    assert private - own <= listed
