"""Homes and market figures in MongoDB.

Readers see all changes of a run at once. Each document of homes has the first run that has it (`from`) and the first
one that no longer has it (`upto`). New documents are written beside the old ones; one document (`home_runs`) says which
run readers see, and is changed last. A run that was interrupted is never seen, and is undone by the next one. Market
figures are few: each run writes all of them again.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, date, datetime, time
from typing import Any
from uuid import uuid4

from pymongo.database import Database

from realestate.storage.homes import (
    Clustered,
    Home,
    HomeChanges,
    HomeFilter,
    HomeLink,
    HomesRun,
    HomeState,
    MarketFilter,
    MarketWeek,
    Member,
    PhotoHash,
    Pin,
)
from realestate.storage.mongo.change import erased_among
from realestate.storage.mongo.connection import Connection, Document, pieces, server_time
from realestate.storage.mongo.documents import amount, money, stored_time

_ORDER = ("country", "city", "district", "operation", "property_type", "currency", "rent_period", "week")


class Homes:
    """Homes, the decisions of people about them, and market figures."""

    connection: Connection

    def save_homes(self, clustered: Clustered) -> None:
        with self.connection.database() as database:
            _change(database, {collection: [{}] for collection in _OF_HOMES}, clustered)

    def change_homes(self, changes: HomeChanges) -> bool:
        with self.connection.database() as database:
            found = database["home_runs"].find_one({"_id": "homes"}, {"about.built_at": 1})
            if found is None or found["about"]["built_at"] != stored_time(changes.before.built_at):
                return False
            homes = [*changes.gone_homes, *(each.home for each in changes.homes)]
            members = [*changes.gone, *(each.name for each in changes.members)]
            states = [*changes.gone, *(each.name for each in changes.states)]
            old = {
                "homes": _those("home", homes),
                "home_links": _those("home", changes.relinked),
                "home_listings": _those("name", members),
                "home_states": _those("name", states),
            }
            return _change(database, old, changes)

    def home_states(self, names: Collection[str]) -> Mapping[str, HomeState]:
        with self.connection.database() as database:
            seen = _seen_homes(database)
            documents = [
                each for wanted in _those("name", names) for each in database["home_states"].find({**seen, **wanted})
            ]
        return {
            each["name"]: HomeState(
                each["portal"],
                each["ref"],
                each["facts"],
                each["keys"],
                [(near["name"], near["score"]) for near in each["near"]],
                each["in_block"],
            )
            for each in documents
        }

    def keys_of_sharers(self, keys: Collection[int]) -> Mapping[str, Sequence[int]]:
        shown = {"name": 1, "keys": 1}
        with self.connection.database() as database:
            seen = _seen_homes(database)
            return {
                each["name"]: each["keys"]
                for wanted in _those("keys", keys)
                for each in database["home_states"].find({**seen, **wanted}, shown)
            }

    def homes_of_listings(self, names: Collection[str]) -> Mapping[str, str]:
        with self.connection.database() as database:
            seen = _seen_homes(database)
            return {
                each["name"]: each["home"]
                for wanted in _those("name", names)
                for each in database["home_listings"].find({**seen, **wanted}, {"name": 1, "home": 1})
            }

    def existing_homes(self, homes: Collection[str]) -> Collection[str]:
        with self.connection.database() as database:
            seen = _seen_homes(database)
            return {
                each["home"]
                for wanted in _those("home", homes)
                for each in database["homes"].find({**seen, **wanted}, {"home": 1})
            }

    def keep_photo_hashes(self, read: Sequence[PhotoHash]) -> None:
        """Those of erased listings are deleted after the write: an erasure may happen meanwhile."""
        with self.connection.database() as database:
            now = server_time(database)
            for each in read:
                document = {**asdict(each), "hashed_at": now}
                database["photo_hashes"].replace_one(
                    {"_id": f"{each.portal}/{each.ref} {each.photo}"}, document, upsert=True
                )
            for portal, ref in erased_among(database, {(each.portal, each.ref) for each in read}):
                database["photo_hashes"].delete_many({"portal": portal, "ref": ref})

    def photo_hashes(self, portal: str, refs: Sequence[str] | None = None) -> Mapping[str, Mapping[str, int]]:
        wanted: list[Document] = [{}] if refs is None else _those("ref", refs)
        found: dict[str, dict[str, int]] = {}
        with self.connection.database() as database:
            for some in wanted:
                for each in database["photo_hashes"].find({"portal": portal, **some}):
                    found.setdefault(each["ref"], {})[each["photo"]] = int(each["hash"])
        return found

    def hashed_since(self, at: datetime) -> Collection[str]:
        with self.connection.database() as database:
            found = database["photo_hashes"].find({"hashed_at": {"$gte": stored_time(at)}}, {"portal": 1, "ref": 1})
            return {f"{each['portal']}/{each['ref']}" for each in found}

    def homes_run(self) -> HomesRun | None:
        with self.connection.database() as database:
            found = database["home_runs"].find_one({"_id": "homes"})
        return _run(found["about"]) if found else None

    def home_ids(self) -> Mapping[str, str]:
        with self.connection.database() as database:
            found = database["home_listings"].find(_seen_homes(database), {"portal": 1, "ref": 1, "home": 1})
            return {f"{each['portal']}/{each['ref']}": each["home"] for each in found}

    def homes(self, wanted: HomeFilter = HomeFilter(), *, after: str = "", limit: int = 100) -> Sequence[Home]:  # noqa: B008
        asked = {name: value for name, value in asdict(wanted).items() if value is not None}
        with self.connection.database() as database:
            query = {**_seen_homes(database), **asked, "home": {"$gt": after}}
            return [_home(each) for each in database["homes"].find(query).sort("home", 1).limit(limit)]

    def home(self, home: str) -> Home | None:
        with self.connection.database() as database:
            found = database["homes"].find_one({**_seen_homes(database), "home": home})
        return _home(found) if found else None

    def home_of(self, portal: str, ref: str) -> str | None:
        with self.connection.database() as database:
            found = database["home_listings"].find_one({**_seen_homes(database), "portal": portal, "ref": ref})
        return str(found["home"]) if found else None

    def home_members(self, home: str) -> Sequence[Member]:
        with self.connection.database() as database:
            found = list(database["home_listings"].find({**_seen_homes(database), "home": home}))
        return sorted(
            (Member(each["portal"], each["ref"], home) for each in found), key=lambda each: (each.portal, each.ref)
        )

    def home_links(self, home: str) -> Sequence[HomeLink]:
        with self.connection.database() as database:
            found = list(database["home_links"].find({**_seen_homes(database), "home": home}))
        links = [
            HomeLink(home, each["a"], each["b"], each["score"], [(r["what"], r["weight"]) for r in each["reasons"]])
            for each in found
        ]
        return sorted(links, key=lambda link: (-link.score, link.a, link.b))

    def pins(self) -> Sequence[Pin]:
        with self.connection.database() as database:
            found = list(database["home_pins"].find())
        return sorted((Pin(each["kind"], each["a"], each["b"]) for each in found), key=lambda pin: (pin.a, pin.b))

    def pin(self, pin: Pin) -> None:
        a = min(pin.a, pin.b)
        b = max(pin.a, pin.b)
        with self.connection.database() as database:
            document = {"kind": pin.kind, "a": a, "b": b}
            database["home_pins"].replace_one({"_id": f"{a} {b}"}, document, upsert=True)

    def save_market(self, rows: Sequence[MarketWeek], since: date) -> None:
        with self.connection.database() as database:
            earlier = [each for each in _market_rows(database, {}) if each.week < since]
            _replace(database, "market", {"market_weekly": map(_market_document, [*earlier, *rows])}, {})

    def market_weeks(self, wanted: MarketFilter = MarketFilter()) -> Sequence[MarketWeek]:  # noqa: B008
        asked: Document = {name: value for name, value in asdict(wanted).items() if value is not None}
        if since := asked.pop("since", None):
            asked["week"] = {"$gte": _midnight(since)}
        with self.connection.database() as database:
            return _market_rows(database, asked)

    def newest_market_weeks(self) -> Sequence[MarketWeek]:
        # They come in the order of their series, and of one the newest is the last.
        series = _ORDER[:-1]
        return list({tuple(getattr(each, name) for name in series): each for each in self.market_weeks()}.values())


def records_of_last_run(database: Database[Document], collection: str) -> Iterator[list[Any]]:
    """Yield the homes, their members or the market figures of the last complete run, in the order of an export."""
    if collection == "market_weekly":
        yield _market_rows(database, {})
        return
    order = ["home"] if collection == "homes" else ["portal", "ref"]
    found = database[collection].find(_seen_homes(database)).sort([(name, 1) for name in order])
    for piece in pieces(found):
        yield [_home(each) if collection == "homes" else _member(each) for each in piece]


def homes_of(database: Database[Document], listings: Collection[tuple[str, str]]) -> set[str]:
    """Return the homes of these listings."""
    return {
        each["home"]
        for each in database["home_listings"].find(_seen_homes(database), {"portal": 1, "ref": 1, "home": 1})
        if (each["portal"], each["ref"]) in listings
    }


def _run(about: Document) -> HomesRun:
    """A run. One of an older version has fewer values."""
    return HomesRun(**{each.name: about[each.name] for each in fields(HomesRun) if each.name in about})


def _member(document: Document) -> Member:
    return Member(document["portal"], document["ref"], document["home"])


def remove_from_home(database: Database[Document], portal: str, ref: str) -> dict[str, int]:
    """Remove an erased listing from its home, with what names it. Return for each collection if it had it: 0 or 1."""
    name = f"{portal}/{ref}"
    of_the_listing = {"portal": portal, "ref": ref}
    homes = [each["home"] for each in database["home_listings"].find(of_the_listing, {"home": 1})]
    removed = {
        each: min(1, database[each].delete_many(of_the_listing).deleted_count)
        for each in ("home_listings", "home_states", "photo_hashes")
    }
    for collection in ("home_links", "home_pins"):
        database[collection].delete_many({"$or": [{"a": name}, {"b": name}]})
    for home in homes:
        if database["home_listings"].find_one({"home": home}, {"_id": 1}) is None:
            database["homes"].delete_many({"home": home})
    return removed


#: The collections of homes.
_OF_HOMES = ("homes", "home_listings", "home_links", "home_states")
#: No run has so high a number.
_FOR_EVER = 2**60


def _those(field: str, values: Collection[Any]) -> list[Document]:
    """Filters for the documents with one of these values."""
    return [{field: {"$in": some}} for some in pieces(values)]


def _change(
    database: Database[Document], old: Mapping[str, Sequence[Document]], written: Clustered | HomeChanges
) -> bool:
    """Write the documents of a run beside those that they replace, and make readers see them. False if another run did
    so meanwhile."""
    found = database["home_runs"].find_one({"_id": "homes"}, {"number": 1})
    seen = found["number"] if found else 0
    mine = seen + 1
    for collection in _OF_HOMES:
        _undo(database, collection, seen)
        for wanted in old[collection]:
            current = {**wanted, "upto": _FOR_EVER}
            database[collection].update_many(current, {"$set": {"upto": mine}})
    documents: Mapping[str, Iterable[Document]] = {
        "homes": map(_home_document, written.homes),
        "home_listings": ({**asdict(each), "name": each.name} for each in written.members),
        "home_links": map(_link_document, written.links),
        "home_states": map(_state_document, written.states),
    }
    for collection, some in documents.items():
        for piece in pieces(some):
            database[collection].insert_many([{**each, "from": mine, "upto": _FOR_EVER} for each in piece])
    begun_at = written.run.begun_at and stored_time(written.run.begun_at)
    about = {**asdict(written.run), "built_at": stored_time(written.run.built_at), "begun_at": begun_at}
    if found is None:
        database["home_runs"].replace_one({"_id": "homes"}, {"number": mine, "about": about}, upsert=True)
    elif (
        not database["home_runs"]
        .update_one({"_id": "homes", "number": seen}, {"$set": {"number": mine, "about": about}})
        .matched_count
    ):
        return False
    for collection in _OF_HOMES:
        database[collection].delete_many({"upto": {"$lte": mine}})
    return True


def _undo(database: Database[Document], collection: str, seen: int) -> None:
    """Delete what an interrupted run wrote, and keep what it wanted to replace."""
    database[collection].delete_many({"$or": [{"from": {"$gt": seen}}, {"upto": {"$lte": seen}}]})
    database[collection].update_many({"upto": {"$gt": seen, "$lt": _FOR_EVER}}, {"$set": {"upto": _FOR_EVER}})


def _seen_homes(database: Database[Document]) -> Document:
    """A filter for the documents of homes that the last complete run has."""
    found = database["home_runs"].find_one({"_id": "homes"}, {"number": 1})
    seen = found["number"] if found else 0
    return {"from": {"$lte": seen}, "upto": {"$gt": seen}}


def _state_document(state: HomeState) -> Document:
    near = [{"name": name, "score": score} for name, score in state.near]
    return {**asdict(state), "keys": list(state.keys), "near": near, "name": state.name}


def _replace(
    database: Database[Document], what: str, documents: Mapping[str, Iterable[Document]], about: Document
) -> None:
    """Write documents beside those of the last run, make readers see them, and delete the others."""
    run = uuid4().hex
    for collection, some in documents.items():
        for piece in pieces(some):
            database[collection].insert_many([{**each, "run": run} for each in piece], ordered=False)
    database["home_runs"].replace_one({"_id": what}, {"run": run, "about": about}, upsert=True)
    for collection in documents:
        database[collection].delete_many({"run": {"$ne": run}})


def _seen(database: Database[Document], what: str) -> Document:
    """A filter for the documents of the last complete run."""
    found = database["home_runs"].find_one({"_id": what}, {"run": 1})
    return {"run": found["run"] if found else ""}


def _home_document(home: Home) -> Document:
    document = asdict(home)
    document["price"] = None if home.price is None else amount(home.price)
    for name in ("first_seen_at", "last_seen_at", "gone_at"):
        document[name] = None if document[name] is None else stored_time(document[name])
    return document


def _home(document: Document) -> Home:
    values: dict[str, Any] = {each.name: document[each.name] for each in fields(Home)}
    return Home(**{**values, "price": None if values["price"] is None else money(values["price"])})


def _link_document(link: HomeLink) -> Document:
    reasons = [{"what": what, "weight": weight} for what, weight in link.reasons]
    return {"home": link.home, "a": link.a, "b": link.b, "score": link.score, "reasons": reasons}


def _market_document(row: MarketWeek) -> Document:
    return {**asdict(row), "week": _midnight(row.week)}


def _market_rows(database: Database[Document], asked: Document) -> list[MarketWeek]:
    found = database["market_weekly"].find({**_seen(database, "market"), **asked})
    rows = [
        MarketWeek(
            **{each.name: document[each.name] for each in fields(MarketWeek) if each.name != "week"},
            week=document["week"].date(),
        )
        for document in found
    ]
    return sorted(rows, key=lambda row: tuple(getattr(row, name) for name in _ORDER))


def _midnight(day: date) -> datetime:
    """The day as a time, because MongoDB has no days."""
    return datetime.combine(day, time(), UTC)
