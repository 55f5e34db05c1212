"""The history that a perfect crawler would write: each change that the pages show, once."""

from collections.abc import Callable
from typing import Any

import pytest

from realestate.items import CONTENT, Listing, as_record
from realestate.simulator.history import MONEY, OTHER_CONTENT, Event, Evidence, History, Record, Sight
from realestate.simulator.portals import PORTALS
from realestate.simulator.server import Simulator
from realestate.simulator.world import World
from tests.simulator.conftest import BASES, Lived

DAYS = 12
ON_BOTH = {"listed", "price_changed", "price_meaning_changed", "updated", "delisted", "relisted"}
TYPES = dict.fromkeys(("emlak", "lalafo", "bina", "tap"), ON_BOTH)
TYPES["immoweb"] = ON_BOTH | {"reserved", "sold", "rented"}
EVIDENCE = {"immoweb": {"404", "410"}, "emlak": {"redirect", "marker"}, "lalafo": {"404", "marker"}}
EVIDENCE |= {"bina": {"404", "410"}, "tap": {"404", "410", "marker"}}


def record(**values: Any) -> Record:
    values = {"operation": "sale", "price": 100_000, "currency": "EUR", "price_basis": "total", **values}
    return as_record(Listing(portal="p", ref="1", url="http://p.test/1", country="BE", **values))


def looked(*days: Record | Evidence | None) -> list[Event]:
    """The events of one listing after a first look; a word is how it is gone, None a page saying it is over."""
    history = History("p")
    for day, seen in enumerate(days):
        match seen:
            case None:
                sight = Sight("1", record(status="delisted"), "marker")
            case str():
                sight = Sight("1", None, seen)
            case _:
                sight = Sight("1", seen)
        history.look(day, [sight])
    assert history.events[0] == {"portal": "p", "ref": "1", "day": 0, "type": "listed"}
    assert all((event["portal"], event["ref"]) == ("p", "1") for event in history.events)
    return [
        {key: value for key, value in event.items() if key not in ("portal", "ref")} for event in history.events[1:]
    ]


def price(old: int, new: int, percent: float, day: int = 1) -> Event:
    return {"day": day, "type": "price_changed", "old": old, "new": new, "currency": "EUR", "percent": percent}


def test_no_change_is_no_event() -> None:
    moved = {**record(), "url": "http://p.test/elsewhere", "updated_at": "2026-09-02T00:00:00+00:00"}
    assert looked(record(), record(), moved) == []


def test_a_price_change_has_its_percentage() -> None:
    assert looked(record(), record(price=97_000)) == [price(100_000, 97_000, -3.0)]
    assert looked(record(price=3), record(price=4)) == [price(3, 4, 33.33)]
    assert looked(record(), record(price=160_000)) == [price(100_000, 160_000, 60.0)], "60 is not more than 60"
    assert looked(record(), record(price=40_000)) == [price(100_000, 40_000, -60.0)]


def test_a_large_price_change_is_an_event_when_it_is_seen_a_second_time() -> None:
    low = record(price=30_000)
    assert looked(record(), low) == []
    assert looked(record(), low, low, low) == [price(100_000, 30_000, -70.0, day=2)]


def test_a_price_error_that_is_corrected_makes_no_event() -> None:
    assert looked(record(), record(price=1_000_000), record(), record()) == []
    again = looked(record(), record(price=1_000_000), record(), record(price=1_000_000))
    assert again == [], "seen twice, but never two looks running"


def test_after_a_large_change_another_price_is_compared_with_the_old_one() -> None:
    assert looked(record(), record(price=1_000_000), record(price=95_000)) == [price(100_000, 95_000, -5.0, day=2)]
    twice = looked(record(), record(price=1_000_000), record(price=900_000), record(price=900_000))
    assert twice == [price(100_000, 900_000, 800.0, day=3)]


def test_a_suspect_price_is_accepted_when_the_listing_returns() -> None:
    low = record(price=30_000)
    assert looked(record(), low, "404", low) == [
        {"day": 2, "type": "delisted", "evidence": "404"},
        {"day": 3, "type": "relisted"},
        price(100_000, 30_000, -70.0, day=3),
    ]


def money(**values: Any) -> Record:
    return {"price": 100_000, "currency": "EUR", "price_basis": "total", "rent_period": None, **values}


@pytest.mark.parametrize(
    "change",
    [
        {"currency": "USD"},
        {"price_basis": "per_m2"},
        {"operation": "rent", "rent_period": "day"},
        {"price": None, "currency": None, "price_basis": "on_request"},
        {"currency": "USD", "price": 900},
    ],
    ids=str,
)
def test_numbers_that_cannot_be_compared_change_their_meaning_both_ways(change: dict[str, Any]) -> None:
    change = {"operation": "rent", **change}
    one = record(operation="rent")
    new = money(**{name: value for name, value in change.items() if name in MONEY})
    assert looked(one, record(**change), one) == [
        {"day": 1, "type": "price_meaning_changed", "old": money(), "new": new},
        {"day": 2, "type": "price_meaning_changed", "old": new, "new": money()},
    ]


