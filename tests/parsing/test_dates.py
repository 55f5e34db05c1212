from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from realestate.parsing import dates

BAKU = ZoneInfo("Asia/Baku")


@pytest.mark.parametrize(
    "text",
    ["2026-01-29T15:20:57.530Z", "2026-01-29T15:20:57.530+0000", "2026-01-29T19:20:57.530+04:00"],
)
def test_reads_iso_in_three_spellings(text: str) -> None:
    assert dates.iso(text) == datetime(2026, 1, 29, 15, 20, 57, 530000, UTC)


@pytest.mark.parametrize("text", [None, "", "yesterday", "2026-13-01T00:00:00Z", "2026-01-29T15:20:57"])
def test_a_moment_without_zone_or_sense_is_none(text: str | None) -> None:
    assert dates.iso(text) is None


def test_a_day_begins_at_midnight_where_the_portal_is() -> None:
    moment = dates.day("Yenilənmə tarixi: 28.08.2026", BAKU)
    assert moment is not None
    assert moment.isoformat() == "2026-08-28T00:00:00+04:00"
    assert moment.utcoffset() == timedelta(hours=4)


@pytest.mark.parametrize("text", [None, "", "31.02.2026", "28/08/2026"])
def test_a_day_that_is_none(text: str | None) -> None:
    assert dates.day(text, BAKU) is None
