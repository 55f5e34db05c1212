"""The short form of `make attack`, and that it finds what it looks for."""

from pathlib import Path

import pytest

from tests import mongodb
from tests.attack.kill_loop import Report, StoreKind, attack


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("store", ["postgresql", "mongodb"])
def test_random_kills_of_everything_lose_nothing_and_double_nothing(tmp_path: Path, store: StoreKind) -> None:
    with mongodb.skipped_without_server():
        report = attack(tmp_path, 40, 3, store)
    print(report)
    assert report.right, str(report)
    assert sum(report.kills.values()) > 5
    assert report.listings > 0


def test_a_report_with_a_fault_is_not_right() -> None:
    assert str(Report(1)).endswith("nothing lost, nothing doubled")
    report = Report(1, faults=["emlak: 1 missing"])
    assert not report.right
    assert str(report).splitlines()[-2:] == ["FAULT: emlak: 1 missing", "1 faults"]
