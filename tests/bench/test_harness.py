"""The harness without a clock: the measures are lists of numbers."""

import sys
from collections.abc import Iterator
from itertools import count
from types import ModuleType

import msgspec
import pytest

import bench
from bench import Goal, Measure, Samples, as_json, in_turns, interleaved


def measure(*, goal: Goal | None = None, value: float = 6.0, peer_value: float | None = 2.0) -> Measure:
    return Measure(
        name="pushing",
        value=value,
        unit="requests/s",
        goal=goal or Goal(of="ratio", minimum=3),
        peer=None if peer_value is None else "another",
        peer_value=peer_value,
    )


def test_both_are_measured_in_turns() -> None:
    order: list[str] = []

    def turn(name: str, value: float) -> float:
        order.append(name)
        return value

    ours, peer = interleaved(lambda: turn("ours", len(order)), lambda: turn("peer", -1.0), rounds=3)
    assert order == ["ours", "peer", "peer", "ours", "ours", "peer"]
    assert (ours.values, peer.values) == ([0, 3, 4], [-1.0, -1.0, -1.0])


def test_many_are_measured_in_turns_too() -> None:
    numbers = count(1)
    ways = dict.fromkeys("abc", lambda: next(numbers))
    assert in_turns(ways, rounds=2) == {"a": [1, 6], "b": [2, 5], "c": [3, 4]}


def test_one_bad_round_does_not_move_the_median_but_shows_in_the_spread() -> None:
    samples = Samples([10.0, 11.0, 10.0, 40.0, 9.0])
    assert samples.median == 10.0
    assert samples.spread == pytest.approx(3.1)


def test_a_measure_of_samples_has_their_medians() -> None:
    found = Measure.of("x", "s", Goal(of="ratio", maximum=1), Samples([3, 1, 2]), "peer", Samples([4, 4, 5]))
    assert (found.value, found.peer_value, found.ratio, found.ok) == (2, 4, 0.4, True)
    assert (found.spread, found.peer_spread) == (1.0, 0.25)


def test_a_ratio_is_that_of_most_rounds_however_the_machine_slows_down() -> None:
    ours, peers = Samples([80.0, 60.0, 40.0, 20.0, 10.0]), Samples([40.0, 30.0, 20.0, 10.0, 9.0])
    assert Measure.of("x", "pages/s", Goal(), ours, "peer", peers).ratio == 2


@pytest.mark.parametrize("peers", [[4.0, 4.0], [4.0, 4.0, 0.0]])
def test_a_ratio_is_that_of_the_medians_where_a_round_has_none(peers: list[float]) -> None:
    assert Measure.of("x", "s", Goal(), Samples([3, 1, 2]), "peer", Samples(peers)).ratio == 0.5


@pytest.mark.parametrize(
    ("goal", "text", "ok"),
    [
        (Goal(of="ratio", minimum=3), "≥ 3 ×", True),
        (Goal(of="ratio", minimum=3.1), "≥ 3.1 ×", False),
        (Goal(of="ratio", maximum=1), "≤ 1 ×", False),
        (Goal(maximum=6), "≤ 6", True),
        (Goal(maximum=5.9), "≤ 5.9", False),
        (Goal(minimum=5, maximum=7), "≥ 5 and ≤ 7", True),
    ],
    ids=str,
)
def test_the_goal_decides_whether_a_measure_is_ok(goal: Goal, text: str, ok: bool) -> None:
    assert (str(goal), measure(goal=goal).ok) == (text, ok)


def test_a_measure_without_a_goal_cannot_fail() -> None:
    assert (str(Goal()), measure(goal=Goal()).ok) == ("", True)


def test_a_ratio_without_a_peer_is_a_failure() -> None:
    alone = measure(peer_value=None)
    assert (alone.ratio, alone.ok) == (None, False)
    assert measure(peer_value=None, goal=Goal(minimum=1)).ok


def test_the_file_has_exactly_the_documented_fields() -> None:
    assert msgspec.json.decode(as_json([measure(), measure(value=4.0)])) == [
        {
            "suite": "",
            "name": "pushing",
            "value": value,
            "unit": "requests/s",
            "spread": 0,
            "peer": "another",
            "peer_value": 2,
            "peer_spread": 0,
            "ratio": value / 2,
            "goal": "≥ 3 ×",
            "ok": ok,
        }
        for value, ok in ((6, True), (4, False))
    ]


def test_suites_are_the_modules_of_the_package() -> None:
    assert "queue" in bench.suites()
    assert not {"rig", "peers", "results"} & set(bench.suites())


def test_an_unknown_suite_is_an_error_that_lists_the_suites() -> None:
    with pytest.raises(bench.NoSuchSuite, match=r"'quuue'; there are: .*queue"):
        bench.run("quuue", print)


def test_every_measure_is_printed_as_soon_as_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Measure] = []

    def measures(context: bench.Context) -> Iterator[Measure]:
        assert context.server.dbsize() == 0
        yield measure()
        assert len(shown) == 1
        yield measure(value=context.sized(100))

    suite = ModuleType("fake")
    suite.measures = measures  # type: ignore[attr-defined]
    monkeypatch.setattr(bench, "suites", lambda: ["fake"])
    monkeypatch.setitem(sys.modules, "bench.fake", suite)
    assert bench.run("fake", shown.append, quick=True) == shown
    assert [(each.suite, each.value) for each in shown] == [("fake", 6), ("fake", 20)]
