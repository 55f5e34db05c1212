"""An analyst on a laptop: she asks for a place, sets a limit, meets a ban page, and opens the database."""

import json
import subprocess
from pathlib import Path

import psycopg2
import pytest

from realestate.crawling.scope import city_key
from realestate.embedded import running as running_services
from tests.end_to_end.conftest import PATIENCE, ROOT, Simulate, running, until
from tests.end_to_end.test_command import COMMAND, run


@pytest.mark.parametrize(
    ("portal", "limit"),
    [
        pytest.param("immoweb", 40, marks=pytest.mark.slow),
        pytest.param("emlak", 5, marks=pytest.mark.slow),
        ("bina", 20),
    ],
)
def test_a_limit_is_exact(busy_laptop: dict[str, str], simulate: Simulate, portal: str, limit: int) -> None:
    simulated = simulate(200)
    env = {**busy_laptop, "SIMULATOR_URL": simulated.url, "RATE_LIMIT": "0"}
    done = run(env, "crawl", portal, "--limit", str(limit), "--json")
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert outcome["finished"]
    # A listing that two searches show counts twice: so it may be a few less, never more.
    assert limit - 10 <= outcome["kept"] <= limit
    # A redirect to the right spelling of an address is a request too.
    assert outcome["kept"] <= simulated.by_kind(portal)["listing"] <= 1.2 * limit

    again = json.loads(run(env, "crawl", portal, "--json").stdout)
    assert again["kept"] == len(simulated.truth(portal)), "a limited job says nothing about what is gone"


def test_a_limit_counts_items_that_a_search_page_shows_whole(used_laptop: dict[str, str], simulate: Simulate) -> None:
    env = {**used_laptop, "SIMULATOR_URL": simulate(200).url, "RATE_LIMIT": "0"}
    done = run(env, "crawl", "finance", "--limit", "60", "--json")  # a page shows 50 quotes
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kept"] == 60


def test_she_asks_for_a_place_and_gets_just_that(busy_laptop: dict[str, str], simulate: Simulate, home: Path) -> None:
    simulated = simulate(200)
    env = {**busy_laptop, "SIMULATOR_URL": simulated.url, "RATE_LIMIT": "0"}
    truth = simulated.truth("immoweb")
    homes = [row for row in truth if row["operation"] == "rent" and row["property_type"] == "apartment"]
    city = max({row["city"] for row in homes}, key=lambda name: sum(row["city"] == name for row in homes))
    wanted = {row["ref"] for row in homes if city_key(row["city"]) == city_key(city)}
    assert 0 < len(wanted) < len(homes), "the city must be a part of the world"

    scope = ["--city", city.lower(), "--operation", "rent", "--type", "apartment"]
    done = run(env, "crawl", "immoweb", *scope, "--json")
    assert done.returncode == 0, done.stderr
    assert "immoweb cannot search by city" in done.stderr
    rows = run(env, "db", "--", "--tuples-only", "--no-align", "--command", "SELECT ref FROM listings")
    assert set(rows.stdout.split()) == wanted
    # The search page shows the city: no page of another city is fetched.
    assert simulated.by_kind("immoweb")["listing"] == len(wanted)


def test_a_limit_counts_what_matches_where_the_site_cannot_search_by_it(
    busy_laptop: dict[str, str], simulate: Simulate
) -> None:
    simulated = simulate(200)
    env = {**busy_laptop, "SIMULATOR_URL": simulated.url, "RATE_LIMIT": "0"}
    matching = [
        row["ref"]
        for row in simulated.truth("emlak")
        if row["operation"] == "rent" and row["property_type"] == "apartment"
    ]
    limit = 10
    assert limit < len(matching) < 100, "most pages must be of other homes, and there must be enough"
    scope = ["--operation", "rent", "--type", "apartment", "--limit", str(limit)]
    done = run(env, "crawl", "emlak", *scope)
    assert done.returncode == 0, done.stderr
    assert "emlak cannot search by operation or type" in done.stderr
    rows = run(env, "db", "--", "--tuples-only", "--no-align", "--command", "SELECT ref FROM listings").stdout.split()
    assert len(rows) == limit
    assert set(rows) <= set(matching)
    assert simulated.by_kind("emlak")["listing"] < 200, "the search pages after that are not read"


