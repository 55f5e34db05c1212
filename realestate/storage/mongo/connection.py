"""A connection to MongoDB, what its errors mean, and reading and writing in pieces."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import urlsplit

from bson.codec_options import CodecOptions, TypeDecoder, TypeRegistry
from bson.int64 import Int64
from dns.exception import DNSException
from pymongo import InsertOne, MongoClient, ReadPreference, ReplaceOne, UpdateOne
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.errors import (
    BulkWriteError,
    ConfigurationError,
    ConnectionFailure,
    InvalidName,
    OperationFailure,
    PyMongoError,
    WriteConcernError,
)

from realestate.storage.errors import StoreAway, StoreError
from realestate.storage.mongo.schema import finish_restore, migrate

Document = dict[str, Any]
Documents = Collection[Document]

#: Used if the URL names no database.
DATABASE = "realestate"
#: Used if the URL does not set them. A write counts when a majority of servers has it in the journal, because a worker
#: then acknowledges its pages. The socket timeout is longer than any statement takes.
_DEFAULTS: dict[str, Any] = {
    "w": "majority",
    "journal": True,
    "connectTimeoutMS": 10_000,
    "serverSelectionTimeoutMS": 10_000,
    "socketTimeoutMS": 120_000,
    "appName": "realestate",
}


class _PlainNumbers(TypeDecoder):
    """Reads integers of more than 31 bits as int. The driver's class for them is unknown to JSON encoders."""

    bson_type = Int64

    def transform_bson(self, value: Any) -> int:
        return int(value)


_READ: CodecOptions[Document] = CodecOptions(tz_aware=True, tzinfo=UTC, type_registry=TypeRegistry([_PlainNumbers()]))
_EXISTS_ALREADY = 11000
#: Codes of errors of the server, not of a document: it cannot reach other servers, is not the primary, shuts down, ran
#: into a timeout, did not get a lock, or its disk is full.
_LATER = frozenset({6, 7, 24, 43, 50, 64, 89, 91, 112, 134, 189, 262, 9001})
_LATER |= {10107, 11600, 11602, 13435, 13436, 14031}


class Refused(ValueError):
    """MongoDB refuses a document. The message says why."""


#: The errors that a bad listing can cause: in the rules, in the conversion to a document, or in MongoDB.
REFUSED = (Refused, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)


class Connection:
    """A connection that is opened at the first use. No transactions are used: a server without replicas has none."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client: MongoClient[Document] | None = None
        self._is_migrated = False

    @contextmanager
    def database(self, *, migrated: bool = True) -> Iterator[Database[Document]]:
        try:
            database = self._opened().get_default_database(DATABASE, _READ, ReadPreference.PRIMARY)
            if migrated and not self._is_migrated:
                finish_restore(database)
                migrate(database)
                self._is_migrated = True
            yield database
        except PyMongoError as error:
            raise _explained(error) from error

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
            self._is_migrated = False

    def _opened(self) -> MongoClient[Document]:
        if self._client is None:
            self._client = _client(self.url)
        return self._client


@dataclass(frozen=True, slots=True)
class Bulk:
    """The results of the statements of a batch, by their place in it."""

    existing: frozenset[int]
    """Statements that would have inserted a document that exists already."""
    refused: Mapping[int, str]
    upserted: frozenset[int]
    matched: int
    """The number of statements that found their document."""


def bulk(collection: Documents, statements: Sequence[InsertOne[Any] | UpdateOne | ReplaceOne[Any]]) -> Bulk:
    """Execute the statements independently: if one fails, the others are still executed."""
    if not statements:
        return Bulk(frozenset(), {}, frozenset(), 0)
    result: Mapping[str, Any]
    try:
        result = collection.bulk_write(statements, ordered=False).bulk_api_result
    except BulkWriteError as error:
        result = error.details
        if failed := result.get("writeConcernErrors"):
            raise StoreAway(f"MongoDB: {_line(failed[0].get('errmsg', 'not written by a majority'))}") from error
    errors = result["writeErrors"]
    if later := [each for each in errors if each["code"] in _LATER]:
        raise StoreAway(f"MongoDB: {_line(later[0]['errmsg'])}")
    return Bulk(
        frozenset(each["index"] for each in errors if each["code"] == _EXISTS_ALREADY),
        {each["index"]: _line(each["errmsg"]) for each in errors if each["code"] != _EXISTS_ALREADY},
        frozenset(each["index"] for each in result["upserted"]),
        result["nMatched"],
    )


def _client(url: str) -> MongoClient[Document]:
    """Return a client. The driver's errors about a malformed URL may contain its password, so they are not shown."""
    try:
        given = {option.partition("=")[0].lower() for option in re.split("[&;]", urlsplit(url).query)}
        ours = {name: value for name, value in _DEFAULTS.items() if name.lower() not in given}
        client: MongoClient[Document] = MongoClient(url, connect=False, **ours)
    except (PyMongoError, ValueError, TypeError):
        raise StoreError("STORE_URL cannot be read: is a special character in it not %-encoded?") from None
    if not client.write_concern.acknowledged:
        client.close()
        raise StoreError("STORE_URL has w=0: writes would not be confirmed; remove it")
    return client


def _explained(error: PyMongoError) -> StoreError:
    line = _line(str((getattr(error, "details", None) or {}).get("errmsg") or error))
    if isinstance(error, ConfigurationError | InvalidName) and not isinstance(error.__cause__, DNSException):
        return StoreError(f"MongoDB: {line}")
    is_later = isinstance(error, OperationFailure) and (
        error.code in _LATER or isinstance(error, WriteConcernError) or error.has_error_label("RetryableWriteError")
    )
    if is_later or error.timeout or isinstance(error, ConnectionFailure | ConfigurationError):
        return StoreAway(f"MongoDB: {line}")
    return StoreError(f"MongoDB: {line}")


def _line(message: str) -> str:
    """Return the message without the settings and the list of servers that the driver adds."""
    return re.split(r" \(configured timeouts|, Timeout: |, full error", message)[0].partition("\n")[0]


def server_time(database: Database[Document]) -> datetime:
    """Return the time of the server, so that workers' clocks do not matter."""
    now: datetime = database.command("hello", codec_options=_READ)["localTime"]
    return now


T = TypeVar("T")

#: Items in one piece.
TOGETHER = 500


def pieces(items: Iterable[T], size: int = TOGETHER) -> Iterator[list[T]]:
    waiting = iter(items)
    while some := list(islice(waiting, size)):
        yield some


def pages(collection: Documents, shown: Mapping[str, int] | None = None) -> Iterator[list[Document]]:
    """Yield all documents in the order of `_id`, page by page. Each page is one query, so that a slow reader holds no
    cursor open."""
    wanted: Document = {}
    while page := list(collection.find(wanted, shown).sort("_id", 1).limit(TOGETHER)):
        yield page
        wanted = {"_id": {"$gt": page[-1]["_id"]}}
