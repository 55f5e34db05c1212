"""A site serves broken and failing responses: the worker continues, and every outcome is counted."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
from redis import Redis

from tests.end_to_end.conftest import PYTHON, dead_letters, finished, running
from tests.end_to_end.hostile import PAGES, hostile_site

Ask = Callable[..., list[tuple[Any, ...]]]


def test_every_page_of_a_hostile_site_has_an_outcome(
    env: dict[str, str], server: Redis, sql: Ask, tmp_path: Path
) -> None:
    with hostile_site() as site:
        env["SIMULATOR_URL"] = site
        with running([PYTHON, "-m", "realestate", "work", "immoweb"], env, tmp_path / "worker.log") as worker:
            server.rpush("immoweb:start_urls", *(f"{site}/en/classified/{name}" for name in PAGES))
            server.hset("{immoweb}:requests", "garbled", msgpack.packb([0, 0, "j", "x"])[1:] + b"not a request")
            server.zadd("{immoweb}:ready", {"garbled": 0, "without a body": 0})
            finished(server, "immoweb")
            assert worker.stop() == 0
    stored = {ref for (ref,) in sql("SELECT ref FROM listings")}
    assert stored == {"21000001", "21000002", "21000017"}
    assert sql("SELECT price_basis FROM listings WHERE ref = '21000002'") == [("on_request",)]
    quarantine: dict[str, str] = dict(sql("SELECT ref, errors->>0 FROM quarantine"))
    assert set(quarantine) == {"21000003", "21000004", "21000005"}
    assert quarantine["21000003"].startswith("operation_missing:")
    assert quarantine["21000004"].startswith("bedrooms:")
    outcomes = {name: int(count) for name, count in re.findall(r"'page/extract/(\w+)': (\d+)", worker.text())}
    refetched = outcomes.pop("refetched")
    assert 6 <= refetched <= 2 * 6, "a broken page is fetched twice more, unless all pages are broken"
    assert outcomes == {"ok": 6, "broken": 6, "gone": 3, "failed": 2, "forbidden": 1}
    assert sum(outcomes.values()) == len(PAGES), "each page has one outcome"
    reasons = Counter(letter["reason"] for letter in dead_letters(env["REDIS_URL"], "immoweb"))
    assert reasons == {"parse": 6, "ban": 1, "download": 1, "address": 1, "malformed": 1}
