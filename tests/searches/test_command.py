"""`realestate search` as a person uses it."""

import os
import subprocess
import sys

import pytest

from realestate.storage import open_store
from tests.storage.batches import batch, pages

NAME = "cheap 2 rooms"
#: Nobody listens there.
ADDRESS = "json://127.0.0.1:9/token"


@pytest.fixture
def url(store_url: str) -> str:
    store = open_store(store_url)
    store.migrate()
    store.write(batch(*pages(12)))
    store.close()
    return store_url


def run(url: str, redis_url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "STORE_URL": url, "REDIS_URL": redis_url}
    command = [sys.executable, "-m", "realestate", "search", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def said(url: str, redis_url: str, *arguments: str) -> str:
    done = run(url, redis_url, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_search_is_saved_shown_tried_and_deleted(url: str, redis_url: str) -> None:
    saved = said(url, redis_url, "save", NAME, "--where", "rooms>=1", "--notify", ADDRESS, "--on", "listed")
    assert saved.startswith(f"saved '{NAME}' (")
    assert "token" not in saved + said(url, redis_url, "list") + said(url, redis_url, "show", NAME)
    tried = said(url, redis_url, "test", NAME, "--show", "2")
    assert tried.count("New: ") == 2
    assert tried.endswith("12 of the last 1,000 events; the last 2 are shown (--show); nothing was sent\n")
    assert said(url, redis_url, "delete", NAME) == f"deleted '{NAME}'\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["save", "x", "--where", "rooms>>2", "--notify", ADDRESS], "--where: filter, character 7: "),
        (["save", "x", "--where", "rooms=2", "--notify", "nosuch://x"], "--notify: nosuch://…: "),
        (["save", "x", "--where", "rooms=2", "--notify", ADDRESS, "--on", "now"], "--on 'now' is not an event"),
        (["save", "x", "--where", "", "--notify", "http://[::1"], "--notify: a webhook is an address such as"),
        (["save", "x", "--where", "", "--notify", "http://10.0.0.1/x"], "--notify: 10.0.0.1 is not a public address"),
        (["test", "nothing"], "there is no search 'nothing'"),
    ],
)
def test_a_wrong_search_is_said_in_a_sentence(url: str, redis_url: str, arguments: list[str], sentence: str) -> None:
    done = run(url, redis_url, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"realestate: {sentence}")
