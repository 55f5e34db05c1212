"""The command as one person on one laptop uses it."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from realestate import embedded
from realestate.demo.crawl import SHOWN
from realestate.demo.truth import compare
from realestate.jobs.work import all_portals
from realestate.storage import open_store
from realestate.storage.postgres.schema import newest
from tests.end_to_end.conftest import PATIENCE, PYTHON, ROOT, Simulate, Simulated, running, until

COMMAND = [PYTHON, "-m", "realestate"]


def run(env: dict[str, str], *arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE, cwd=folder, check=False)


def users_of(folder: Path) -> list[str]:
    """Processes that use the folder."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = " ".join(process.info["cmdline"] or ())
        if str(folder) in line and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(line)
    return found


def test_the_demo_stores_the_truth_and_says_so(laptop: dict[str, str], tmp_path: Path) -> None:
    outcome = tmp_path / "outcome.json"
    done = run(laptop, "demo", "--listings", "60", "--json", str(outcome))
    assert done.returncode == 0, done.stdout + done.stderr
    wanted = 60 * len(SHOWN)
    last = f"demo: {wanted} listings stored of {wanted} expected, 0 fields wrong, 0 duplicate rows"
    assert last in done.stdout.splitlines()
    result = json.loads(outcome.read_text())
    assert result["summary"] == last
    assert {name: portal["stored"] for name, portal in result["portals"].items()} == dict.fromkeys(SHOWN, 60)
    assert {row["operation"] for row in result["market"]} == {"sale", "rent"}
    assert all(row["median_price"] > 0 for row in result["market"])
    _check_next_commands(laptop, done.stdout, tmp_path)


