"""The docs are correct: every command, variable, setting and field is in them, and their code runs."""

import importlib
import inspect
import json
import re
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.settings import default_settings

from realestate import settings
from realestate.cli import app
from realestate.items import FIELDS
from realestate.old_names import RENAMED_SETTINGS
from realestate.pipelines.rules import AREAS, RULES
from realestate.queue import keys
from realestate.queue.scrapy_redis_settings import IGNORED
from realestate.schema import listing_schema
from realestate.simulator import server, weather
from realestate.simulator.adversary import profiles
from tests.docstrings import field_docstrings
from tests.variables import variables_read

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
SHOWN = [command for command in app.registered_commands if not command.hidden]
COMMANDS = {command.callback.__name__: command for command in SHOWN if command.callback}
GROUPS = {group.name: group.typer_instance for group in app.registered_groups if not group.hidden}
#: The settings of scrapy-redis that this project sets.
SCRAPY_REDIS_SETTINGS = ("REDIS_URL", "REDIS_START_URLS_KEY", "SCHEDULER_QUEUE_CLASS", "SCHEDULER_PERSIST")


def doc(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def rows(text: str, columns: int) -> list[list[str]]:
    """The rows of a Markdown table of this many columns, its head left out."""
    found = [[cell.strip() for cell in line.strip("|\n").split(" | ")] for line in text.splitlines() if line[:1] == "|"]
    return [cells for cells in found if len(cells) == columns and not set(cells[0]) <= set("-|")][1:]


def test_the_table_of_fields_has_the_fields_of_the_dataclass() -> None:
    table = rows(doc("listing.md"), 6)
    assert [cells[0].strip("`") for cells in table] == list(FIELDS)
    explained = field_docstrings()
    for name, meaning, unit, example, reso, schema_org in table:
        assert meaning == explained[name.strip("`")]
        assert all((unit, example, reso, schema_org))


@pytest.mark.parametrize("name", FIELDS)
def test_the_example_of_a_field_is_a_valid_value(name: str) -> None:
    (example,) = (cells[3].strip("`") for cells in rows(doc("listing.md"), 6) if cells[0] == f"`{name}`")
    assert jsonschema.Draft202012Validator(listing_schema()["properties"][name]).is_valid(json.loads(example))


def test_the_readme_names_every_command() -> None:
    table = README.partition("## Commands")[2].partition("\n## ")[0]
    named = [name for cells in rows(table, 2) for name in re.findall(r"`realestate (\w+)", cells[0])]
    assert sorted(named) == sorted([*COMMANDS, *map(str, GROUPS)])


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    command = COMMANDS[name]
    assert inspect.getdoc(command.callback)
    assert command.epilog is not None
    assert command.epilog.startswith(f"Example: realestate {name}")


def test_every_command_of_a_group_has_help_with_an_example() -> None:
    for name, group in GROUPS.items():
        assert group is not None
        for command in group.registered_commands:
            assert inspect.getdoc(command.callback)
            assert (command.epilog or "").startswith(f"Example: realestate {name} ")


def test_the_table_of_rules_equals_the_rules_of_the_code() -> None:
    schema = [(rule["title"], "error", rule["description"]) for rule in listing_schema()["allOf"]]
    ours = [(rule.name, rule.severity, rule.holds) for rule in RULES.values()]
    assert [(name.strip("`"), *rest) for name, *rest in rows(doc("validation.md"), 3)] == schema + ours


def test_the_table_of_areas_equals_the_limits_of_the_code() -> None:
    documented = {
        kind: [float(bound.replace(",", "")) for bound in bounds] for kind, *bounds in rows(doc("validation.md"), 5)
    }
    assert documented == {f"`{kind}`": list(bounds) for kind, bounds in AREAS.items()}


def test_every_variable_that_is_read_is_documented_and_no_other() -> None:
    table = doc("settings.md").split("## Settings of scrapy-redis")[0]
    documented = {name for cells in rows(table, 3) for name in re.findall(r"`([A-Z_]+)`", cells[0])}
    assert documented == variables_read()


def test_every_setting_of_ours_is_documented() -> None:
    """Ours are those that neither Scrapy nor scrapy-redis defines."""
    theirs = {*dir(default_settings), *SCRAPY_REDIS_SETTINGS}
    ours = {name for name in vars(settings) if name.isupper() and not name.startswith("_") and name not in theirs}
    assert {"RATE_LIMIT", "LEASE_SECONDS", "STORE_BATCH_SIZE"} <= ours
    assert {name for name in ours if f"`{name}`" not in doc("settings.md")} == set()


def test_every_setting_that_is_documented_exists() -> None:
    table = doc("settings.md").partition("## Our own settings")[2].partition("\n## ")[0]
    documented = {name for cells in rows(table, 2) for name in re.findall(r"`([A-Z_]+)`", cells[0])}
    assert documented
    assert {name for name in documented if not hasattr(settings, name) and name not in dir(default_settings)} == set()


def test_the_old_names_of_settings_are_documented() -> None:
    table = doc("settings.md").partition("## Old names")[2]
    documented = {cells[0].strip("`"): cells[1].strip("`") for cells in rows(table, 2)}
    assert documented == RENAMED_SETTINGS


def test_the_log_lines_and_statistics_that_operators_search_for_exist() -> None:
    named = set(re.findall(r"`([a-z]+/[a-z]+)`", doc("operations.md")))
    assert "store/unavailable" in named
    source = "".join(path.read_text("utf-8") for path in (ROOT / "realestate").rglob("*.py"))
    assert {name for name in named if f'"{name}' not in source} == set()


def test_the_table_of_keys_equals_that_of_the_module() -> None:
    written = [[cell.replace("`", "") for cell in cells] for cells in rows(doc("architecture.md"), 4)]
    true = [[cell.replace("`", "") for cell in cells] for cells in rows(inspect.getdoc(keys) or "", 4)]
    assert written == true


@pytest.mark.parametrize(
    ("page", "section"), [("README.md", "Where things live"), ("docs/architecture.md", "The rooms")]
)
def test_every_room_is_named_and_every_folder_that_is_named_exists(page: str, section: str) -> None:
    text = (ROOT / page).read_text("utf-8").partition(f"## {section}")[2].partition("\n## ")[0]
    named = set(re.findall(r"(?<![\w/])(\w+)/(?!\w)", text))
    package = ROOT / "realestate"
    assert {path.parent.name for path in package.glob("*/__init__.py")} - named == set()
    assert {name for name in named if not (ROOT / name).is_dir() and not any(package.rglob(name))} == set()


def test_every_file_that_the_docs_name_exists() -> None:
    """Except those of the reader's own project: `portals/example.py`."""
    folders = (ROOT, ROOT / "docs", ROOT / "tests", ROOT / "realestate", ROOT / "realestate" / "queue")
    named = {
        name
        for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
        for name in re.findall(r"`([a-z][\w-]*/[\w./-]+\.(?:py|lua|sql|toml|yaml|sh))`", page.read_text("utf-8"))
    }
    assert len(named) > 30
    assert {name for name in named if not any((folder / name).is_file() for folder in folders)} == {
        "portals/example.py"
    }


def test_the_way_of_one_listing_names_functions_that_exist() -> None:
    way = doc("architecture.md").partition("## The way of one listing")[2].partition("\n## ")[0]
    hops = re.findall(r"^\d+\. `([\w/]+)\.py` `(\w+)\.(\w+)`", way, re.MULTILINE)
    assert 10 <= len(hops) <= 15
    assert len(hops) == len(re.findall(r"^\d+\.", way, re.MULTILINE)), "each hop names a function"
    for path, owner, function in hops:
        module = importlib.import_module("realestate." + path.replace("/", "."))
        assert inspect.isfunction(getattr(getattr(module, owner), function)), f"{path}.py has no {owner}.{function}"


def indented(text: str) -> list[list[str]]:
    """The lines of a table in a docstring: its columns are set apart by two blanks or more."""
    return [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in text.splitlines() if line.startswith("    ")]


def test_addresses_and_weathers_of_the_simulator_equal_those_of_the_modules() -> None:
    plain = [[cell.replace("`", "") for cell in cells] for cells in rows(doc("simulator.md"), 2)]
    documented = {re.sub(r"\s+", " ", cells[0]): cells[1] for cells in plain if cells[0] != "kind"}
    addresses = {
        name: text.partition(" (")[0] for name, text in indented(re.sub("GET  ", "GET ", server.__doc__ or ""))
    }
    assert documented == {**addresses, **dict(indented(weather.__doc__ or ""))}


def test_profiles_and_faults_of_the_adversary_equal_those_of_the_module() -> None:
    text = doc("simulator.md").partition("## The adversary")[2]
    documented = {cells[0].strip("`"): cells[1:] for cells in rows(text, 4)}
    assert list(documented) == list(profiles.PROFILES)
    for name, profile in profiles.PROFILES.items():
        rate, excess, _ = documented[name]
        assert rate.startswith(f"{profile.rate:g}/s")
        assert f"{profile.ban_seconds:g} s" in excess or profile.bans_at is None
    faults = [cells[0].strip("`") for cells in rows(text, 3) if cells[0].startswith("`")]
    assert faults == list(get_args(profiles.Fault))


def test_the_readme_is_short_and_names_the_two_commands() -> None:
    assert len(README.splitlines()) <= 150
    assert "$ make demo" in README
    assert "$ make test" in README


def documents() -> list[Path]:
    return [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", path.read_text("utf-8"))
    assert [link for link in links if not link.startswith("http") and not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_named_in_documents_exist(path: Path) -> None:
    named = re.findall(
        r"`((?:realestate|queue|jobs|tests|docs|docker|spiders|storage)/[\w./-]+)`", path.read_text("utf-8")
    )
    named = [name for name in named if not re.fullmatch(r"queue/\w+", name)]  # these are statistics
    invented = {"realestate/spiders/example.py", "tests/portals/example/"}
    missing = [
        name
        for name in named
        if name not in invented and not any((root / name).exists() for root in (ROOT, ROOT / "realestate"))
    ]
    assert missing == []


def test_the_example_portal_works() -> None:
    assert len(doc("adding-a-portal.md").splitlines()) <= 100, "two screens"
    (code,) = re.findall(r"```python\n(.*?)```", doc("adding-a-portal.md"), re.DOTALL)
    space: dict[str, Any] = {}
    exec(compile(code, "adding-a-portal.md", "exec"), space)
    spider = space["ExampleSpider"]()

    def page(url: str, body: str) -> HtmlResponse:
        return HtmlResponse(url, body=body.encode(), encoding="utf-8", request=Request(url))

    cards = '<h1><b>31</b> homes</h1><article><a class="card" href="/homes/5">x</a></article>'
    results = spider.parse_search(page("https://www.example.be/search?page=1", cards))
    assert [(each.sighting.ref, each.sighting.url) for each in results.found] == [
        ("5", "https://www.example.be/homes/5")
    ]
    assert spider.paging.rest("https://www.example.be/search?page=1", results) == [
        "https://www.example.be/search?page=2"
    ]
    html = 'window.ad = {"id": 5, "price": 1000, "surface": 80};'
    (listing,) = spider.parse_listing(page("https://www.example.be/homes/5", html))
    assert (listing.ref, listing.price, listing.area_m2) == ("5", 1000, 80.0)


def test_the_settings_for_any_scrapy_project_are_those_of_the_example() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", doc("queue.md"), re.DOTALL)
    shown: dict[str, Any] = {}
    exec(compile(code, "queue.md", "exec"), shown)
    example: dict[str, Any] = {}
    path = ROOT / "tests" / "example_project" / "bookshop" / "settings.py"
    exec(compile(path.read_text("utf-8"), str(path), "exec"), example)
    for name in ("SCHEDULER", "DUPEFILTER_CLASS", "ADDONS", "REDIS_URL"):
        assert shown[name] == example[name]
    assert len(code.splitlines()) <= 10


def test_every_ignored_setting_is_documented() -> None:
    assert {name for name in [*IGNORED, "SCHEDULER_QUEUE_CLASS"] if f"`{name}`" not in doc("queue.md")} == set()
