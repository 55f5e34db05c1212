"""Sites of other kinds: the same in every process, different every day, and tolerant like real ones."""

from datetime import UTC, datetime

import pytest

from realestate.simulator import Simulator, World
from realestate.simulator.others import OTHERS, OtherSite
from realestate.simulator.server import SHOWN

NOW = datetime(2026, 9, 1, tzinfo=UTC)
HOSTILE = (
    "/",
    "//",
    "?",
    "/%zz",
    "{path}?page=abc",
    "{path}?page=-1",
    "{path}?page=" + "9" * 3000,
    "{path}/",
    "{path}/x/y",
)


@pytest.fixture(params=OTHERS)
def stand(request: pytest.FixtureRequest) -> OtherSite:
    return OTHERS[request.param](3, 60, NOW, "http://stand.test")


def test_everything_follows_from_the_seed_and_the_day(stand: OtherSite) -> None:
    same, other = (type(stand)(seed, 60, NOW, stand.base) for seed in (3, 4))
    assert list(stand.truths()) == list(same.truths()) != list(other.truths())
    assert stand.advance(1, NOW) == same.advance(1, NOW)
    assert list(stand.truths()) == list(same.truths())


def test_each_item_has_a_page_and_stands_on_one_page_of_the_list(stand: OtherSite) -> None:
    pages = [stand.response(f"{stand.path}?page={number}").body.decode() for number in range(1, 5)]
    for truth in stand.truths():
        path = truth["url"].removeprefix(stand.base)
        assert stand.response(path).status == 200
        assert sum(f'href="{path}"' in page for page in pages) == 1


def test_a_day_changes_exactly_the_items_that_it_lists(stand: OtherSite) -> None:
    before = {each["ref"]: each for each in stand.truths()}
    changes = stand.advance(1, NOW)
    after = {each["ref"]: each for each in stand.truths()}
    changed = {ref for ref in before if {**before[ref], "quoted_at": 0} != {**after[ref], "quoted_at": 0}}
    assert (changed, after.keys() - before.keys()) == (set(changes["changed"]), set(changes["new"]))
    assert changes["changed"]
    assert changes["new"]


@pytest.mark.parametrize("target", HOSTILE)
def test_every_url_gets_a_response(stand: OtherSite, target: str) -> None:
    assert stand.response(target.format(path=stand.path)).status in (200, 404)


def test_these_sites_are_not_part_of_the_world_of_homes() -> None:
    bases = {name: f"http://{name}.test" for name in SHOWN}
    simulator = Simulator(World(1, 5), bases)
    assert not {*simulator.sites} & {*simulator.others}
    assert simulator.advance()["others"].keys() == OTHERS.keys()
    assert simulator.weather.keys() == simulator.sites.keys()