def _check_next_commands(laptop: dict[str, str], output: str, folder: Path) -> None:
    """The commands that the demo prints at its end work on its data."""
    lines = [line.split() for line in output.splitlines() if line.startswith("  REALESTATE_HOME=")]
    after = [line[line.index("realestate") + 1 :] for line in lines]  # `python -m realestate`, as it was started
    commands = {words[0]: words[1:] for words in after}
    assert list(commands) == ["history", "events", "db", "export", "serve"]
    env = {**laptop, "REALESTATE_HOME": lines[0][0].partition("=")[2]}
    history = run(env, "history", *commands["history"])
    assert "listed" in history.stdout, history.stderr
    events = run(env, "events", *commands["events"])
    assert events.stdout.count("listed") == 5, events.stderr
    count = run(env, "db", "--", "--tuples-only", "--command", "SELECT count(*) FROM listings")
    assert count.stdout.split() == [str(60 * len(SHOWN))], count.stderr
    exported = run(env, "export", *commands["export"], folder=folder)
    assert exported.returncode == 0, exported.stderr
    lines_of_pandas = [line.removeprefix("  >>> ") for line in output.splitlines() if line.startswith("  >>> ")]
    assert len(lines_of_pandas) == 2
    script = "\n".join([*lines_of_pandas, "print(len(listings), listings.price.notna().any())"])
    opened = subprocess.run([PYTHON, "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    assert opened.stdout.split() == [str(60 * len(SHOWN)), "True"], opened.stderr


@pytest.mark.parametrize(
    ("seen", "codes"),
    [
        # An interrupt during the imports ends Python itself by SIGINT: a shell shows 130.
        pytest.param("worker-1.log", {130, -signal.SIGINT}, id="while it starts"),
        pytest.param("worker-2.log", {130}, id="at work"),
    ],
)
def test_the_demo_leaves_no_process_when_it_is_interrupted(
    laptop: dict[str, str], home: Path, tmp_path: Path, seen: str, codes: set[int]
) -> None:
    with running([*COMMAND, "demo", "--listings", "2000"], laptop, tmp_path / "log") as demo:
        until((home / "demo" / "logs" / seen).exists, seen)
        assert users_of(home)
        assert demo.stop() in codes
    until(lambda: not users_of(home), "the services to stop")
    assert [path.name for path in home.iterdir()] == ["demo"]


def test_ctrl_c_stops_a_crawl_cleanly_and_a_second_run_resumes(
    used_laptop: dict[str, str], home: Path, simulate: Simulate, tmp_path: Path
) -> None:
    simulated = simulate(120)
    env = {**used_laptop, "SIMULATOR_URL": simulated.url, "RATE_LIMIT": "15"}
    with running([*COMMAND, "crawl", "emlak"], env, tmp_path / "log") as first:
        until(lambda: simulated.requests("emlak") > 40, "40 pages")
        first.process.send_signal(signal.SIGINT)
        assert first.process.wait(PATIENCE) == 130
        assert "stopped; run the command again" in first.text()
    until(lambda: not users_of(home), "the services to stop")
    until(lambda: embedded.running(home) is None, "nothing to run")
    so_far = simulated.requests("emlak")
    assert so_far < 126, "it was interrupted half-way"

    second = run(env, "crawl", "emlak", "--json")
    assert second.returncode == 0, second.stderr
    result = json.loads(second.stdout)
    assert result["finished"]
    assert result["resumed"] > 0
    assert result["kept"] == 120
    # 120 listings, 6 search pages, robots.txt in each run; not one listing twice.
    assert simulated.requests("emlak") <= 120 + 6 + 2
    assert stored_is_true(home, simulated, "emlak")


def stored_is_true(home: Path, simulated: Simulated, portal: str) -> bool:
    with embedded.services(home) as services:
        store = open_store(services.store_url)
        comparison = compare(simulated.truth(portal), list(store.records(portal)))
        store.close()
    return comparison.right


def test_a_third_crawl_starts_from_the_beginning(busy_laptop: dict[str, str], home: Path, simulate: Simulate) -> None:
    simulated = simulate(40)
    env = {**busy_laptop, "SIMULATOR_URL": simulated.url}
    for new in (40, 0):
        result = json.loads(run(env, "crawl", "emlak", "--json").stdout)
        assert (result["new"], result["kept"], result["resumed"]) == (new, 40, 0)
        assert result["pages"] >= 42, "40 listings and 2 search pages are read each time"
    log = (home / "logs" / "worker-1.log").read_text("utf-8")
    assert 0 < log.count(" INFO: ") <= 2 * 20, "a healthy worker logs its start and its end at INFO, but no page"
    assert " WARNING: " not in log


def test_two_commands_at_once_share_the_services(
    used_laptop: dict[str, str], home: Path, simulate: Simulate, tmp_path: Path
) -> None:
    simulated = simulate(40)
    env = {**used_laptop, "SIMULATOR_URL": simulated.url}
    with running([*COMMAND, "work", "emlak"], env, tmp_path / "log") as worker:
        until(lambda: status(env).get("emlak", {}).get("workers"), "the worker's heartbeat")
        before = embedded.running(home)
        assert before is not None
        submitted = run(env, "submit", "emlak")
        assert submitted.returncode == 0, submitted.stderr
        until(lambda: status(env)["emlak"]["listings"] == 40, "all listings")
        crawled = run(env, "crawl", "immoweb", "--workers", "2", "--json")
        assert json.loads(crawled.stdout)["kept"] == 40
        after = embedded.running(home)
        assert after is not None
        assert after.keeper_pid == before.keeper_pid
        assert worker.stop() == 0
    until(lambda: not users_of(home), "the services to stop with their last user")


def status(env: dict[str, str]) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(run(env, "status", "--json").stdout)["portals"]
    return result


def test_status_without_data_says_how_to_begin(laptop: dict[str, str]) -> None:
    done = run(laptop, "status")
    assert done.returncode == 0
    assert "realestate crawl" in done.stdout


def test_the_doctor_finds_no_fault_on_a_laptop(laptop: dict[str, str]) -> None:
    done = run(laptop, "doctor")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("ok ") == 8
    assert "BAD" not in done.stdout


@pytest.mark.parametrize(
    ("variable", "value", "what"),
    [
        ("REDIS_URL", "redis://127.0.0.1:1/0", "Redis"),
        ("REDIS_URL", "nonsense", "Redis"),
        ("STORE_URL", "postgresql://127.0.0.1:1/x", "store"),
        ("STORE_URL", "mysql://127.0.0.1/x", "store"),
        ("SIMULATOR_URL", "http://127.0.0.1:1", "sites"),
        ("REALESTATE_HOME", "/proc/nowhere", "folder"),
    ],
)
def test_the_doctor_names_each_fault_with_its_remedy(
    laptop: dict[str, str], variable: str, value: str, what: str
) -> None:
    done = run({**laptop, variable: value}, "doctor", "--json")
    assert done.returncode == 1
    bad = [finding for finding in json.loads(done.stdout) if finding["remedy"]]
    assert [finding["what"] for finding in bad] == [what]


def test_a_wrong_argument_is_one_line_of_error_and_exit_code_2(laptop: dict[str, str]) -> None:
    """One case through the real process; `tests/cli/test_errors.py` has the others."""
    done = run(laptop, "crawl", "nowhere")
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line == f"realestate: no portal 'nowhere'; the portals are: {', '.join(all_portals())}"


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"REDIS_URL": "redis://127.0.0.1:1/0", "STORE_URL": "postgresql://127.0.0.1:1/x"}, "Redis"),
        ({"REALESTATE_HOME": "/proc/nowhere"}, "/proc/nowhere"),
        ({"RATE_LIMIT": "fast"}, "RATE_LIMIT"),
        ({"RATE_LIMIT": "-1"}, "RATE_LIMIT"),
        ({"LOG_LEVEL": "loud"}, "LOG_LEVEL"),
        ({"SIMULATOR_URL": "foo"}, "SIMULATOR_URL"),
        ({"STORE_URL": "postgresql://u:p%zz@h/db"}, "STORE_URL cannot be read"),
    ],
)
def test_a_wrong_environment_is_one_line_of_error_and_exit_code_1(
    laptop: dict[str, str], variables: dict[str, str], message: str
) -> None:
    done = run({**laptop, **variables}, "crawl", "emlak")
    assert done.returncode == 1
    assert "p%zz" not in done.stdout + done.stderr, "no password in a message"
    (line,) = done.stderr.splitlines()
    assert message in line


