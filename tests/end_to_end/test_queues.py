"""The commands that look after a queue, on a real crawl that goes wrong."""

import json
import subprocess
from pathlib import Path
from typing import Any

from redis import Redis

from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import PATIENCE, PYTHON, ROOT, Simulate, compared, finished, running, until
from tests.end_to_end.hostile import hostile_site


def command(env: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [PYTHON, "-m", "realestate", *arguments], env=env, capture_output=True, text=True, timeout=PATIENCE, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_dead_letters_are_listed_shown_replayed_and_dropped(env: dict[str, str], server: Redis, tmp_path: Path) -> None:
    with hostile_site() as site:
        env["SIMULATOR_URL"] = site
        with running([PYTHON, "-m", "realestate", "work", "immoweb"], env, tmp_path / "worker.log") as worker:
            bad = ("21000013", "21000006")
            server.rpush("immoweb:start_urls", "nonsense", *(f"{site}/en/classified/{name}" for name in bad))
            until(lambda: server.zcard("{immoweb}:dead_letters:times") == 3, "three dead letters")

            def listed(*filters: str) -> list[dict[str, Any]]:
                found: list[dict[str, Any]] = json.loads(
                    command(env, "deadletters", "list", "immoweb", "--json", *filters)
                )
                return found

            assert {letter["reason"] for letter in listed()} == {"ban", "parse", "seed"}
            (refused,) = listed("--reason", "ban")
            assert (refused["status"], refused["url"]) == (403, f"{site}/en/classified/21000013")
            shown = json.loads(command(env, "deadletters", "show", "immoweb", refused["id"]))
            assert shown == [refused]
            assert "403" in command(env, "deadletters", "list", "immoweb")

            dry = command(env, "deadletters", "replay", "immoweb", "--reason", "ban", "--dry-run")
            assert dry == "would replay 1 of immoweb\n"
            assert server.zcard("{immoweb}:dead_letters:times") == 3
            assert command(env, "deadletters", "replay", "immoweb", "--reason", "ban") == "replayed 1 of immoweb\n"
            until(lambda: listed("--reason", "ban") not in ([], [refused]), "the replayed to die again")
            assert command(env, "deadletters", "drop", "immoweb") == "dropped 3 of immoweb\n"
            assert listed() == []
            assert worker.stop() == 0


def test_a_paused_portal_is_left_alone_until_it_is_resumed(
    env: dict[str, str], server: Redis, store: PostgresStore, simulate: Simulate, tmp_path: Path
) -> None:
    simulated = simulate(120)
    env |= {"SIMULATOR_URL": simulated.url, "RATE_LIMIT": "15"}
    command(env, "submit", "emlak")
    with running([PYTHON, "-m", "realestate", "work", "--until-done", "emlak"], env, tmp_path / "worker.log") as worker:
        until(lambda: simulated.requests("emlak") > 15, "some pages")
        assert command(env, "pause", "emlak") == "paused: emlak\n"
        until(lambda: json.loads(command(env, "status", "--json"))["portals"]["emlak"]["in_flight"] == 0, "quiet")
        so_far = simulated.requests("emlak")
        assert json.loads(command(env, "status", "--json"))["portals"]["emlak"]["pace"] == "paused"
        assert simulated.requests("emlak") == so_far < 106
        assert command(env, "resume", "emlak") == "resumed: emlak\n"
        finished(server, "emlak")
        assert worker.process.wait(PATIENCE) == 0, "with --until-done a worker ends by itself"
    assert compared(store, simulated, "emlak").right
