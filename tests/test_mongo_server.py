"""The MongoDB server of the tests: its guarantees, how it is found, and the message if there is none."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pymongo import InsertOne, MongoClient, UpdateOne
from pymongo.collection import Collection
from pymongo.errors import BulkWriteError, OperationFailure

from tests import mongodb

ROOT = Path(__file__).parents[1]
Documents = Collection[dict[str, Any]]


@pytest.fixture
def documents(mongodb_url: str) -> Iterator[Documents]:
    with MongoClient[dict[str, Any]](mongodb_url, tz_aware=True) as client:
        yield client.get_default_database()["documents"]


def test_stored_documents_are_read_back(documents: Documents) -> None:
    document = {
        "_id": "bina:1",
        "price": 125000,
        "area_m2": 80.0,
        "seen": datetime(2026, 1, 2, 3, 4, 5, 678000, UTC),
        "district": None,
        "extra": {"rooms": [1, 2.5, None, {"Gənclik": "ə"}]},
    }
    documents.insert_one(dict(document))
    found = documents.find_one({"_id": "bina:1"})
    assert found == document
    assert [type(value) for value in found.values()] == [type(value) for value in document.values()]


def test_each_statement_of_a_batch_succeeds_or_fails_alone(documents: Documents) -> None:
    """More statements than FerretDB takes at once, with failures in between."""
    documents.insert_many([{"_id": f"bina:{number}", "n": 0} for number in range(0, 300, 2)])
    updates = [UpdateOne({"_id": f"bina:{number}"}, {"$inc": {"n": 1}}, upsert=True) for number in range(300)]
    inserts = [InsertOne({"_id": name}) for name in ("bina:6", "new", "bina:8", "newer")]
    with pytest.raises(BulkWriteError) as failure:
        documents.bulk_write([*updates, *inserts], ordered=False)
    details = failure.value.details
    assert [(error["index"], error["code"]) for error in details["writeErrors"]] == [(300, 11000), (302, 11000)]
    assert (details["nMatched"], details["nModified"], details["nInserted"]) == (150, 150, 2)
    assert [upsert["index"] for upsert in details["upserted"]] == list(range(1, 300, 2))
    assert documents.count_documents({"n": 1}) == 300


def test_an_upsert_that_clashes_fails_alone(documents: Documents) -> None:
    """Compare and set of a document that has changed: no filter finds it, so it is inserted a second time."""
    documents.insert_one({"_id": "bina:1", "revision": 2})
    names = ["bina:0", "bina:1", "bina:2"]
    updates = [UpdateOne({"_id": name, "revision": 1}, {"$set": {"n": 1}}, upsert=True) for name in names]
    with pytest.raises(BulkWriteError) as failure:
        documents.bulk_write(updates, ordered=False)
    details = failure.value.details
    assert [(error["index"], error["code"]) for error in details["writeErrors"]] == [(1, 11000)]
    assert [upsert["_id"] for upsert in details["upserted"]] == ["bina:0", "bina:2"]
    assert documents.find_one({"_id": "bina:1"}) == {"_id": "bina:1", "revision": 2}


def test_an_ordered_batch_ends_at_the_first_failure(documents: Documents) -> None:
    documents.insert_one({"_id": "bina:150"})
    with pytest.raises(BulkWriteError):
        documents.insert_many([{"_id": f"bina:{number}"} for number in range(300)])
    assert documents.count_documents({}) == 151


def test_compare_and_set_loses_no_update(documents: Documents) -> None:
    writers, each = 8, 10
    documents.insert_one({"_id": "bina:1", "revision": 0})

    def advance(_: int) -> None:
        advanced = 0
        while advanced < each:
            seen = documents.find_one({"_id": "bina:1"})
            assert seen
            change = {"$set": {"revision": seen["revision"] + 1}}
            advanced += documents.update_one({"_id": "bina:1", "revision": seen["revision"]}, change).modified_count

    with ThreadPoolExecutor(writers) as threads:
        list(threads.map(advance, range(writers)))
    assert documents.find_one({"_id": "bina:1"}) == {"_id": "bina:1", "revision": writers * each}


def test_an_update_with_an_outdated_filter_changes_nothing(documents: Documents) -> None:
    documents.insert_many([{"_id": "bina:1", "revision": 2}, {"_id": "bina:2", "revision": 1}])
    assert documents.update_one({"_id": "bina:1", "revision": 1}, {"$set": {"n": 1}}).matched_count == 0
    assert documents.update_one({"_id": "bina:3", "revision": 1}, {"$set": {"n": 1}}).matched_count == 0
    assert documents.update_one({"_id": "bina:1", "revision": {"$lte": 2}}, {"$set": {"n": 1}}).modified_count == 1
    assert documents.count_documents({"n": 1}) == 1
    with pytest.raises(OperationFailure, match="nonsense"):
        documents.update_one({"_id": "bina:1", "revision": {"$nonsense": 1}}, {"$set": {"n": 2}})


def test_documents_are_found_by_a_list_of_their_ids(documents: Documents) -> None:
    documents.insert_many([{"_id": f"bina:{number}", "n": number, "m": 0} for number in range(300)])
    wanted = [f"bina:{number}" for number in (5, 299, 7, 5, 1000)]
    found = list(documents.find({"_id": {"$in": wanted}}, {"n": 1}))
    assert sorted(found, key=lambda each: int(each["n"])) == [{"_id": f"bina:{n}", "n": n} for n in (5, 7, 299)]
    assert len(list(documents.find({"_id": {"$in": wanted}}).sort("_id", 1).limit(2))) == 2
    assert list(documents.find({"_id": {"$in": []}})) == []
    assert len(list(documents.find({"_id": {"$in": [f"bina:{number}" for number in range(300)]}}))) == 300


def test_a_document_is_found_by_its_id_without_reading_them_all(documents: Documents) -> None:
    for _ in range(2):
        documents.drop()
        documents.insert_one({"_id": "bina:1"})
        documents.insert_one({"_id": "bina:2"})  # SQLite explains with the indexes that its last statement knew
        plan = str(documents.find({"_id": "bina:1"}).explain())
        assert not re.search("COLLSCAN|detail=SCAN", plan)


@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_has_a_database_of_its_own(documents: Documents, turn: int) -> None:
    assert documents.find_one() is None
    documents.insert_one({"turn": turn})


def test_acknowledged_writes_survive_a_crash(mongo_process: mongodb.MongoProcess) -> None:
    mongo_process.start()
    with MongoClient[dict[str, Any]](mongo_process.url, journal=True) as client:
        documents = client["test"]["documents"]
        documents.insert_many([{"_id": number} for number in range(100)])
        mongo_process.kill()
        mongo_process.start()
        assert sorted(document["_id"] for document in documents.find()) == list(range(100))


def test_a_server_ends_while_clients_are_connected(mongo_process: mongodb.MongoProcess) -> None:
    mongo_process.start()
    process = mongo_process.process
    with MongoClient[dict[str, Any]](mongo_process.url) as client:
        client.admin.command("ping")
        mongo_process.stop()
    assert process
    assert process.returncode == 0


def test_a_server_that_does_not_start_says_why(mongo_process: mongodb.MongoProcess) -> None:
    mongo_process.command.append("--no-such-option")
    with pytest.raises(RuntimeError, match="no-such-option"):
        mongo_process.start()


def test_the_database_of_a_url_is_replaced_and_nothing_else() -> None:
    assert mongodb.with_database("mongodb://a:1,b:2/", "x") == "mongodb://a:1,b:2/x"
    assert mongodb.with_database("mongodb://a/old?w=1", "x") == "mongodb://a/x?w=1"
    assert mongodb.with_database("mongodb://me:pw@a", "x") == "mongodb://me:pw@a/x?authSource=admin"
    assert mongodb.with_database("mongodb://me:pw@a/users", "x") == "mongodb://me:pw@a/x?authSource=users"
    assert mongodb.with_database("mongodb://me:pw@a/y?authSource=z", "x") == "mongodb://me:pw@a/x?authSource=z"


class Machine:
    """A machine with an empty cache and a PATH that has only the programs of the test."""

    def __init__(self, folder: Path) -> None:
        self.programs = folder / "bin"
        self.programs.mkdir()
        kept = {name: os.environ[name] for name in ("HOME", "PYTHONPATH") if name in os.environ}
        self.env = {**kept, "PATH": str(self.programs), "XDG_CACHE_HOME": str(folder / "cache")}

    def has(self, program: str, *lines: str) -> None:
        """Add a program, written in Python."""
        path = self.programs / program
        path.write_text("\n".join([f"#!{sys.executable}", *lines, ""]))
        path.chmod(0o755)

    def run(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", *arguments]
        return subprocess.Popen(command, env={**self.env, **variables}, cwd=ROOT, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


ONE_TEST = (
    "pytest",
    "-p",
    "no:cacheprovider",
    "-n",
    "0",
    "tests/test_mongo_server.py",
    "-k",
    "stored_documents_are_read_back",
)


def test_without_a_server_tests_are_skipped_and_the_summary_says_so(machine: Machine) -> None:
    process = machine.run(*ONE_TEST)
    said, _ = process.communicate()
    assert process.returncode == 0
    assert "TESTS OF MONGODB THAT DID NOT RUN: 1." in said


def test_without_a_server_tests_fail_if_it_is_demanded(machine: Machine) -> None:
    machine.has("go", "import sys", "sys.exit('go: no network')")
    process = machine.run(*ONE_TEST, REALESTATE_DEMAND_MONGODB="1")
    said, _ = process.communicate()
    assert process.returncode == 1
    assert "cannot build the small server: go: no network" in said


def test_processes_that_need_the_server_at_once_build_it_once(machine: Machine, tmp_path: Path) -> None:
    machine.has(
        "go",
        "import sys, time",
        "from pathlib import Path",
        f"with Path({str(tmp_path / 'builds')!r}).open('a') as builds: builds.write('x')",
        "time.sleep(0.5)",
        "Path(sys.argv[sys.argv.index('-o') + 1]).touch()",
    )
    builders = [machine.run("tests.mongodb") for _ in range(4)]
    said = {builder.communicate()[0] for builder in builders}
    assert len(said) == 1
    assert "mongo-server-" in said.pop()
    assert (tmp_path / "builds").read_text() == "x"


def test_mongod_is_preferred_to_the_small_server(machine: Machine) -> None:
    machine.has("mongod")
    said, _ = machine.run("tests.mongodb").communicate()
    assert said == f"MongoDB for the tests: {machine.programs / 'mongod'}\n"


def test_the_server_of_the_environment_is_preferred(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MONGODB_URI", "mongodb://example/")
    with mongodb.server(tmp_path) as url:
        assert url == "mongodb://example/"
