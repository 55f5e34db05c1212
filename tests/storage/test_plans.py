"""How PostgreSQL answers questions about listings: no request reads `listings` from one end to the other."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import psycopg2
import pytest
from fastapi.testclient import TestClient
from redis import Redis

from bench.rig.adverts import Adverts
from bench.rig.database import Database
from bench.store import write
from realestate import embedded
from realestate.storage import open_store
from realestate.storage.postgres import sampling
from realestate.storage.postgres.query import Sql
from realestate.storage.query import SORTS, Filter, ListingQuery, parse_box, parse_filter
from realestate.storage.query.listing_query import Place
from realestate.web.app import create_app
from tests.conftest import empty_database

#: Enough that the planner prefers an index where there is one.
LISTINGS = 10_000
EVERYTHING = parse_filter("")
SMALL = "4.80,50.40,4.90,50.50"
Plan = Mapping[str, Any]


@pytest.fixture(scope="module")
def filled(services: embedded.Services) -> Iterator[Database]:
    with empty_database(services.store_url) as url:
        stored = Database(url)
        write(stored.store, Adverts(300).new(300))
        stored.fill(LISTINGS)
        yield stored
        stored.close()


def nodes(plan: Plan) -> Iterator[Plan]:
    yield plan
    for each in plan.get("Plans", ()):
        yield from nodes(each)


@pytest.fixture
def plans(filled: Database, monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """The plans of all statements that questions execute from now on."""
    found: list[Plan] = []
    ask = type(filled.store)._asked

    def explained(store: Any, statement: str, sql: Sql, *more: Any) -> list[tuple[Any, ...]]:
        settings, _, select = statement.rpartition("; ")
        before = f"{settings}; " if settings else ""
        ((plan,),) = ask(store, f"{before}EXPLAIN (FORMAT JSON) {select}", sql, *more)
        found.append(plan[0]["Plan"])
        return ask(store, statement, sql, *more)

    monkeypatch.setattr(type(filled.store), "_asked", explained)
    return found


def scans(plans: list[Plan], table: str) -> list[Plan]:
    return [node for plan in plans for node in nodes(plan) if node.get("Relation Name") == table]


def demand_single_listings(plans: list[Plan]) -> None:
    """Each row of `listings` is found by its identity."""
    for node in scans(plans, "listings"):
        assert node.get("Index Name") == "listings_pkey", node
        assert "portal" in node["Index Cond"] and "ref" in node["Index Cond"], node  # noqa: PT018


def middle(filled: Database, sort: str) -> Place | None:
    """A listing in the middle of the order, and after it the pages of a reader who came far."""
    name = sort.removeprefix("-")
    with psycopg2.connect(filled.url) as connection, connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {name}, portal, ref FROM summaries WHERE on_market AND {name} IS NOT NULL ORDER BY 1, 2, 3"
            f" OFFSET {LISTINGS // 2} LIMIT 1"
        )
        row = cursor.fetchone()
    connection.close()
    return Place(*row) if row else None


@pytest.mark.parametrize("minus", ["", "-"])
@pytest.mark.parametrize("sort", SORTS)
def test_every_order_comes_from_its_index(filled: Database, plans: list[Plan], sort: str, minus: str) -> None:
    for place in (None, middle(filled, sort)):
        query = ListingQuery(sort=minus + sort, page_size=50)
        cursor = query.cursor_after(place) if place else None
        page = filled.store.search(ListingQuery(sort=minus + sort, page_size=50, cursor=cursor))
        assert len(page.rows) == 50
    assert {node["Node Type"] for plan in plans for node in nodes(plan)} <= {"Limit", "Index Scan", "Index Only Scan"}
    assert scans(plans, "listings") == []


@pytest.mark.parametrize(
    ("filter", "index"),
    [
        (f"bbox={SMALL}", "summaries_place"),
        ("polygon=4.80,50.40;4.90,50.40;4.85,50.50", "summaries_place"),
        ('text~"nowhere"', "summaries_words"),
        ('city~"nowhere"', "summaries_words"),
        ('country=BE city="nowhere"', "summaries_city"),
        ("price<10", "summaries_price"),
        ("price_per_m2<0.5", "summaries_price_per_m2"),
        ("area_m2>99999", "summaries_area"),
        ("rooms>99", "summaries_rooms"),
        ("cheaper_by>=5%", "summaries_cheaper"),
        ("changed_since=2100-01-01", "summaries_changed"),
        ("new_since=2100-01-01", "summaries_first_seen"),
        ("portal=immoweb ref=30000001 status=any", "summaries_pkey"),
    ],
)
def test_a_condition_that_few_listings_meet_is_found_by_an_index(
    filled: Database, plans: list[Plan], filter: str, index: str
) -> None:
    """Whatever the order is: the first page, the number and the map."""
    wanted = parse_filter(filter)
    for question in _questions(wanted):
        plans.clear()
        question(filled)
        assert {node["Index Name"] for plan in plans for node in nodes(plan) if "Index Name" in node} >= {index}
        assert not [node for node in scans(plans, "summaries") if node["Node Type"] == "Seq Scan"]
        demand_single_listings(plans)


@pytest.mark.parametrize(("sort", "index"), [("price", "price"), ("-price_per_m2", "price_per_m2")])
def test_the_cheapest_for_sale_are_found_without_reading_the_rents(
    filled: Database, plans: list[Plan], sort: str, index: str
) -> None:
    filled.store.search(ListingQuery(filter=parse_filter("country=BE operation=sale"), sort=sort))
    (found,) = [node for node in nodes(plans[0]) if "Index Name" in node]
    assert found["Index Name"] == f"summaries_operation_{index}"
    assert "operation = 'sale'" in found["Index Cond"]
    assert {node["Node Type"] for node in nodes(plans[0])} <= {"Limit", "Index Scan"}


def test_of_the_tallies_of_the_map_only_those_of_the_box_are_read(filled: Database, plans: list[Plan]) -> None:
    all_of_it = filled.store.hexagons(EVERYTHING, 7)
    plans.clear()
    some = filled.store.hexagons(EVERYTHING, 7, parse_box(SMALL))
    assert 0 < len(some) < len(all_of_it) / 4
    (found,) = scans(plans, "tallies")
    assert "low" in found["Index Cond"]


def _questions(wanted: Filter) -> Iterator[Callable[[Database], object]]:
    yield lambda stored: stored.store.count(wanted)
    yield lambda stored: stored.store.facets(wanted)
    yield lambda stored: stored.store.hexagons(wanted, 8)


@pytest.mark.parametrize("filter", ["", "portal=immoweb", "country=BE operation=sale"])
def test_numbers_of_everything_come_from_the_tallies(filled: Database, plans: list[Plan], filter: str) -> None:
    wanted = parse_filter(filter)
    assert filled.store.count(wanted).is_exact
    assert filled.store.facets(wanted)
    assert filled.store.hexagons(wanted, 6)
    assert len(plans) == 3
    assert {node["Relation Name"] for plan in plans for node in nodes(plan) if "Relation Name" in node} == {"tallies"}


def test_the_values_that_only_a_listing_has_are_read_by_its_identity(filled: Database, plans: list[Plan]) -> None:
    found = filled.store.search(ListingQuery(fields=("portal", "ref", "description", "photos"))).rows
    assert filled.store.detail(found[0]["portal"], found[0]["ref"])
    assert filled.store.facts("immoweb", [row["ref"] for row in found])
    assert len(list(filled.store.matching(parse_filter("price<100000")))) > 0
    filled.store.points(EVERYTHING, parse_box(SMALL))
    filled.store.count(parse_filter(f'description~"garden" bbox={SMALL}'))
    filled.store.count(parse_filter(f"last_seen_at>=7d bbox={SMALL}"))
    assert scans(plans, "listings")
    demand_single_listings(plans)


# ----- all requests of the server


def rows_read(url: str) -> int:
    """How many rows of `listings` were read until now, by PostgreSQL's own counters."""
    connection = psycopg2.connect(url)
    connection.autocommit = True
    with connection.cursor() as cursor:
        while True:  # a session counts exactly when it has ended
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'realestate requests'")
            if cursor.fetchone() == (0,):
                break
        cursor.execute(
            "SELECT (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'listings')"
            " + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'listings')"
        )
        number: tuple[int] = cursor.fetchone()  # type: ignore[assignment]
    connection.close()
    return int(number[0])