def test_a_place_where_nothing_is_found_is_no_silent_success(busy_laptop: dict[str, str], simulate: Simulate) -> None:
    env = {**busy_laptop, "SIMULATOR_URL": simulate(60).url, "RATE_LIMIT": "0"}
    done = run(env, "crawl", "immoweb", "--city", "nowhere")
    assert done.returncode == 0, done.stderr
    assert "immoweb: 0 new listings, " in done.stdout
    assert "no listing was found that matches city=nowhere" in done.stdout

    assert run(env, "crawl", "daft", "--limit", "1").stdout.startswith("daft: 1 new listing, ")
    done = run(env, "crawl", "daft", "--city", "nowhere")  # the site has no such page
    assert done.returncode == 1, done.stdout
    assert "failed, no page could be read: 4 dead letters; `realestate deadletters list daft` shows why" in done.stdout
    (job, *_) = json.loads(run(env, "jobs", "list", "--json").stdout)
    shown = json.loads(run(env, "jobs", "show", job["job"], "--json").stdout)
    assert (shown["state"], shown["reason"]) == ("failed", "no page could be read: 4 dead letters")


def test_a_portal_that_sends_ban_pages_is_no_dead_end(
    busy_laptop: dict[str, str], simulate_alone: Simulate, tmp_path: Path
) -> None:
    simulated = simulate_alone(120)
    env = {**busy_laptop, "SIMULATOR_URL": simulated.url, "RATE_LIMIT": "20", "RETRY_DELAY_SECONDS": "0.1"}
    with running([*COMMAND, "crawl", "immoweb"], env, tmp_path / "log") as banned:
        until(lambda: simulated.by_kind("immoweb")["listing"] > 5, "the first listings")
        simulated.weather("immoweb", "blocked")
        assert banned.process.wait(PATIENCE) == 1, banned.text()
    assert "immoweb is paused since" in banned.text()
    assert "most pages are ban pages" in banned.text()
    assert "workers try again at" in banned.text()
    assert "the same command tries again at once" in banned.text()
    shown = json.loads(run(env, "status", "--json").stdout)
    assert shown["portals"]["immoweb"]["rate_limit"].startswith("paused: most pages are ban pages")

    simulated.weather("immoweb", "fine")
    run(env, "deadletters", "replay", "immoweb")
    done = run({**env, "RATE_LIMIT": "0"}, "crawl", "immoweb", "--json")
    assert done.returncode == 0, done.stderr
    assert "immoweb was paused since" in done.stderr
    assert json.loads(done.stdout)["kept"] == len(simulated.truth("immoweb"))


def test_a_portal_that_sends_error_pages_is_no_dead_end(busy_laptop: dict[str, str], simulate_alone: Simulate) -> None:
    simulated = simulate_alone(60)
    env = {**busy_laptop, "SIMULATOR_URL": simulated.url, "RATE_LIMIT": "0", "RETRY_DELAY_SECONDS": "0.1"}
    simulated.weather("emlak", "error_page")
    failed = run(env, "crawl", "emlak")
    assert failed.returncode == 1, failed.stdout
    assert "; `realestate deadletters list emlak` shows why" in failed.stdout
    listed = run(env, "deadletters", "list", "emlak")
    assert listed.returncode == 0, listed.stderr
    assert "parse" in listed.stdout
    simulated.weather("emlak", "fine")
    done = run(env, "crawl", "emlak", "--json")
    assert (done.returncode, json.loads(done.stdout)["kept"]) == (0, 60), done.stderr


def test_a_portal_without_a_readable_robots_txt_is_no_dead_end(
    busy_laptop: dict[str, str], simulate_alone: Simulate
) -> None:
    simulated = simulate_alone(60)
    env = {**busy_laptop, "SIMULATOR_URL": simulated.url, "RATE_LIMIT": "0", "RETRY_DELAY_SECONDS": "0.1"}
    simulated.weather("emlak", "blocked")
    refused = run(env, "crawl", "emlak")
    assert refused.returncode == 1, refused.stdout
    assert "emlak is waiting for its robots.txt, which cannot be fetched: ban page" in refused.stdout

    (waiting,) = json.loads(run(env, "jobs", "list", "--json").stdout)
    shown = run(env, "jobs", "show", waiting["job"]).stdout
    assert "emlak is waiting for its robots.txt" in shown
    assert "no worker serves emlak: `realestate work` starts one" in shown

    simulated.weather("emlak", "fine")
    small = run(env, "crawl", "emlak", "--limit", "5", "--json")
    assert small.returncode == 0, small.stderr
    assert json.loads(small.stdout)["kept"] == 5, "the crawl that was stopped is not continued by a smaller one"
    assert f"waits meanwhile: {waiting['job']}; `realestate crawl emlak` continues it" in small.stderr
    done = run(env, "crawl", "emlak", "--json")
    assert done.returncode == 0, done.stderr
    assert (json.loads(done.stdout)["job"], json.loads(done.stdout)["kept"]) == (waiting["job"], 60)


