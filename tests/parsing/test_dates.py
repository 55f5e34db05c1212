from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as some

from realestate.parsing import dates

BAKU = ZoneInfo("Asia/Baku")
#: Noon in Baku.
FETCHED = datetime(2026, 11, 16, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    ["2026-01-29T15:20:57.530Z", "2026-01-29T15:20:57.530+0000", "2026-01-29T19:20:57.530+04:00"],
)
def test_reads_iso_in_three_spellings(text: str) -> None:
    assert dates.iso(text) == datetime(2026, 1, 29, 15, 20, 57, 530000, UTC)


@pytest.mark.parametrize("text", [None, "", "yesterday", "2026-13-01T00:00:00Z", "2026-01-29T15:20:57"])
def test_a_date_without_time_zone_or_meaning_is_none(text: str | None) -> None:
    assert dates.iso(text) is None


def test_a_day_begins_at_midnight_where_the_portal_is() -> None:
    date = dates.day("Yenilənmə tarixi: 28.08.2026", BAKU)
    assert date is not None
    assert date.isoformat() == "2026-08-28T00:00:00+04:00"
    assert date.utcoffset() == timedelta(hours=4)


@pytest.mark.parametrize("text", [None, "", "31.02.2026", "28/08/2026"])
def test_an_impossible_day_is_none(text: str | None) -> None:
    assert dates.day(text, BAKU) is None


def test_a_date_without_time_zone_gets_the_given_one() -> None:
    assert dates.iso("2026-01-29T15:20:57", BAKU) == datetime(2026, 1, 29, 15, 20, 57, tzinfo=BAKU)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yeniləndi: Bugün 10:37 ,Baxışların sayı: 926", "2026-11-16T10:37"),
        ("BUGÜN 10:37", "2026-11-16T10:37"),
        ("Dünən 23:46", "2026-11-15T23:46"),
        ("bugün, 11:38", "2026-11-16T11:38"),
        ("Bakı, bugün 11:32", "2026-11-16T11:32"),
        ("Added today", "2026-11-16T00:00"),
        ("Reduced yesterday", "2026-11-15T00:00"),
        ("28 Avqust 2026", "2026-08-28T00:00"),
        ("Yeniləndi: 13 OKTYABR 2023, 10:15", "2023-10-13T10:15"),
        ("5 İyul 2026", "2026-07-05T00:00"),
        ("5 IYUN 2026", "2026-06-05T00:00"),
        ("28 avqust", "2026-08-28T00:00"),
        ("28 dekabr", "2025-12-28T00:00"),
        ("1st March 2026", "2026-03-01T00:00"),
        ("28.08.2026", "2026-08-28T00:00"),
        ("28.08.2026, 10:15", "2026-08-28T10:15"),
        ("Added on 04/02/2026", "2026-02-04T00:00"),
        ("2026-01-29", "2026-01-29T00:00"),
        ("2026-01-29 15:20:57", "2026-01-29T15:20:57"),
        ("2026-01-29T11:20:57.530Z", "2026-01-29T15:20:57.530"),
        ("2026-01-29T11:20:57.530+0000", "2026-01-29T15:20:57.530"),
        ("2026-01-29T15:20:57.530+04:00", "2026-01-29T15:20:57.530"),
        ("3 gün əvvəl", "2026-11-13T12:00"),
        ("2 hours ago", "2026-11-16T10:00"),
    ],
)
def test_reads_dates_as_portals_write_them(text: str, expected: str) -> None:
    assert dates.parse(text, BAKU, FETCHED) == datetime.fromisoformat(expected).replace(tzinfo=BAKU)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "-",
        "31.02.2026",
        "bugün 25:99",
        "29 Fevral",
        "May 2026",
        "28.08.0001",
        "0001-01-01T00:00:00Z",
        "12.13.2026",
        "9999-12-31T23:59:59-14:00",
        "1234567",
        "1.2.3",
        "sabah 10:00",
        "vor einem Monat",
    ],
)
def test_a_text_without_a_date_gives_none(text: str | None) -> None:
    assert dates.parse(text, BAKU, FETCHED) is None


def test_a_page_written_before_midnight_and_fetched_after_it_means_the_day_before() -> None:
    fetched_at = datetime(2026, 11, 16, 0, 0, 30, tzinfo=BAKU)
    assert dates.parse("Bugün 23:59", BAKU, fetched_at) == datetime(2026, 11, 15, 23, 59, tzinfo=BAKU)
    assert dates.parse("Bugün 00:00", BAKU, fetched_at) == datetime(2026, 11, 16, tzinfo=BAKU)


def test_today_is_in_the_portals_time_zone() -> None:
    fetched_at = datetime(2026, 11, 16, 22, tzinfo=UTC)
    assert dates.parse("Bugün 01:10", BAKU, fetched_at) == datetime(2026, 11, 17, 1, 10, tzinfo=BAKU)


def test_the_month_may_be_first() -> None:
    assert dates.parse("04/02/2026", BAKU, FETCHED, month_first=True) == datetime(2026, 4, 2, tzinfo=BAKU)


def test_dateparser_reads_only_the_given_languages() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    expected = dates.parse("vor einem Monat", berlin, FETCHED, languages=("de",))
    assert expected == datetime(2026, 10, 16, 9, tzinfo=berlin)
    assert expected.utcoffset() == timedelta(hours=2)
    assert dates.parse("12. Dezember 2025", berlin, FETCHED, languages=("de",)) == datetime(2025, 12, 12, tzinfo=berlin)
    for vague in ("Mai", "12", "Berlin", "3 Zimmer", "x" * 1_000_000):
        assert dates.parse(vague, berlin, FETCHED, languages=("de",)) is None


def test_a_fetch_time_without_time_zone_raises_an_error() -> None:
    with pytest.raises(ValueError, match="time zone"):
        dates.parse("Bugün 10:37", BAKU, FETCHED.replace(tzinfo=None))


def test_reads_seconds_and_milliseconds() -> None:
    date = datetime(2023, 1, 16, 4, 58, 16, tzinfo=UTC)
    assert dates.stamp(1673845096) == dates.stamp("1673845096") == dates.stamp(1673845096000) == date
    assert dates.stamp(1673845356976) == datetime(2023, 1, 16, 5, 2, 36, 976000, tzinfo=UTC)


@pytest.mark.parametrize(
    "value", [None, True, 0, -1, 5, 10**400, 1e300, float("nan"), "x", "9" * 5000, [], 1673845096e6]
)
def test_other_values_are_no_time_stamp(value: object) -> None:
    assert dates.stamp(value) is None


@given(some.datetimes(datetime(1990, 1, 1), datetime(2099, 12, 31), timezones=some.just(BAKU)))
def test_a_date_is_read_as_it_was_written(date: datetime) -> None:
    minute = date.replace(second=0, microsecond=0)
    assert dates.parse(f"{minute:%d.%m.%Y, %H:%M}", BAKU, FETCHED) == minute
    read = dates.parse(date.isoformat(), BAKU, FETCHED)
    assert read is not None
    assert read.timestamp() == date.timestamp(), "an hour that comes twice is equal to nothing but itself"


@given(some.text(alphabet="0123456789 ./:-,TZ+bugündünəvqsİI"))
def test_any_text_gives_a_usable_date_or_none(text: str) -> None:
    date = dates.parse(text, BAKU, FETCHED)
    assert date is None or date.astimezone(UTC)
