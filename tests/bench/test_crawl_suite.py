"""The suite runs and yields the right measures. `python -m bench crawl` measures how fast."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench import Context, DoesNotCount, Measure, crawl
from bench.rig.crawlers import CEILING, PEERS, PLAIN, Ours, Peer
from bench.rig.database import Database, database
from bench.rig.race import Watch
from bench.rig.site import Site, sites
from realestate import environment
from realestate.embedded import children

LISTINGS = 30


@pytest.fixture(scope="module")
def context(small: Callable[[float], Context]) -> Context:
    return small(0.01)


@pytest.fixture(scope="module")
def site(context: Context) -> Iterator[Site]:
    with sites(context, ("immoweb",), LISTINGS) as (site,):
        yield site


@pytest.fixture(scope="module")
def stored(context: Context) -> Iterator[Database]:
    with database(context, "bench_crawl") as stored:
        yield stored


@pytest.fixture(scope="module")
def found(context: Context, stored: Database, site: Site) -> list[Measure]:
    return list(crawl.portal(context, stored, site))


@pytest.fixture
def ours(found: list[Measure], context: Context, stored: Database, site: Site) -> Iterator[Ours]:
    """After its crawl, which counted."""
    ours = Ours(context, stored, site)
    ours.check()
    yield ours
    ours.close()


def test_all_crawlers_are_compared_with_plain_scrapy(found: list[Measure]) -> None:
    crawlers = [crawl.OURS, crawl.WITHOUT_ACCELERATION, *(peer.name for peer in PEERS if peer.is_there), CEILING.name]
    *beside_plain, acceleration = found
    assert [each.name for each in beside_plain] == [
        f"{what}: {crawler}" for what in ("immoweb", "CPU, immoweb") for crawler in crawlers
    ]
    assert {each.peer for each in beside_plain} == {PLAIN.name}
    assert acceleration.name == "immoweb: acceleration"
    assert acceleration.peer == crawl.WITHOUT_ACCELERATION
    assert all(each.value > 0 and each.ratio for each in found if each.unit == "pages/s")


def test_only_our_crawler_has_goals(found: list[Measure]) -> None:
    assert [str(each.goal) for each in found if str(each.goal)] == ["≥ 2 ×", "≤ 0.5 ×"]
    assert all(crawl.OURS in each.name for each in found if str(each.goal))


def test_a_crawl_that_stored_something_else_does_not_count(stored: Database, ours: Ours) -> None:
    change = "UPDATE listings SET bedrooms = coalesce(bedrooms, 0) + 1 WHERE ref = (SELECT min(ref) FROM listings)"
    stored.ask("CREATE TABLE before AS TABLE listings")
    stored.ask(change)
    with pytest.raises(DoesNotCount, match=r"1 fields wrong \d+\.bedrooms"):
        ours.check()
    stored.ask("UPDATE listings SET bedrooms = before.bedrooms FROM before WHERE before.ref = listings.ref")
    stored.ask("DROP TABLE before")


def test_a_crawl_that_stored_too_little_does_not_count(stored: Database, ours: Ours) -> None:
    stored.ask("DELETE FROM listings WHERE ref = (SELECT min(ref) FROM listings)")
    with pytest.raises(DoesNotCount, match=f"{LISTINGS - 1} listings of {LISTINGS}: 1 missing"):
        ours.check()


@pytest.mark.parametrize("change", ["one less", "one twice", "another"])
def test_a_peer_that_yields_less_or_other_does_not_count(site: Site, tmp_path: Path, change: str) -> None:
    refs = sorted(site.refs)
    yielded = {"one less": refs[1:], "one twice": [refs[0], *refs], "another": ["1", *refs[1:]]}[change]
    file = tmp_path / "refs.json"
    file.write_text(str(yielded).replace("'", '"'))
    with pytest.raises(DoesNotCount, match=f"of {LISTINGS}"):
        PLAIN.check(site, file, tmp_path / "log")


def test_a_peer_that_fails_is_named_and_left_out(
    context: Context, stored: Database, site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = replace(CEILING, name="broken", module="nobody")
    assert crawl.lap(broken, context, stored, site) is None
    (said,) = capfd.readouterr().err.splitlines()
    assert said.startswith("a crawl of immoweb does not count: broken: the portal got no request; ")
    assert said.endswith("No module named bench.peers.nobody")


def test_a_missing_package_of_a_peer_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(crawl.there((Peer("absent", "absent", "no_such_package"), PLAIN))) == [PLAIN]
    assert capfd.readouterr().err.splitlines() == [
        "absent is not measured: no no_such_package (pip install 'realestate[bench]')"
    ]


def test_every_override_is_printed_without_passwords(
    context: Context, stored: Database, site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    ours = Ours(context, stored, site)
    crawl.print_command(ours)
    said = capfd.readouterr().err
    assert all(f"{name}=" in said for name in ours.overrides)
    assert set(ours.overrides) == {
        "SCRAPY_SETTINGS_MODULE",
        "REALESTATE_HOME",
        "REDIS_URL",
        "STORE_URL",
        "SIMULATOR_URL",
        "RATE_LIMIT",
        "no_proxy",
    }
    assert said.rstrip().endswith("scrapy crawl immoweb")
    assert "@" not in said
    ours.close()


def test_a_crawl_without_requests_is_not_waited_for(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.rig.race.STUCK_SECONDS", 0.2)
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    process = children.spawn(command, env=environment.changed(), log=tmp_path / "log")
    try:
        with pytest.raises(DoesNotCount, match="no request came"):
            Watch(site, [process]).until(lambda: True)
    finally:
        children.stop([process], 5)
