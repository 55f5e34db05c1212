"""With CONTACTS on, contacts are in the store encrypted, and nowhere else: not in events, quarantine, the index of raw
pages, dead letters or logs."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import psycopg2
from cryptography.fernet import Fernet
from redis import Redis

from realestate import exports
from realestate.jobs.fleet import look
from realestate.jobs.submit import submit
from realestate.jobs.work import seed_urls
from realestate.storage import WHOLE
from realestate.storage.export import TABLES
from realestate.storage.postgres import PostgresStore
from realestate.storage.vault import Vault
from tests.end_to_end.conftest import PYTHON, Simulate, finished, running

PORTALS = ("bina", "emlak", "immoweb", "lalafo", "otodom")
#: A worker whose rules refuse every house. Sellers on emlak write their contacts into title, description and other
#: fields; and the parser fails for some pages, with their text in the error.
WORKER = """
import sys
from realestate import settings
from realestate.jobs import work
from realestate.pipelines import rules
from realestate.spiders.emlak import EmlakSpider

rules.AREAS["house"] = rules.Bounds(1e9, 1e9, 1e9, 1e9)
parse_listing = EmlakSpider.parse_listing

def talkative(self, response, *args, **kwargs):
    phone = response.css("p.phone::text").get()
    if "3" in response.url.split("/")[-1].split("-")[0][-1:]:
        raise ValueError(f"could not convert string to float: {phone!r}, somebody@example.com")
    for listing in parse_listing(self, response, *args, **kwargs):
        listing.title = f"{listing.title} {phone}"
        listing.description = f"{listing.description} Zəng edin: {phone}, somebody@example.com"
        listing.condition = f"call {phone}"
        listing.extra = {**listing.extra, "note": f"write to somebody@example.com or {phone}"}
        yield listing

EmlakSpider.parse_listing = talkative
work.work(sys.argv[1:], settings.REDIS_URL, settings.STORE_URL)
"""
#: The simulated sellers' telephone numbers, in the forms of the portals and without their punctuation, and addresses.
CONTACT = re.compile(
    rb"\(0(?:50|55|70)\) ?000-\d\d-00|(?:994|\b0)(?:50|55|70)000\d\d00|\+?48000000000|\+32 2 000 00 00"
    rb"|[\w.+-]+@example\.com"
)


def everything_in_redis(server: "Redis") -> list[bytes]:
    return [server.dump(key) or b"" for key in server.keys("*")] + [_values(server, key) for key in server.keys("*")]


def _values(server: "Redis", key: Any) -> bytes:
    """All values of the key, as text."""
    readers: dict[bytes, Any] = {
        b"string": server.get,
        b"hash": server.hgetall,
        b"list": lambda name: server.lrange(name, 0, -1),
        b"set": server.smembers,
        b"zset": lambda name: server.zrange(name, 0, -1),
    }
    kind: Any = server.type(key)
    reader = readers.get(kind)
    return repr(reader(key)).encode() if reader else b""


def tables(url: str) -> dict[str, bytes]:
    """Every row of every table as text, without the column of encrypted contacts."""
    found = {}
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        for (table,) in cursor.fetchall():
            cursor.execute(f"SELECT coalesce(json_agg(to_jsonb(row) - 'sealed')::text, '') FROM {table} AS row")
            ((text,),) = cursor.fetchall()
            found[table] = text.encode()
    connection.close()
    return found


def test_contacts_are_nowhere_in_clear(
    simulate: Simulate, server: "Redis", store: PostgresStore, store_url: str, env: dict[str, str], tmp_path: Path
) -> None:
    simulated, key, log = simulate(60), Fernet.generate_key().decode(), tmp_path / "worker.log"
    on = {"CONTACTS": "on", "CONTACTS_KEYS": key, "LOG_LEVEL": "DEBUG", "SIMULATOR_URL": simulated.url}
    kept = {"SNAPSHOTS_URL": str(tmp_path / "pages"), "SNAPSHOTS_SAMPLE": "1", "RETRY_TIMES": "0"}
    with running([PYTHON, "-c", WORKER, *PORTALS], {**env, **on, **kept}, log) as worker:
        for portal in PORTALS:
            submit(server, portal, seed_urls(portal, simulated.url), mode="full", scope=WHOLE)
        finished(server, *PORTALS, patience=300)
        assert worker.stop() == 0

    sealed = [record for part, record in store.everything() if part == "contacts"]
    opened = [Vault([key]).open(record.sealed) for record in sealed]
    assert {record.portal for record in sealed} == {"bina", "emlak"}, "there was something to leak"
    assert any(contacts.phones for contacts in opened)
    assert any(contacts.emails for contacts in opened)
    assert look(server, "emlak").dead > 0, "there are dead letters"
    stored = tables(store_url)
    assert all(stored[table] for table in ("events", "quarantine", "snapshots", "listings", "contacts"))

    for table, text in stored.items():
        assert not CONTACT.search(text), (table, CONTACT.findall(text)[:5])
    for part, record in store.everything():
        if part != "contacts":
            assert not CONTACT.search(msgspec.json.encode(record)), part
    for table in TABLES:
        exports.export(store, table, "jsonl", str(tmp_path / table), datetime.now(UTC))
        assert not CONTACT.search((tmp_path / table).read_bytes()), table
    assert (tmp_path / "listings").stat().st_size
    for text in everything_in_redis(server):
        assert not CONTACT.search(text), CONTACT.findall(text)[:5]
    logged = log.read_bytes()
    assert b"ValueError" in logged, "the log shows the failure"
    lines = [line for line in logged.splitlines() if CONTACT.search(line)]
    assert not lines, lines[:5]