def test_a_crawl_is_not_replaced_by_a_smaller_one_that_was_stopped(
    busy_laptop: dict[str, str], simulate_alone: Simulate
) -> None:
    simulated = simulate_alone(60)
    env = {**busy_laptop, "SIMULATOR_URL": simulated.url, "RATE_LIMIT": "0", "RETRY_DELAY_SECONDS": "0.1"}
    simulated.weather("emlak", "blocked")
    for _ in range(2):
        stopped = run(env, "crawl", "emlak", "--limit", "5")
        assert stopped.returncode == 1
        assert "the same command tries again at once" in stopped.stdout
    simulated.weather("emlak", "fine")
    (job,) = json.loads(run(env, "jobs", "list", "--json").stdout)  # the same command is the same job
    assert "waiting for a worker" in job["doing"]
    assert run(env, "jobs", "pause", job["job"]).returncode == 0
    refused = run(env, "crawl", "emlak")
    assert refused.returncode == 2
    assert f"`realestate jobs resume {job['job']}` continues it" in refused.stderr
    assert run(env, "jobs", "resume", job["job"]).returncode == 0
    done = run(env, "crawl", "emlak", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kept"] == 60


def test_what_a_person_paused_stays_paused(laptop: dict[str, str], simulate: Simulate) -> None:
    simulated = simulate(60)
    env = {**laptop, "SIMULATOR_URL": simulated.url}
    nothing = run(env, "resume", "emlak")
    assert nothing.returncode == 2
    assert "nothing was crawled in" in nothing.stderr

    assert run(env, "crawl", "emlak", "--limit", "1").returncode == 0
    paused = run(env, "pause", "emlak", "--reason", "they asked us to")
    assert (paused.returncode, paused.stdout) == (0, "paused: emlak\n")
    refused = run(env, "crawl", "emlak")
    assert refused.returncode == 2
    assert "they asked us to; `realestate resume emlak` starts it again" in refused.stderr
    assert run(env, "resume", "emlak").stdout == "resumed: emlak\n"
    assert run(env, "resume", "emlak").stdout == "emlak was not paused\n"


def test_the_address_of_the_database_works_while_it_is_shown(
    used_laptop: dict[str, str], home: Path, simulate: Simulate, tmp_path: Path
) -> None:
    env = {**used_laptop, "SIMULATOR_URL": simulate(60).url}
    assert run(env, "crawl", "emlak", "--limit", "1").returncode == 0
    assert running_services(home) is None
    with running([*COMMAND, "db", "--url"], env, tmp_path / "url") as shown:
        url = until(lambda: shown.text().strip(), "the address")
        with psycopg2.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM listings")
            assert cursor.fetchone() == (1,)
        connection.close()
        shown.stop()
    until(lambda: running_services(home) is None, "the server to stop")


def test_the_portals_are_listed_outside_a_checkout(laptop: dict[str, str], tmp_path: Path) -> None:
    command = [*COMMAND, "portals"]
    env = {**laptop, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    rows = {line.split()[0]: line for line in done.stdout.splitlines()[1:-1]}
    assert "www.onthemarket.com" in rows["onthemarket"]
    assert rows["immoweb"].split()[1:3] == ["www.immoweb.be", "BE"]
    assert "operation, type" in rows["immoweb"]
    assert "…" not in done.stdout


def test_the_jobs_are_shown_while_nothing_runs(used_laptop: dict[str, str], simulate: Simulate) -> None:
    env = {**used_laptop, "SIMULATOR_URL": simulate(40).url}
    assert run(env, "crawl", "emlak", "--limit", "5").returncode == 0
    (job,) = json.loads(run(env, "jobs", "list", "--json").stdout)
    shown = run(env, "jobs", "show", job["job"][:6], "--json")
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["state"] == "finished"
    missing = run(env, "jobs", "show", "nothing")
    assert missing.returncode == 2
    assert missing.stderr.count("\n") == 1
