"""An author installs the package and writes a portal in a folder of her own: no checkout, no tests folder of ours."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from redis import Redis

from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import PATIENCE, PYTHON, ROOT


class Done(NamedTuple):
    code: int
    out: str
    err: str


def run(*command: str, cwd: Path, env: dict[str, str]) -> Done:
    done = subprocess.run(
        [PYTHON, "-m", *command], cwd=cwd, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as `pip install realestate` installs it. Its dependencies are those of this environment."""
    folder = tmp_path_factory.mktemp("installed")
    pip = partial(run, "pip", cwd=folder, env=dict(os.environ))
    quiet = ("--quiet", "--disable-pip-version-check", "--no-deps")
    source = folder / "source"  # setuptools writes into the folder that it builds from
    shutil.copytree(ROOT / "realestate", source / "realestate", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    built = pip("wheel", *quiet, "--no-build-isolation", "--wheel-dir", str(folder), str(source))
    assert built.code == 0, built.err
    (wheel,) = folder.glob("realestate-*.whl")
    done = pip("install", *quiet, "--target", str(folder / "site"), str(wheel))
    assert done.code == 0, done.err
    return folder / "site"


class Author:
    """A person with an empty folder and the installed package."""

    def __init__(self, folder: Path, installed: Path) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if name != "SIMULATOR_URL"}
        self.env = {**kept, "PYTHONPATH": str(installed), "REDIS_URL": "", "STORE_URL": ""}

    def realestate(self, *arguments: str, **env: str) -> Done:
        return run("realestate", *arguments, cwd=self.folder, env={**self.env, **env})

    def scrapy(self, *arguments: str, **env: str) -> Done:
        return run("scrapy", *arguments, cwd=self.folder, env={**self.env, **env})


@pytest.fixture
def author(tmp_path: Path, installed: Path) -> Author:
    folder = tmp_path / "homes"
    folder.mkdir()
    return Author(folder, installed)


