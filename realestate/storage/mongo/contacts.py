"""Persons, sealed, beside their listings."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pymongo import UpdateOne

from realestate.storage.contacts import Sealed
from realestate.storage.mongo.connection import Connection, bulk, server_time


class ContactsKept:
    """The part of the store that keeps persons apart."""

    connection: Connection

    def keep_contacts(self, contacts: Sequence[Sealed], days: int) -> None:
        newest = {f"{each.portal}:{each.ref}": each for each in contacts}
        with self.connection.database() as database:
            expires_at = server_time(database) + timedelta(days=days)
            bulk(database["contacts"], [_upsert(name, each, expires_at) for name, each in newest.items()])


def _upsert(name: str, each: Sealed, expires_at: datetime) -> UpdateOne:
    told = {"portal": each.portal, "ref": each.ref, "sealed": each.sealed, "lookups": list(each.marks)}
    return UpdateOne({"_id": name}, {"$set": {**told, "expires_at": expires_at}}, upsert=True)
