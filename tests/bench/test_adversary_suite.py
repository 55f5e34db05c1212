"""The suite runs and yields the right measures. `python -m bench adversary` measures the crawlers."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

import bench
from bench import adversary
from bench.rig.arena import Toll
from bench.rig.contest import OURS, SCRAPY, SCRAPY_REDIS, Result
from bench.rig.verdict import Verdict
from realestate.simulator.adversary import PROFILES

PERFECT = Result(
    profile="strict",
    crawler=OURS,
    verdict=Verdict(expected=100, right=100, wrong=0),
    toll=Toll(requests=110, refused=2, bans=0, fault_share=0.1),
    pages=100,
    seconds=50,
    finished=True,
)
BESIDE = [replace(PERFECT, crawler=SCRAPY), replace(PERFECT, crawler=SCRAPY_REDIS)]


def missed(ours: Result) -> list[str]:
    return [each.name.rpartition(": ")[2] for each in adversary.measures_of([*BESIDE, ours]) if not each.ok]


def test_there_is_a_world_for_every_profile() -> None:
    assert list(adversary.SIZES) == list(PROFILES)


def test_a_perfect_crawl_reaches_every_goal() -> None:
    assert missed(PERFECT) == []


@pytest.mark.parametrize(
    ("judged", "goals"),
    [
        (Verdict(expected=100, right=99, wrong=0, accounted=1), ["listings right"]),
        (Verdict(expected=100, right=99, wrong=0), ["listings right", "neither right nor a dead letter"]),
        (Verdict(expected=100, right=100, wrong=1), ["listings wrong"]),
        (Verdict(expected=100, right=100, wrong=0, gone=1), ["live listings marked gone"]),
    ],
)
def test_any_fault_misses_a_goal(judged: Verdict, goals: list[str]) -> None:
    assert missed(replace(PERFECT, verdict=judged)) == goals


def test_a_hostile_adversary_may_withhold_one_in_a_hundred_if_it_is_a_dead_letter() -> None:
    accounted = Verdict(expected=100, right=99, wrong=0, accounted=1)
    assert missed(replace(PERFECT, profile="hostile", verdict=accounted)) == []
    silent = Verdict(expected=100, right=99, wrong=0)
    assert missed(replace(PERFECT, profile="hostile", verdict=silent)) == ["neither right nor a dead letter"]


def test_faults_allow_more_requests() -> None:
    toll = Toll(requests=116, refused=0, bans=0, fault_share=0.1)  # 1.05 / 0.9 is 1.167
    assert missed(replace(PERFECT, toll=toll)) == []
    assert missed(replace(PERFECT, toll=replace(toll, requests=117))) == ["requests a page"]
    assert missed(replace(PERFECT, toll=replace(toll, fault_share=0.0))) == ["requests a page"]


def test_more_than_two_refusals_in_a_hundred_are_too_many() -> None:
    toll = Toll(requests=100, refused=3, bans=0, fault_share=0.1)
    assert missed(replace(PERFECT, toll=toll)) == ["refused"]


def test_peers_have_no_goals_and_a_stopped_peer_is_shown() -> None:
    poor = replace(BESIDE[0], verdict=Verdict(expected=100, right=7, wrong=5), finished=False)
    assert all(each.ok for each in adversary.measures_of([poor, replace(poor, crawler=SCRAPY_REDIS), PERFECT]))
    shown = Console(file=io.StringIO(), width=140, record=True)
    shown.print(adversary.table([poor, PERFECT]))
    text = shown.export_text()
    assert "7 of 100" in text
    assert "50, stopped" in text


@pytest.mark.slow
def test_against_a_gentle_adversary_every_crawler_gets_everything() -> None:
    """Both ways to judge agree: without faults, no value is wrong."""
    with bench.fresh(scale=1, rounds=1) as context:
        (results,) = adversary.contests(context, {"gentle": 24})
    assert [each.crawler for each in results] == [SCRAPY, SCRAPY_REDIS, OURS]
    for each in results:
        assert each.finished
        assert each.verdict == Verdict(expected=24, right=24, wrong=0)
        assert each.toll.requests >= each.pages == 24 + 2
        assert (each.toll.bans, each.toll.fault_share) == (0, 0)
        assert each.seconds > 0
    assert len({each.name for each in adversary.measures_of(results)}) == 6 + 8
