"""Persons, sealed, beside their listings."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta

from pymongo import UpdateOne
from pymongo.database import Database

from realestate.storage.contacts import Sealed
from realestate.storage.mongo.connection import Connection, Document, bulk, server_time
from realestate.storage.mongo.documents import id_of, moment
from realestate.storage.mongo.erased import erased_among, remembered
from realestate.storage.records import SealedContacts


class ContactsKept:
    """The part of the store that keeps persons apart."""

    connection: Connection

    def keep_contacts(self, contacts: Sequence[Sealed], days: int) -> None:
        """Who was erased stays away, and so does whose listing was: looked for before, lest what is there be
        overwritten, and after, for it may have been remembered meanwhile (see `erased`)."""
        newest = {_name(each): each for each in contacts}
        with self.connection.database() as database:
            expires_at = server_time(database) + timedelta(days=days)
            unwanted = _unwanted(database, newest)
            wanted = {name: each for name, each in newest.items() if name not in unwanted}
            bulk(database["contacts"], [_upsert(name, each, expires_at) for name, each in wanted.items()])
            for name in _unwanted(database, wanted):
                database["contacts"].delete_one({"_id": name, "lookups": list(wanted[name].marks)})


def contacts_document(contacts: SealedContacts) -> Document:
    told = {**asdict(contacts), "expires_at": moment(contacts.expires_at)}
    return {"_id": _name(contacts), **told}


def contacts_of(document: Document) -> SealedContacts:
    told = {name: document[name] for name in ("portal", "ref", "lookups", "expires_at")}
    return SealedContacts(**told, sealed=bytes(document["sealed"]), source=document.get("source", "page"))


def _name(contacts: Sealed | SealedContacts) -> str:
    """A page's have the listing's name, as before there was another source. No portal's name has a slash."""
    portal = contacts.portal if contacts.source == "page" else f"{contacts.portal}/{contacts.source}"
    return id_of(portal, contacts.ref)


def _unwanted(database: Database[Document], contacts: Mapping[str, Sealed]) -> set[str]:
    keys = erased_among(database, {(each.portal, each.ref) for each in contacts.values()})
    marks = remembered(database, "contact", {mark for each in contacts.values() for mark in each.marks})
    return {
        name for name, each in contacts.items() if (each.portal, each.ref) in keys or not marks.isdisjoint(each.marks)
    }


def _upsert(name: str, each: Sealed, expires_at: datetime) -> UpdateOne:
    told = {"portal": each.portal, "ref": each.ref, "source": each.source, "lookups": list(each.marks)}
    return UpdateOne({"_id": name}, {"$set": {**told, "sealed": each.sealed, "expires_at": expires_at}}, upsert=True)
