"""The filter language: what it reads, its errors, and that PostgreSQL folds words as Python does."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from realestate.storage.query import Box, Comparison, Filter, Polygon, QueryError, Words, parse_filter
from realestate.storage.query.conditions import ON_THE_MARKET
from realestate.storage.query.folding import folded, words_of

READ: list[tuple[str, Any]] = [
    ("portal=bina,tap", Comparison("portal", "=", ("bina", "tap"))),
    ("PORTAL=bina", Comparison("portal", "=", ("bina",))),
    ("rooms>=2", Comparison("rooms", ">=", (2,))),
    ("price<150000.50", Comparison("price", "<", (Decimal("150000.50"),))),
    ("price=none", Comparison("price", "=", (None,))),
    ('title="none"', Comparison("title", "=", ("none",))),
    ('city!="a \\"b\\" \\\\, c",d', Comparison("city", "!=", ('a "b" \\, c', "d"))),
    ("has_deed=yes", Comparison("has_deed", "=", (True,))),
    ("latitude>=-40.5", Comparison("latitude", ">=", (-40.5,))),
    ('city~"Bakı"', Words("city", ("baki",))),
    ("text~Gənclik-metro", Words("text", ("genclik", "metro"))),
    ("bbox=49.7,40.3,50.1,40.6", Box(49.7, 40.3, 50.1, 40.6)),
    ("polygon=49.7,40.3;50.1,40.3;50,40.6;49.7,40.3", Polygon(((49.7, 40.3), (50.1, 40.3), (50.0, 40.6)))),
    ("new_since=7d", Comparison("first_seen_at", ">=", (timedelta(days=7),))),
    ("changed_since=2026-11-01", Comparison("changed_at", ">=", (datetime(2026, 11, 1, tzinfo=UTC),))),
    ("posted_at<2026-11-01T00:00:00+04:00", Comparison("posted_at", "<", (datetime(2026, 10, 31, 20, tzinfo=UTC),))),
    ("cheaper_by>=5%", Comparison("cheaper_by", ">=", (Decimal(5),))),
    ("features=pool,garden", Comparison("features", "=", ("pool", "garden"))),
]


@pytest.mark.parametrize(("text", "condition"), READ)
def test_a_condition_is_read(text: str, condition: Any) -> None:
    filter = parse_filter(text)
    assert filter.conditions == (condition,)
    assert parse_filter(str(filter)) == filter


def test_without_a_status_only_listings_on_the_market_match() -> None:
    on_the_market = Comparison("status", "=", ON_THE_MARKET)
    assert list(parse_filter("")) == [on_the_market]
    assert list(parse_filter("status=any")) == []
    assert list(parse_filter("status=sold")) == [Comparison("status", "=", ("sold",))]
    assert parse_filter("rooms=2 status=sold").with_any_status() == parse_filter("rooms=2 status=any")


WRONG = [
    ("prise<3", 1, "did you mean 'price'?"),
    ("rooms=2 prise<3", 9, "there is no field 'prise'"),
    ("phone=1", 1, "The fields are: agency_name"),
    ("price", 6, "is expected after 'price'"),
    ("price < 3", 6, "without a space"),
    ("price<", 7, "a value is expected"),
    ("price=1,", 9, "a value is expected"),
    ('city="Bak', 6, "never closed"),
    ('city="a"b', 9, "a space is expected"),
    ("(price<3)", 1, "the name of a field"),
    ("price<cheap", 7, "price is a number"),
    ("price<1e5", 7, "price is a number"),
    ("price<nan", 7, "price is a number"),
    ("price<٣", 7, "price is a number"),
    ("price<9999999999999", 7, "too large"),
    ("rooms=2.5", 7, "a whole number"),
    ("rooms=99999999999", 7, "too large"),
    ("price<1,2", 9, "takes one value"),
    ("price<none", 7, "has no order"),
    ("city<a", 6, "has no order"),
    ("rooms~2", 7, "is not a text field"),
    ("has_deed=maybe", 10, "yes, no or none"),
    ("operation=buy", 11, "one of sale, rent"),
    ("status=any,sold", 8, "one of active"),
    ("first_seen_at>yesterday", 15, "a time such as"),
    ("new_since=999999w", 11, "a hundred years"),
    ("new_since>=7d", 10, "takes ="),
    ("posted_at>0001-01-01T00:00:00+14:00", 11, "out of range"),
    ("bbox=1,2,3", 6, "four numbers"),
    ("bbox=5,2,3,4", 6, "west must be smaller"),
    ("bbox=1,5,3,4", 6, "south must be smaller"),
    ("bbox=1,2,3,91", 12, "between -90 and 90"),
    ("bbox>1,2,3,4", 5, "takes ="),
    ("polygon=1,2;3,4", 9, "three different corners"),
    ("polygon=1,2;3;5,6", 9, "takes corners such as"),
    ("polygon=-179,1;179,1;179,2", 9, "180th meridian"),
    ('text~"..."', 6, "no letter or digit"),
    ("text~" + "x" * 60, 6, "longer than 50"),
    ("description=x", 1, "by words only"),
    ("extra=x", 1, "there is no field"),
    ("ref=a\0b", 6, "NUL"),
    ("ref=a\udcff", 6, "UTF-8"),
]


@pytest.mark.parametrize(("text", "position", "sentence"), WRONG)
def test_an_error_names_what_is_wrong_and_where(text: str, position: int, sentence: str) -> None:
    with pytest.raises(QueryError, match=f"character {position}: ") as caught:
        parse_filter(text)
    assert sentence in str(caught.value)
    assert caught.value.position == position


@pytest.mark.parametrize("text", ["x" * 9000, " ".join(["rooms=1"] * 60), "rooms=" + ",".join(["1"] * 600)])
def test_a_huge_filter_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match="at most"):
        parse_filter(text)


@given(st.text() | st.text(alphabet='portalprice=<>~!,;"\\ 0123456789.%-none\n'))
def test_any_text_is_a_filter_or_a_query_error(text: str) -> None:
    try:
        filter = parse_filter(text)
    except QueryError:
        return
    assert parse_filter(str(filter)) == filter
    assert isinstance(filter, Filter)


def test_words_have_no_case_no_accents_and_no_punctuation() -> None:
    assert words_of("Bakı, GƏNCLİK m. «Ёлка» Straße-5") == ["baki", "genclik", "m", "елка", "straße", "5"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0")), max_size=50))
def test_postgresql_folds_words_as_python_does(
    texts: list[str], sql: Callable[..., list[tuple[Any, ...]]], store: Any
) -> None:
    rows = sql(
        "SELECT listing_words(each) FROM unnest(%s::text[]) WITH ORDINALITY AS texts (each, place) ORDER BY place",
        texts,
    )
    assert [text for (text,) in rows] == [f" {folded(text)}" for text in texts]
