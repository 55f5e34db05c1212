"""By what a site is asked whether a listing's page is still as we read it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pymongo import ReplaceOne
from pymongo.database import Database

from realestate.storage.changes import OFF_THE_MARKET
from realestate.storage.contacts import Source
from realestate.storage.mongo.connection import Connection, Document, bulk, server_time
from realestate.storage.mongo.documents import id_of
from realestate.storage.mongo.erased import erased_among
from realestate.storage.mongo.paging import pieces
from realestate.storage.validators import TRUSTED, PageRead, Validators

COLLECTION = "validators"
_KNOWN = dict.fromkeys(("content_hash", "rent_period"), 1)


class ValidatorsKept:
    """The part of the store that knows how to ask for a page again."""

    connection: Connection

    def keep_validators(self, read: Sequence[PageRead]) -> None:
        """What was erased stays away: looked for after they are written (see `erased`)."""
        newest = {(each.portal, each.ref): each for each in read}
        with self.connection.database() as database:
            told = {"kept_at": server_time(database)}
            bulk(
                database[COLLECTION],
                [
                    ReplaceOne({"_id": id_of(*key)}, {**asdict(each), **told}, upsert=True)
                    for key, each in newest.items()
                ],
            )
            forget_pages(database, [id_of(*key) for key in erased_among(database, newest)])

    def validators(
        self, portal: str, refs: Sequence[str], parser_version: int, contacts: Source | None = None
    ) -> Mapping[str, Validators]:
        found: dict[str, Validators] = {}
        with self.connection.database() as database:
            since = server_time(database) - TRUSTED
            for some in pieces(refs):
                wanted = _had(database, portal, some, contacts) if contacts else some
                ids = {"_id": {"$in": [id_of(portal, ref) for ref in wanted]}}
                pages = database[COLLECTION].find({**ids, "parser_version": parser_version, "kept_at": {"$gt": since}})
                found |= dict(_holding(database, {each["_id"]: each for each in pages}))
        return found


def forget_pages(database: Database[Document], ids: Sequence[str]) -> int:
    return database[COLLECTION].delete_many({"_id": {"$in": ids}}).deleted_count if ids else 0


def _had(database: Database[Document], portal: str, refs: Sequence[str], source: Source) -> list[str]:
    """Those whose contacts are kept. Of before there was another source than the page, none is told."""
    told: Any = {"$in": ["page", None]} if source == "page" else source
    wanted = {"portal": portal, "ref": {"$in": list(refs)}, "source": told}
    return [each["ref"] for each in database["contacts"].find(wanted, {"ref": 1})]


def _holding(database: Database[Document], pages: Mapping[str, Document]) -> Iterator[tuple[str, Validators]]:
    """Those whose listing is on the market, without a doubt, and as it was read."""
    if not pages:
        return
    offered = {"status": {"$nin": list(OFF_THE_MARKET)}, "suspect": None}
    for known in database["listings"].find({"_id": {"$in": list(pages)}, **offered}, _KNOWN):
        page = pages[known["_id"]]
        if known.get("content_hash") == page["content_hash"]:
            told = (page["url"], page["etag"], page["last_modified"], known.get("rent_period"))
            yield page["ref"], Validators(*told)