def test_a_price_of_another_meaning_replaces_a_suspect_price() -> None:
    on_request = record(price=None, currency=None, price_basis="on_request")
    events = looked(record(), record(price=1_000_000), on_request)
    assert [(event["type"], event["old"]) for event in events] == [("price_meaning_changed", money())]


def test_the_period_of_a_price_on_request_is_no_event() -> None:
    on_request = {"operation": "rent", "price": None, "currency": None, "price_basis": "on_request"}
    assert looked(record(**on_request, rent_period="month"), record(**on_request)) == []


def test_other_fields_are_named_in_order() -> None:
    assert looked(record(), record(title="New", rooms=3, charges=None, description="x")) == [
        {
            "day": 1,
            "type": "updated",
            "fields": {"description": [None, "x"], "rooms": [None, 3], "title": [None, "New"]},
        }
    ]


def test_a_reservation_is_an_event_and_its_end_is_an_update() -> None:
    reserved = record(status="reserved")
    assert looked(record(), reserved, reserved, record()) == [
        {"day": 1, "type": "reserved"},
        {"day": 3, "type": "updated", "fields": {"status": ["reserved", "active"]}},
    ]
    assert looked(reserved, reserved) == []


@pytest.mark.parametrize("evidence", ["404", "410", "redirect"])
def test_a_page_that_is_gone_delists_once_and_may_come_back(evidence: Evidence) -> None:
    assert looked(record(), evidence, evidence, "404", record(), record()) == [
        {"day": 1, "type": "delisted", "evidence": evidence},
        {"day": 4, "type": "relisted"},
    ]


def test_of_a_page_of_an_ended_listing_only_the_status_is_used() -> None:
    assert looked(record(price=90_000), None) == [{"day": 1, "type": "delisted", "evidence": "marker"}]


@pytest.mark.parametrize("status", ["sold", "rented"])
def test_a_sold_home_is_not_delisted_when_its_page_goes(status: str) -> None:
    over = record(status=status, price=50_000)
    assert looked(record(), over, over, "404", "404") == [{"day": 1, "type": status}]
    assert looked(record(status="reserved"), over, record()) == [
        {"day": 1, "type": status},
        {"day": 2, "type": "relisted"},
    ]


def test_everything_that_happened_between_two_observations_becomes_events_in_order() -> None:
    events = looked(record(), "410", record(price=90_000, title="Back", status="reserved"))
    assert [event["type"] for event in events] == ["delisted", "relisted", "price_changed", "updated", "reserved"]


def test_a_listing_that_was_never_on_the_market_is_not_listed() -> None:
    history = History("p")
    history.look(1, [Sight("1", None, "404"), Sight("2", record(status="sold"), "marker")])
    assert history.events == []


def test_money_status_and_the_rest_make_the_content() -> None:
    assert {*MONEY, "status", *OTHER_CONTENT} == set(CONTENT)


# --- the history of a whole world

WithRows = tuple[Simulator, list[dict[str, dict[str, Record]]]]


@pytest.fixture(scope="module")
def with_rows() -> WithRows:
    """A simulator after some days, and the rows of each."""
    simulator = Simulator(World(seed=7, listings=300), BASES)
    rows = []
    for day in range(DAYS + 1):
        if day:
            simulator.advance()
        rows.append({name: {row["ref"]: row for row in site.truths()} for name, site in simulator.sites.items()})
    return simulator, rows


@pytest.mark.parametrize("portal", PORTALS)
def test_replaying_the_events_gives_the_rows_of_every_day(with_rows: WithRows, portal: str) -> None:
    simulator, rows = with_rows
    state: dict[str, Record] = {}
    status: dict[str, str] = {}
    for day, today in enumerate(row[portal] for row in rows):
        for event in (event for event in simulator.events(portal) if event["day"] == day):
            replay(event, state, status, today)
        on_the_market = {ref for ref, word in status.items() if word in ("active", "reserved")}
        assert on_the_market == set(today)
        for ref, row in today.items():
            if state[ref]["price"] != row["price"]:
                assert abs(row["price"] / state[ref]["price"] - 1) > 0.6, "only a suspect may differ"
                assert day == DAYS or rows[day + 1][portal][ref]["price"] in (row["price"], state[ref]["price"])
            assert {**pick(state[ref]), "price": None} == {**pick(row), "price": None}
            assert status[ref] == row["status"]