@pytest.fixture
def site(author: Author) -> Iterator[str]:
    """A site that serves the recorded pages of the author's portal `mysite`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            name = {"/search": "search.html", "/homes/1001": "listing-flat.html", "/homes/1002": "listing-flat.html"}
            page = author.folder / "portals" / "mysite" / name.get(path, "none")
            self.send_response(200 if page.is_file() else 404)
            body = page.read_bytes() if page.is_file() else b""
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_package_that_runs_is_the_installed_one(author: Author, installed: Path) -> None:
    code = "import realestate, sys; print(realestate.__file__)"
    done = subprocess.run([PYTHON, "-c", code], cwd=author.folder, env=author.env, capture_output=True, text=True)
    assert done.stdout.strip() == str(installed / "realestate/__init__.py")


def test_a_portal_is_written_tested_recorded_checked_and_crawled_outside_the_checkout(
    author: Author, site: str, env: dict[str, str], server: Redis, store: PostgresStore
) -> None:
    services = {name: env[name] for name in ("REDIS_URL", "STORE_URL", "REALESTATE_HOME")}
    here = {"ALLOW_PRIVATE_ADDRESSES": "on", "RATE_LIMIT": "0"}
    done = author.realestate("init")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[:2] == ["scrapy.cfg", "portals"]

    done = author.realestate("portal", "new", "mysite", "--site", site)
    assert done.code == 0, done.err
    *files, hint = done.out.splitlines()
    recorded = [f"portals/mysite/{page.name}" for page in (author.folder / "portals/mysite").iterdir()]
    assert sorted(files) == sorted(["portals/mysite.py", *recorded])
    assert hint.startswith("next: realestate ")
    done = author.realestate(*hint.removeprefix("next: realestate ").split())
    assert (done.code, done.err) == (0, ""), "the hint works as printed"
    assert done.out.endswith("mysite: 2 of 2 recorded pages are parsed as expected\n")

    page = str(author.folder / "portals/mysite/listing-flat.html")
    done = author.realestate("portal", "parse", "mysite", page, "--url", f"{site}/homes/1001")
    assert json.loads(done.out)["listing"]["price"] == 245000

    record = ("portal", "record", "mysite", f"{site}/homes/1001", "--as", "listing-flat")
    done = author.realestate(*record, **here)
    assert (done.code, done.err) == (1, "realestate: listing-flat of mysite exists already; --force replaces it\n")
    done = author.realestate(*record, "--force", **here)
    assert done.code == 0, done.err
    done = author.realestate("portal", "check", "mysite", "--json", **here)
    assert (done.code, json.loads(done.out)["live"]) == (0, 2), done.err

    done = author.realestate("crawl", "mysite", **services, **here)
    assert done.code == 0, done.err
    assert store.counts()["mysite"][0] == 2
    assert "mysite" in author.scrapy("list").out.splitlines()
    server.lpush("mysite:start_urls", f"{site}/search?page=1")
    done = author.scrapy("crawl", "mysite", "-s", "UNTIL_DONE=1", "-O", "out.json", **services, **here)
    assert done.code == 0, done.err
    exported = json.loads((author.folder / "out.json").read_text("utf-8"))
    assert sorted(each["ref"] for each in exported) == ["1001", "1002"]


def test_scrapy_finds_the_portal_of_an_address_with_a_port_and_says_what_it_needs(author: Author, site: str) -> None:
    assert author.realestate("init").code == 0
    assert author.realestate("portal", "new", "mysite", "--site", site).code == 0
    here = {"ALLOW_PRIVATE_ADDRESSES": "on", "REDIS_URL": "redis://127.0.0.1:1/0"}
    done = author.scrapy("parse", "--nocolour", f"{site}/homes/1001", **here)
    assert done.code == 0, done.err
    assert "'ref': '1001'" in done.out
    done = author.scrapy("crawl", "mysite", **here)
    assert done.code == 1
    (line,) = done.err.splitlines()
    assert line.startswith("realestate: STORE_URL is not set")
    assert "or use `realestate crawl`" in line


def test_a_broken_portal_file_is_one_line_and_breaks_no_other_command(author: Author) -> None:
    assert author.realestate("portal", "new", "mysite").code == 0
    portals = author.folder / "portals"
    (portals / "unfinished.py").write_text("class Unfinished(:\n")
    (portals / "lacking.py").write_text("\nfrom nowhere import nothing\n")
    lines = {
        "realestate: warning: the portal file portals/unfinished.py cannot be loaded, line 1: "
        "SyntaxError: invalid syntax",
        "realestate: warning: the portal file portals/lacking.py cannot be loaded, line 2: "
        "ModuleNotFoundError: No module named 'nowhere'",
    }
    author.realestate("init")
    listed = author.scrapy("list")
    assert listed.code == 0
    assert {"mysite", "immoweb"} <= set(listed.out.splitlines())
    assert set(listed.err.splitlines()) == lines
    examined = author.realestate("doctor")
    assert examined.code == 0, examined.err
    assert set(examined.err.splitlines()) == lines
    tested = author.realestate("portal", "test", "mysite")
    assert (tested.code, tested.err) == (0, ""), "other portals do not need the broken files"
    for command in (("portal", "test", "unfinished"), ("crawl", "unfinished"), ("submit", "unfinished")):
        done = author.realestate(*command)
        assert done.code == 1
        assert done.err.splitlines()[-1].startswith("realestate: the portal file portals/unfinished.py cannot be")
        assert "Traceback" not in done.err
    done = author.scrapy("crawl", "unfinished", "--nolog")
    assert done.code == 2
    assert done.err.splitlines()[-1].partition(" error: ")[2].startswith("the portal file portals/unfinished.py")
    assert "Traceback" not in done.err


def test_the_walker_names_the_field_that_is_wrong(author: Author) -> None:
    author.realestate("portal", "new", "mysite")
    file = author.folder / "portals/mysite.py"
    file.write_text(file.read_text("utf-8").replace('rows.first("City")', 'rows.first("Town")'), "utf-8")
    (author.folder / "portals/mysite/listing-lost.html").write_text("<h1>x</h1>")
    done = author.realestate("portal", "test", "mysite")
    assert done.code == 1
    assert done.out.splitlines() == [
        "listing-flat: failed",
        '  listing.city: expected "Sampletown", found nothing',
        "search: ok",
        "listing-lost.html: failed",
        "  no .json file beside it says what is expected",
        "mysite: 1 of 3 recorded pages are parsed as expected",
    ]
    done = author.realestate("portal", "test", "emlak")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "emlak has no recorded pages in portals/emlak" in done.err


def test_a_portal_file_of_the_same_name_replaces_that_of_the_package(author: Author) -> None:
    author.realestate("portal", "new", "emlak", "--site", "https://www.emlak.example")
    code = "from realestate.jobs.work import spider_class; print(spider_class('emlak').site)"
    done = subprocess.run([PYTHON, "-c", code], cwd=author.folder, env=author.env, capture_output=True, text=True)
    assert done.stdout.strip() == "https://www.emlak.example"


def test_an_address_of_this_machine_is_refused_with_the_setting_that_allows_it(author: Author, site: str) -> None:
    author.realestate("portal", "new", "mysite", "--site", site)
    advice = "is not a public address; set ALLOW_PRIVATE_ADDRESSES=on if the portal is on this machine"
    for command in (
        ("portal", "record", "mysite", f"{site}/homes/1001", "--as", "listing-x"),
        ("portal", "record", "generic", f"{site}/homes/1001", "--as", "listing-x"),
        ("crawl", "generic", f"{site}/homes/1001"),
        ("crawl", "mysite"),
        ("submit", "generic", f"{site}/homes/1001"),
    ):
        done = author.realestate(*command)
        assert done.code == 2
        assert advice in done.err
        assert done.err.count("\n") == 1
    done = author.realestate("portal", "check", "mysite")
    assert done.code == 1
    assert "set ALLOW_PRIVATE_ADDRESSES=on" in done.err


def test_generic_crawls_this_machine_if_the_setting_allows_it(
    author: Author, site: str, env: dict[str, str], server: Redis, store: PostgresStore
) -> None:
    author.realestate("portal", "new", "mysite", "--kind", "jsonld", "--site", site)
    services = {name: env[name] for name in ("REDIS_URL", "STORE_URL", "REALESTATE_HOME")}
    url = f"{site}/homes/1001?for-sale"
    done = author.realestate("crawl", "generic", url, **services, ALLOW_PRIVATE_ADDRESSES="on", RATE_LIMIT="0")
    assert done.code == 0, done.err
    assert sum(store.counts()["generic"]) == 1, "read, and stored or in quarantine"
