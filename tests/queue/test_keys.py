import inspect
import re
from pathlib import Path

from realestate.queue import keys

LUA = Path(keys.__file__).parent / "lua"


def named() -> set[str]:
    return set(re.findall(r"`([^`]*<portal>[^`]*)`", inspect.getdoc(keys) or ""))


def test_every_key_the_module_makes_is_in_its_table() -> None:
    arguments = {"portal": "<portal>", "worker": "<worker>", "job": "<job>", "name": "<job>", "bucket": "<n>"}
    arguments["origin"] = "<origin>"
    arguments["call"] = "<call>"
    arguments["seeds"] = "<portal>:start_urls"
    for function in (value for value in vars(keys).values() if inspect.isfunction(value)):
        made = function(**{name: arguments[name] for name in inspect.signature(function).parameters})
        assert made in named() | {keys.prefix("<portal>")}


def test_every_key_the_scripts_use_is_in_the_table() -> None:
    used = {name for path in LUA.glob("*.lua") for name in re.findall(r"key\('([\w:]+)'", path.read_text("utf-8"))}
    assert len(used) > 15
    table = {name.removeprefix("{<portal>}:").split("<")[0] for name in named()}
    assert used <= table


def test_all_but_the_seeds_share_the_portals_slot() -> None:
    assert keys.start_urls("bina") == "bina:start_urls"
    assert keys.taken_seeds("bina", "w") == "{bina:start_urls}:taken:w", "in the slot of the seeds"
    for function in (keys.ready, keys.requests, keys.workers, keys.dead_letter_times, keys.rate_limit, keys.wake_ups):
        assert function("bina").startswith("{bina}:")
