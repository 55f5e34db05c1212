"""Whatever is wrong with a job or a timetable: one clear line, exit code 2, and nothing is started."""

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from redis import Redis

from realestate import settings
from realestate.cli import app, errors
from realestate.jobs.manage import JobDesk
from realestate.jobs.order import JobOrder
from realestate.queue import keys
from realestate.storage import FullStore

Run = Callable[..., tuple[int, str, str]]

ENTRY = '[[entry]]\nname = "night"\ncron = "0 3 * * *"\nzone = "Asia/Baku"\nsubmit = { portal = "bina" }\n'


@pytest.fixture
def run(
    redis_url: str,
    store_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Run]:
    """Runs a command in this process. Returns its exit code, and what it wrote to stdout and stderr."""
    for name, value in {"REDIS_URL": redis_url, "STORE_URL": store_url, "REALESTATE_HOME": tmp_path / "home"}.items():
        monkeypatch.setattr(settings, name, value)
    handler = signal.getsignal(signal.SIGTERM)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["realestate", *arguments])
        capsys.readouterr()
        code = errors.run(app)
        out, err = capsys.readouterr()
        return code, out, err

    yield call
    signal.signal(signal.SIGTERM, handler)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["submit", "nowhere"], ["nowhere", "emlak", "bina"]),
        (["submit", "bina", "--operation", "lease"], ["operation 'lease'", "sale, rent"]),
        (["submit", "bina", "--type", "castle"], ["type 'castle'", "apartment, house"]),
        (["submit", "bina", "--mode", "fast"], ["mode 'fast'", "full", "refresh"]),
        (["submit", "bina", "--deadline", "soon"], ["deadline 'soon'", "such as 2h"]),
        (["submit", "bina", "--priority", "9999"], ["priority", "9999", "1000"]),
        (["submit", "bina", "--limit", "0"], ["--limit"]),
        (["submit", "bina", "--key", "a key"], ["key 'a key'", "letters, digits"]),
        (["submit", "immoweb", "--pages", "9-2"], ["pages 9-2"]),
        (["submit", "immoweb", "--pages", "1-5", "--page-size", "7"], ["page_size 7", "results a page"]),
        (["submit", "bina", "https://elsewhere.example/1"], ["elsewhere.example"]),
        (["submit", "bina", "nonsense"], ["nonsense"]),
        (["submit", "bina", "--then", "party"], ["--then 'party'"]),
        (["submit", "bina", "--then", '{"portal": "bina", "mode": "fast"}'], ["mode 'fast'"]),
        (["submit", "https://bina.az/1"], ["the name of the portal comes first", "bina"]),
        (["jobs", "show", "5f0c1d2e3a4b"], ["there is no job", "5f0c1d2e3a4b"]),
        (["jobs", "cancel", "5f0c1d2e3a4b"], ["there is no job"]),
        (["jobs", "pause", "5f0c1d2e3a4b"], ["there is no job"]),
        (["jobs", "retry", "5f0c1d2e3a4b"], ["there is no job"]),
        (["alerts", "silence", "nothing"], ["there is no alert 'nothing'", "queue_too_old"]),
        (["up", "--workers", "many"], ["--workers 'many'", "auto"]),
        (["autoscale", "nowhere"], ["nowhere"]),
        (["health", "--role", "cook"], ["--role 'cook'", "worker"]),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) and each[0] in {"submit", "jobs"} else "",
)
def test_a_wrong_argument_is_one_line(
    arguments: list[str], words: list[str], run: Run, store: FullStore, server: Redis
) -> None:
    code, out, err = run(*arguments)
    assert code == 2, out + err
    assert err.count("\n") == 1, err
    assert err.startswith("realestate: "), err
    assert [word for word in words if word not in err] == [], err
    assert out == ""
    assert store.orders() == []
    assert list(server.scan_iter("*start_urls*")) == []


def test_a_key_with_other_content_is_refused_and_the_same_is_the_same_job(
    run: Run, store: FullStore, server: Redis
) -> None:
    code, _, err = run("submit", "bina", "--key", "nightly", "--json")
    assert code == 0, err
    queued = server.llen(keys.start_urls("bina"))
    code, _, err = run("submit", "bina", "--key", "nightly", "--mode", "sweep")
    assert (code, err.count("\n")) == (2, 1)
    assert "other content" in err
    code, out, _ = run("submit", "bina", "--key", "nightly")
    assert code == 0
    assert "submitted before with the same key" in out
    assert (len(store.orders()), server.llen(keys.start_urls("bina"))) == (1, queued)


def test_a_job_that_has_ended_cannot_be_changed(run: Run, store: FullStore, server: Redis) -> None:
    job = JobDesk(store, server).submit(JobOrder(portal="bina")).job
    store.order_ended(job, "finished", None, {})
    for command in ("cancel", "pause", "resume"):
        code, _, err = run("jobs", command, job)
        assert (code, err) == (2, f"realestate: job {job} has ended already: finished\n")
    assert not server.exists(keys.cancelled_jobs("bina"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("0 3 * * *", "61 3 * * *"), ["entry 'night'", "61 3 * * *"]),
        (("Asia/Baku", "Mars/Base"), ["entry 'night'", "Mars/Base", "such as Asia/Baku"]),
        (('portal = "bina"', 'portal = "nowhere"'), ["entry 'night'", "nowhere"]),
        (('portal = "bina"', 'portal = "bina", mode = "fast"'), ["entry 'night'", "mode 'fast'"]),
        (("[[entry]]", "[[entry"), ["timetable.toml"]),
    ],
    ids=["cron", "zone", "portal", "mode", "syntax"],
)
@pytest.mark.parametrize("command", ["run", "list", "next"])
def test_a_wrong_timetable_is_one_line(
    command: str, change: tuple[str, str], words: list[str], run: Run, store: FullStore, tmp_path: Path
) -> None:
    path = tmp_path / "timetable.toml"
    path.write_text(ENTRY.replace(*change))
    code, out, err = run("timetable", command, "--file", str(path))
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert [word for word in words if word not in err] == [], err
    assert store.occurrences() == []


def test_a_timetable_that_does_not_exist_is_named(run: Run, tmp_path: Path) -> None:
    code, _, err = run("timetable", "run", "--file", str(tmp_path / "none.toml"))
    assert (code, err.count("\n")) == (2, 1)
    assert "there is no file" in err