def replay(event: Event, state: dict[str, Record], status: dict[str, str], today: dict[str, Record]) -> None:
    """Take from a day's rows only what the event says is new."""
    ref = event["ref"]
    match event["type"]:
        case "listed":
            assert ref not in state
            state[ref], status[ref] = dict(today[ref]), today[ref]["status"]
        case "relisted":
            assert status[ref] in ("delisted", "sold", "rented")
            status[ref] = "active"
        case "price_changed":
            assert event["percent"] == round((event["new"] - event["old"]) / event["old"] * 100, 2)
            assert (state[ref]["price"], state[ref]["currency"]) == (event["old"], event["currency"])
            state[ref]["price"] = event["new"]
        case "price_meaning_changed":
            assert {name: state[ref][name] for name in MONEY} == event["old"]
            state[ref].update(event["new"])
        case "updated":
            for name, (old, new) in event["fields"].items():
                assert old != new
                assert (old, new) == (state[ref][name] if name != "status" else "reserved", today[ref][name])
                state[ref][name] = new
            status[ref] = "active" if "status" in event["fields"] else status[ref]
        case "delisted" | "sold" | "rented" | "reserved" as word:
            assert status[ref] in ("active", "reserved")
            assert status[ref] != word
            status[ref] = word


def pick(row: Record) -> Record:
    return {name: row[name] for name in (*MONEY, *OTHER_CONTENT)}


@pytest.mark.parametrize("portal", TYPES)
def test_every_type_of_event_occurs_within_ten_days(with_rows: WithRows, portal: str) -> None:
    events = [event for event in with_rows[0].events(portal) if event["day"] <= 10]
    assert {event["type"] for event in events} == TYPES[portal]
    assert {event["type"] for event in events if event["day"] == 0} == {"listed"}
    assert {event["evidence"] for event in events if event["type"] == "delisted"} == EVIDENCE[portal]
    percents = [event["percent"] for event in events if event["type"] == "price_changed"]
    assert min(percents) < -60
    assert max(percents) > 60
    fields = {name for event in events if event["type"] == "updated" for name in event["fields"]}
    assert fields >= {"description", "photos"}
    assert fields & {"rooms", "bedrooms"}


@pytest.mark.parametrize("portal", PORTALS)
def test_events_are_in_order_and_each_occurs_once(with_rows: WithRows, portal: str) -> None:
    events = with_rows[0].events(portal)
    # a number in whatever digits, after the host where there is one
    order = [(event["day"], int(event["ref"].rpartition(":")[2], 36)) for event in events]
    assert order == sorted(order)
    keys = [(event["day"], event["ref"], event["type"]) for event in events]
    assert len(keys) == len(set(keys))
    assert all(event["portal"] == portal for event in events)


#: Half of `generic`'s pages do not show a rent.
TELL_ALL = [name for name in PORTALS if name != "generic"]


@pytest.mark.parametrize("portal", TELL_ALL)
@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("leapt", lambda day, event: (event["type"], event["day"]) == ("price_changed", day + 1)),
        ("mistyped", lambda day, event: event["type"] != "price_changed" or event["day"] not in (day, day + 1)),
        ("put_on_request", lambda day, event: (event["type"], event["day"]) == ("price_meaning_changed", day)),
        ("period_changed", lambda day, event: (event["type"], event["day"]) == ("price_meaning_changed", day)),
    ],
)
def test_the_world_and_the_history_agree(
    after_many_days: Lived, portal: str, what: str, expected: Callable[[int, Event], bool]
) -> None:
    # What happens on the last day may be recorded on the day after it.
    days = after_many_days.days[:-1]
    things = [(day["day"], ref) for day in days for ref in day["portals"][portal][what]]
    assert things
    events = after_many_days.simulator.events(portal)
    every = all if what == "mistyped" else any
    for day, ref in things:
        assert every(expected(day, event) for event in events if event["ref"] == ref)


@pytest.mark.parametrize("portal", PORTALS)
def test_a_renewed_listing_makes_no_event(after_many_days: Lived, portal: str) -> None:
    quiet = 0
    leapt_yesterday: set[str] = set()
    events = after_many_days.simulator.events(portal)
    for day in after_many_days.days:
        changes = day["portals"][portal]
        busy = {ref for what, refs in changes.items() if what != "renewed" for ref in refs} | leapt_yesterday
        renewed = set(changes["renewed"]) - busy
        assert renewed.isdisjoint(event["ref"] for event in events if event["day"] == day["day"])
        quiet += len(renewed)
        leapt_yesterday = set(changes["leapt"])
    assert quiet


def test_the_time_of_a_request_does_not_change_the_events() -> None:
    """The observation of a day is made when it is needed. The time of that must not matter."""
    asked, unasked = (Simulator(World(seed=9, listings=60), BASES) for _ in range(2))
    for _ in range(4):
        for simulator in (asked, unasked):
            simulator.advance()
        for portal in PORTALS:
            asked.events(portal)
    assert all(asked.events(portal) == unasked.events(portal) for portal in PORTALS)
