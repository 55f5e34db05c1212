"""With CONTACTS on, telephones are requested from a portal. They are stored sealed and are nowhere else."""

import re
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet
from redis import Redis

from realestate.jobs.submit import submit
from realestate.jobs.work import seed_urls
from realestate.storage import WHOLE
from realestate.storage.postgres import PostgresStore
from realestate.storage.snapshots import pages
from realestate.storage.vault import Vault
from tests.end_to_end.conftest import PYTHON, Simulate, Simulated, compared, finished, running

#: The form of the simulated sellers' numbers.
NUMBER = re.compile(rb"\(0(?:50|55|70)\) 000-\d\d-00|994(?:50|55|70)000\d\d00")


def crawl(simulated: Simulated, server: "Redis", env: dict[str, str], log: Path, **changes: str) -> None:
    command = [PYTHON, "-m", "realestate", "work", "bina"]
    with running(command, {**env, "SIMULATOR_URL": simulated.url, **changes}, log):
        submit(server, "bina", seed_urls("bina", simulated.url), mode="full", scope=WHOLE)
        finished(server, "bina", patience=300)


def test_telephones_are_stored_sealed_and_shown_nowhere(
    simulate: Simulate, server: "Redis", store: PostgresStore, env: dict[str, str], tmp_path: Path
) -> None:
    simulated, key, log = simulate(60), Fernet.generate_key().decode(), tmp_path / "worker.log"
    on = {"CONTACTS": "on", "CONTACTS_KEYS": key, "LOG_LEVEL": "DEBUG"}
    kept = {"SNAPSHOTS_URL": str(tmp_path / "pages"), "SNAPSHOTS_SAMPLE": "1"}
    crawl(simulated, server, env, log, **on, **kept)
    comparison = compared(store, simulated, "bina")
    assert (comparison.missing, comparison.wrong, comparison.unexpected) == ((), (), ())
    asked = [record for part, record in store.everything() if part == "contacts" and record.source == "asked"]
    raw: list[Any] = [page for _, page in pages(str(tmp_path / "pages"))]
    old = [page for page in raw if b"csrf-token" in page.body]
    assert len(asked) == len(old) > 0, "one request for each page that has a token"
    for record in asked:
        contacts = Vault([key]).open(record.sealed)
        assert contacts.phones
        assert all(NUMBER.fullmatch(phone.removeprefix("+").encode()) for phone in contacts.phones)
    assert not any("/phones" in page.url or NUMBER.search(page.body) for page in raw)
    assert not NUMBER.search(log.read_bytes())
    assert b"/phones" in log.read_bytes(), "the log shows that they were requested"


def test_with_contacts_off_no_telephone_is_requested(
    simulate: Simulate, server: "Redis", store: PostgresStore, env: dict[str, str], tmp_path: Path
) -> None:
    simulated = simulate(60)
    crawl(simulated, server, env, tmp_path / "worker.log")
    assert simulated.requests("bina") <= 60 + 4 + 2, "listings, search pages, robots.txt"
    assert not [record for part, record in store.everything() if part == "contacts"]
