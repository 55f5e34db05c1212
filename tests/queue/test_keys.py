import inspect
import re

from realestate.queue import keys


def test_the_table_names_every_key_and_no_other() -> None:
    named = set(re.findall(r"^\| `([^`]+)`", inspect.getdoc(keys) or "", re.MULTILINE))
    functions = [keys.start_urls, keys.requests, keys.workers, keys.deadletters]
    made = {function("<portal>") for function in functions} | {keys.seen("<portal>", "<job>")}
    public = {name for name, value in vars(keys).items() if inspect.isfunction(value)}
    assert named == made
    assert public == {function.__name__ for function in functions} | {"seen"}


def test_all_but_the_seeds_share_the_portals_slot() -> None:
    assert keys.start_urls("bina") == "bina:start_urls"
    for key in (keys.requests("bina"), keys.workers("bina"), keys.deadletters("bina"), keys.seen("bina", "j")):
        assert key.startswith("{bina}:")
