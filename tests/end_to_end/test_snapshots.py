"""A worker stores failed pages, and the parser can read them again without a request."""

import json
import subprocess
from pathlib import Path

from redis import Redis

from realestate.storage.snapshots import pages
from tests.end_to_end.conftest import PATIENCE, PYTHON, ROOT, finished, running, until
from tests.end_to_end.hostile import PAGES, hostile_site

#: Prints the result of a reparse with an empty store.
REPARSE = """
import json, sys
from realestate.jobs.reparse import reparse
from realestate.storage.snapshots import pages

class Nothing:
    def current(self, portal, refs): return {}
    def correct(self, listings, run): raise AssertionError("nothing is stored")
    def release(self, listings, run): return {"released": len(listings)}
    def medians(self): return []

report = reparse("immoweb", pages(sys.argv[1], "immoweb"), Nothing())
print(json.dumps({"pages": dict(report.pages), "listings": dict(report.listings)}))
"""


def test_failed_pages_are_stored_and_can_be_parsed_again(env: dict[str, str], server: Redis, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    with hostile_site() as site:
        env |= {"SIMULATOR_URL": site, "SNAPSHOTS_URL": str(kept), "SNAPSHOTS_SAMPLE": "0"}
        with running([PYTHON, "-m", "realestate", "work", "immoweb"], env, tmp_path / "worker.log") as worker:
            server.rpush("immoweb:start_urls", *(f"{site}/en/classified/{name}" for name in PAGES))
            finished(server, "immoweb")
            found = list(pages(str(kept)))
            assert worker.stop() == 0
        again = [PYTHON, "-c", REPARSE, str(kept)]
        done = subprocess.run(again, env=env, capture_output=True, text=True, timeout=PATIENCE, cwd=ROOT, check=True)
    assert {row.kind for row, _ in found} == {"failed"}
    names = sorted(row.url.rpartition("/")[2] for row, _ in found)
    unreadable = ["21000006", "21000007", "21000008", "21000009", "21000010", "21000018"]
    quarantined = ["21000003", "21000004", "21000005"]
    assert names == sorted(unreadable + quarantined), (
        "the pages are on disk when the queue is empty, before the worker ends"
    )
    for row, page in found:
        assert page.body == PAGES[row.url.rpartition("/")[2]][1]
    assert json.loads(done.stdout) == {"pages": {"ok": 3, "broken": 6}, "listings": {"invalid": 3}}


def test_by_default_only_failed_pages_are_stored_locally(env: dict[str, str], server: Redis, tmp_path: Path) -> None:
    with hostile_site() as site:
        env["SIMULATOR_URL"] = site
        with running([PYTHON, "-m", "realestate", "work", "immoweb"], env, tmp_path / "worker.log") as worker:
            server.rpush("immoweb:start_urls", f"{site}/en/classified/21000001", f"{site}/en/classified/21000006")
            finished(server, "immoweb")
            assert worker.stop() == 0
    assert [row.ref for row, _ in pages(str(tmp_path / "home" / "snapshots"))] == ["21000006"]


def test_all_pages_are_stored_if_configured(env: dict[str, str], server: Redis, tmp_path: Path) -> None:
    with hostile_site() as site:
        env |= {"SIMULATOR_URL": site, "SNAPSHOTS_URL": str(tmp_path / "kept"), "SNAPSHOTS_SAMPLE": "1"}
        with running([PYTHON, "-m", "realestate", "work", "immoweb"], env, tmp_path / "worker.log") as worker:
            server.rpush("immoweb:start_urls", f"{site}/en/classified/21000001", f"{site}/en/classified/21000006")
            finished(server, "immoweb")
            assert worker.stop() == 0
    found = {row.ref: row.kind for row, _ in pages(str(tmp_path / "kept"))}
    assert found == {"21000001": "all", "21000006": "failed"}


def test_kill_9_loses_no_failed_page(env: dict[str, str], server: Redis, tmp_path: Path) -> None:
    refs = {str(number) for number in range(22_000_000, 22_000_300)}
    kept, work = tmp_path / "home" / "snapshots", [PYTHON, "-m", "realestate", "work", "immoweb"]
    with hostile_site() as site:
        env["SIMULATOR_URL"] = site
        with running(work, env, tmp_path / "killed.log") as first:
            server.rpush("immoweb:start_urls", *(f"{site}/en/classified/{ref}" for ref in sorted(refs)))
            until(lambda: list(pages(str(kept))), "the first page that failed")
            first.process.kill()
        before = {row.ref for row, _ in pages(str(kept))}
        assert before < refs, "the worker was killed before the end"
        with running(work, env, tmp_path / "second.log") as second:
            finished(server, "immoweb")
            assert second.stop() == 0
    assert {row.ref for row, _ in pages(str(kept))} == refs


def test_the_pages_of_a_worker_are_in_the_bucket_when_it_ends(
    bucket: str, env: dict[str, str], server: Redis, tmp_path: Path
) -> None:
    with hostile_site() as site:
        env |= {"SIMULATOR_URL": site, "SNAPSHOTS_URL": f"s3://{bucket}/raw", "SNAPSHOTS_SAMPLE": "1"}
        with running([PYTHON, "-m", "realestate", "work", "immoweb"], env, tmp_path / "worker.log") as worker:
            server.rpush("immoweb:start_urls", f"{site}/en/classified/21000001", f"{site}/en/classified/21000006")
            finished(server, "immoweb")
            assert worker.stop() == 0
    found = {row.ref: row.kind for row, _ in pages(f"s3://{bucket}/raw")}
    assert found == {"21000001": "all", "21000006": "failed"}
    assert not list((tmp_path / "home").rglob("*.warc.gz"))
