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


def test_a_moment_without_zone_may_be_given_one() -> None:
    assert dates.iso("2026-01-29T15:20:57", BAKU) == datetime(2026, 1, 29, 15, 20, 57, tzinfo=BAKU)


@pytest.mark.parametrize(
    ("text", "told"),
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
def test_reads_dates_as_portals_write_them(text: str, told: str) -> None:
    assert dates.parse(text, BAKU, FETCHED) == datetime.fromisoformat(told).replace(tzinfo=BAKU)


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
def test_what_is_no_date_is_none(text: str | None) -> None:
    assert dates.parse(text, BAKU, FETCHED) is None


def test_a_page_made_before_midnight_and_fetched_after_it_means_the_day_before() -> None:
    fetched_at = datetime(2026, 11, 16, 0, 0, 30, tzinfo=BAKU)
    assert dates.parse("Bugün 23:59", BAKU, fetched_at) == datetime(2026, 11, 15, 23, 59, tzinfo=BAKU)
    assert dates.parse("Bugün 00:00", BAKU, fetched_at) == datetime(2026, 11, 16, tzinfo=BAKU)


def test_today_is_a_day_of_the_portals_zone() -> None:
    fetched_at = datetime(2026, 11, 16, 22, tzinfo=UTC)
    assert dates.parse("Bugün 01:10", BAKU, fetched_at) == datetime(2026, 11, 17, 1, 10, tzinfo=BAKU)


def test_americans_write_the_month_first() -> None:
    assert dates.parse("04/02/2026", BAKU, FETCHED, month_first=True) == datetime(2026, 4, 2, tzinfo=BAKU)


def test_other_languages_are_guessed_last_and_only_when_named() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    told = dates.parse("vor einem Monat", berlin, FETCHED, languages=("de",))
    assert told == datetime(2026, 10, 16, 9, tzinfo=berlin)
    assert told.utcoffset() == timedelta(hours=2)
    assert dates.parse("12. Dezember 2025", berlin, FETCHED, languages=("de",)) == datetime(2025, 12, 12, tzinfo=berlin)
    for vague in ("Mai", "12", "Berlin", "3 Zimmer", "x" * 1_000_000):
        assert dates.parse(vague, berlin, FETCHED, languages=("de",)) is None


def test_the_fetch_time_needs_its_zone() -> None:
    with pytest.raises(ValueError, match="time zone"):
        dates.parse("Bugün 10:37", BAKU, FETCHED.replace(tzinfo=None))


def test_seconds_and_milliseconds_are_told_apart() -> None:
    moment = datetime(2023, 1, 16, 4, 58, 16, tzinfo=UTC)
    assert dates.stamp(1673845096) == dates.stamp("1673845096") == dates.stamp(1673845096000) == moment
    assert dates.stamp(1673845356976) == datetime(2023, 1, 16, 5, 2, 36, 976000, tzinfo=UTC)


@pytest.mark.parametrize(
    "value", [None, True, 0, -1, 5, 10**400, 1e300, float("nan"), "x", "9" * 5000, [], 1673845096e6]
)
def test_what_is_no_time_stamp_is_none(value: object) -> None:
    assert dates.stamp(value) is None


@given(some.datetimes(datetime(1990, 1, 1), datetime(2099, 12, 31), timezones=some.just(BAKU)))
def test_a_date_is_read_as_it_was_written(moment: datetime) -> None:
    minute = moment.replace(second=0, microsecond=0)
    assert dates.parse(f"{minute:%d.%m.%Y, %H:%M}", BAKU, FETCHED) == minute
    read = dates.parse(moment.isoformat(), BAKU, FETCHED)
    assert read is not None
    assert read.timestamp() == moment.timestamp(), "an hour that comes twice is equal to nothing but itself"


@given(some.text(alphabet="0123456789 ./:-,TZ+bugündünəvqsİI"))
def test_no_text_breaks_a_date(text: str) -> None:
    moment = dates.parse(text, BAKU, FETCHED)
    assert moment is None or moment.astimezone(UTC)