@pytest.mark.parametrize("store", ["wrong password", "user:geheim@host/db", "mysql://u:geheim@h/db"])
def test_a_worker_whose_store_cannot_be_used_ends_with_one_line_and_exit_code_1(
    laptop: dict[str, str], store_url: str, redis_url: str, store: str
) -> None:
    parts = urlsplit(store_url)
    url = parts._replace(netloc=f"{parts.username}:geheim@{parts.hostname}:{parts.port}").geturl()
    done = run({**laptop, "STORE_URL": url if store == "wrong password" else store, "REDIS_URL": redis_url}, "work")
    assert done.returncode == 1, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("realestate: ")
    assert "STORE_URL" in line
    assert "geheim" not in line


@pytest.mark.empty_database
def test_migrate_brings_the_tables_up_to_date(laptop: dict[str, str], store_url: str, redis_url: str) -> None:
    env = {**laptop, "STORE_URL": store_url, "REDIS_URL": redis_url}
    assert run(env, "migrate").stdout == f"schema {newest()}: migrated from 0\n"
    assert run(env, "migrate").stdout == f"schema {newest()}: up to date already\n"
    assert json.loads(run(env, "migrate", "--json").stdout) == {"before": newest(), "after": newest()}


def test_a_busy_port_is_one_line_of_error_and_exit_code_1(laptop: dict[str, str], simulate: Simulate) -> None:
    port = simulate(40).url.rsplit(":", 1)[1]
    done = run(laptop, "simulate", "--port", port)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert port in line