PATHS = [
    "/api/v1/listings",
    "/api/v1/listings?where=status%3Dany&sort=-price&limit=500",
    "/api/v1/listings?fields=ref,description,photos,extra",
    "/api/v1/listings?where=city~nowhere",
    "/api/v1/listings?where=title~nowhere+status%3Dany",
    "/api/v1/listings/count?where=price%3C200000",
    "/api/v1/listings/count?where=description~garden+bbox%3D4.8,50.4,4.9,50.5",
    "/api/v1/listings/facets",
    "/api/v1/listings/facets?where=rooms%3E2",
    "/api/v1/listings/hexagons?resolution=9",
    "/api/v1/listings/points?bbox=2,49,7,52",
    "/api/v1/listings/immoweb/10000001",
    "/api/v1/homes",
    "/api/v1/homes?city=Namur&operation=sale&active=true&limit=500",
    "/api/v1/homes/nobody",
    "/api/v1/market?place=BE",
    "/api/v1/events?limit=1000",
    "/api/v1/portals",
    "/api/v1/quarantine",
    "/api/v1/jobs",
    "/healthz",
    "/",
    "/listings",
    "/listings?where=price%3C200000",
    "/listings/immoweb/10000001",
    "/listings/map.json?bbox=2,49,7,52&zoom=8",
    "/operations",
    "/market",
]


def test_no_request_of_the_server_scans_the_listings(
    filled: Database, redis_url: str, server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "ENOUGH", LISTINGS // 10)
    separator = "&" if "?" in filled.url else "?"
    url = f"{filled.url}{separator}application_name=realestate%20requests"
    # What the tests before have read is counted some seconds later, unless their session is asked.
    filled.store._asked("SELECT pg_stat_force_next_flush()", Sql())
    guilty = {}
    for path in PATHS:
        before = rows_read(filled.url)
        app = create_app(lambda: open_store(url), redis_url)
        with TestClient(app, base_url="http://localhost") as client:
            status = client.get(path).status_code
        assert status in (200, 404), path
        rows = rows_read(filled.url) - before
        if rows > LISTINGS // 4:
            guilty[path] = rows
    assert guilty == {}


def test_every_kind_of_page_is_asked(filled: Database) -> None:
    """A route that is added is added to PATHS."""
    described = create_app(lambda: filled.store).openapi()
    readable = {path for path, methods in described["paths"].items() if "get" in methods and path.startswith("/api/")}
    singles = ("{job}", "{id}", "/deadletters/", "/stream")
    wanted = {path for path in readable if not any(each in path for each in singles)}
    asked = {path.partition("?")[0] for path in PATHS}
    asked = {path.replace("immoweb/10000001", "{portal}/{ref}").replace("nobody", "{home}") for path in asked}
    assert wanted <= asked, json.dumps(sorted(wanted - asked))
