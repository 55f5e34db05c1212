"""The settings of the project, and how the environment changes them."""

import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from realestate import __version__, environment, old_names, settings
from realestate.jobs.work import all_portals
from realestate.old_names import RENAMED_SETTINGS
from realestate.spiders.immoweb import ImmowebSpider

SHOW = """
import json
from realestate import settings
names = [
    "REDIS_URL",
    "STORE_URL",
    "SIMULATOR_URL",
    "RATE_LIMIT",
    "LOG_LEVEL",
    "SNAPSHOTS_URL",
    "SNAPSHOTS_SAMPLE",
    "CONTACTS",
    "CONTACTS_KEYS",
    "PROXIES",
    "PROXY_PROVIDER_ADDRESS",
    "PROXY_PROVIDER_TIER",
    "BINA_QUERY_HASH",
    "BAN_RULES",
    "USER_AGENT",
    "ACCELERATE",
]
print(json.dumps({name: getattr(settings, name) for name in names}))
"""


def settings_with(**env: str) -> dict[str, object]:
    """The settings of a process that is started with exactly these variables."""
    done = subprocess.run([sys.executable, "-c", SHOW], env=env, capture_output=True, text=True, check=True)
    values: dict[str, object] = json.loads(done.stdout)
    return values


def test_nothing_is_set_by_default_and_no_secret_has_a_default() -> None:
    values = settings_with()
    assert (values["REDIS_URL"], values["STORE_URL"], values["SIMULATOR_URL"]) == (None, None, None)
    assert values["RATE_LIMIT"] == 1.0


def test_the_embedded_services_are_used_only_without_any_address() -> None:
    for name in environment.ADDRESSES:
        values = settings_with(**{name: "redis://h"})
        assert values["REDIS_URL"] or values["STORE_URL"], name
    beside = {"REDIS_PORT": "7", "POSTGRES_USER": "u", "POSTGRES_DB": "d", "DATABASE_NAME": "d"}
    values = settings_with(**beside, **dict.fromkeys(environment.ADDRESSES, ""))
    assert (values["REDIS_URL"], values["STORE_URL"]) == (None, None)


@pytest.mark.parametrize(
    ("env", "name", "value"),
    [
        ({"REDIS_URL": "redis://a/1"}, "REDIS_URL", "redis://a/1"),
        ({"CONTACT_ADDRESS": "me@example.org"}, "USER_AGENT", f"realestate/{__version__} (+me@example.org)"),
        ({"CONTACT_ADDRESS": "me@example.org", "USER_AGENT": "mine"}, "USER_AGENT", "mine"),
        ({"REDIS_HOST": "h"}, "REDIS_URL", "redis://h:6379/0"),
        ({"REDIS_HOST": "h", "REDIS_PORT": "7"}, "REDIS_URL", "redis://h:7/0"),
        ({"REDIS_HOST": "h", "REDIS_USERNAME": "worker", "REDIS_DB": "1"}, "REDIS_URL", "redis://h:6379/1"),
        (
            {"REDIS_HOST": "h", "REDIS_USERNAME": "worker", "REDIS_PASSWORD": "p:/@"},
            "REDIS_URL",
            "redis://worker:p%3A%2F%40@h:6379/0",
        ),
        ({"REDIS_URL": "", "REDIS_HOST": ""}, "REDIS_URL", None),
        ({"STORE_URL": "postgresql://x/y", "POSTGRES_HOST": "h"}, "STORE_URL", "postgresql://x/y"),
        (
            {"POSTGRES_HOST": "h", "POSTGRES_DB": "d", "POSTGRES_USER": "u@x", "POSTGRES_PASSWORD": "p:/@ w"},
            "STORE_URL",
            "postgresql://u%40x:p%3A%2F%40%20w@h:5432/d",
        ),
        ({"POSTGRES_HOST": "h"}, "STORE_URL", "postgresql://postgres@h:5432/postgres"),
        ({"MONGODB_URI": "mongodb://h:1/", "DATABASE_NAME": "d"}, "STORE_URL", "mongodb://h:1/d"),
        ({"MONGODB_URI": "mongodb://a:1,b:2"}, "STORE_URL", "mongodb://a:1,b:2/realestate"),
        ({"MONGODB_URI": "mongodb://h/own?w=1"}, "STORE_URL", "mongodb://h/own?w=1"),
        ({"MONGODB_URI": "mongodb://h/?w=1&tls=true", "DATABASE_NAME": "d"}, "STORE_URL", "mongodb://h/d?w=1&tls=true"),
        ({"MONGODB_URI": "mongodb+srv://u:p@h?w=1", "DATABASE_NAME": "d"}, "STORE_URL", "mongodb+srv://u:p@h/d?w=1"),
        (
            {"MONGODB_URI": "mongodb://u:p%2F@h/admin", "DATABASE_NAME": "d"},
            "STORE_URL",
            "mongodb://u:p%2F@h/d?authSource=admin",
        ),
        (
            {"MONGODB_URI": "mongodb://u:p@h/x?w=1&authSource=y", "DATABASE_NAME": "d"},
            "STORE_URL",
            "mongodb://u:p@h/d?w=1&authSource=y",
        ),
        ({"MONGODB_URI": "mongodb://h:1/d", "POSTGRES_HOST": "postgres"}, "STORE_URL", "mongodb://h:1/d"),
        ({"SIMULATOR_URL": "http://127.0.0.1:8800"}, "RATE_LIMIT", 0.0),
        ({"SIMULATOR_URL": "http://127.0.0.1:8800", "RATE_LIMIT": "2.5"}, "RATE_LIMIT", 2.5),
        ({"LOG_LEVEL": "DEBUG"}, "LOG_LEVEL", "DEBUG"),
        ({}, "ACCELERATE", True),
        ({"ACCELERATE": "off"}, "ACCELERATE", False),
        ({"BINA_QUERY_HASH": "AB" * 32}, "BINA_QUERY_HASH", "ab" * 32),
        ({"REALESTATE_HOME": "/data"}, "SNAPSHOTS_URL", "/data/snapshots"),
        ({}, "SNAPSHOTS_SAMPLE", 0.0),
        ({"SNAPSHOTS_URL": "s3://bucket/raw"}, "SNAPSHOTS_URL", "s3://bucket/raw"),
        ({"SNAPSHOTS_URL": "s3://bucket/raw"}, "SNAPSHOTS_SAMPLE", 0.01),
        ({"SNAPSHOTS_URL": "/pages", "SNAPSHOTS_SAMPLE": "1"}, "SNAPSHOTS_SAMPLE", 1.0),
        ({"PROXIES": "h:1, me:pw@h:2 tier=residential\nh:3"}, "PROXIES", ["h:1", "me:pw@h:2 tier=residential", "h:3"]),
        ({"PROXY_PROVIDER_ADDRESS": "https://h:1"}, "PROXY_PROVIDER_ADDRESS", "https://h:1"),
        ({}, "PROXY_PROVIDER_TIER", "residential"),
    ],
)
def test_the_environment_is_understood(env: dict[str, str], name: str, value: object) -> None:
    assert settings_with(**env)[name] == value


@pytest.mark.parametrize(
    ("env", "line"),
    [
        ({"RATE_LIMIT": "fast"}, "RATE_LIMIT is 'fast': a number of 0 or more is needed"),
        ({"REDIS_HOST": "h", "REDIS_PORT": "x"}, "REDIS_PORT is 'x': a number from 1 to 65535 is needed"),
        ({"REDIS_HOST": "h", "REDIS_PORT": "70000"}, "REDIS_PORT is '70000': a number from 1 to 65535 is needed"),
        ({"REDIS_HOST": "h", "REDIS_DB": "one"}, "REDIS_DB is 'one': the number of a database is needed"),
        (
            {"REDIS_URL": "redis://h", "REDIS_URL_FILE": "/f"},
            "REDIS_URL and REDIS_URL_FILE are both set: one of them is needed",
        ),
        ({"STORE_URL_FILE": "/no/file"}, "STORE_URL_FILE: /no/file cannot be read: No such file or directory"),
        ({"SIMULATOR_URL": "127.0.0.1:8800"}, "SIMULATOR_URL: something like http://127.0.0.1:8800 is needed"),
        ({"SIMULATOR_URL": "http://[bad"}, "SIMULATOR_URL: something like http://127.0.0.1:8800 is needed"),
        ({"SIMULATOR_URL": "http://h:port"}, "SIMULATOR_URL: something like http://127.0.0.1:8800 is needed"),
        ({"BAN_RULES": "/no/such/file"}, "BAN_RULES: there is no such file"),
        ({"SNAPSHOTS_SAMPLE": "3"}, "SNAPSHOTS_SAMPLE is 3: a number from 0 to 1 is needed"),
        ({"BINA_QUERY_HASH": "x"}, "BINA_QUERY_HASH is 'x': a SHA-256 in 64 hexadecimal digits is needed"),
        ({"SNAPSHOTS_URL": "ftp://x"}, "SNAPSHOTS_URL is 'ftp://x': a folder or s3://bucket/prefix is needed"),
    ],
)
def test_a_wrong_value_is_one_clear_line(env: dict[str, str], line: str) -> None:
    done = subprocess.run([sys.executable, "-c", SHOW], env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.strip() == f"realestate: {line}"


@pytest.mark.parametrize("name", sorted(environment.SECRETS))
def test_a_secret_may_be_in_a_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("the secret\n", "utf-8")
    monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(f"{name}_FILE", str(tmp_path / "secret"))
    assert environment.variable(name) == "the secret"
    (tmp_path / "secret").write_text("", "utf-8")
    assert environment.variable(name) is None


def test_the_documentation_names_every_secret_that_may_be_in_a_file() -> None:
    text = (Path(__file__).parents[1] / "docs" / "settings.md").read_text("utf-8")
    paragraph = text.partition("A secret may be in a file:")[2].partition("\n\n")[0]
    assert set(re.findall(r"`([A-Z_]+)`", paragraph)) == {*environment.SECRETS, "POSTGRES_PASSWORD_FILE"}


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("[[rule]\n", "BAN_RULES: "),
        ("[[rule]]\nkind = 'all'\n", "would match every page"),
        ("[[rule]]\nkind = 'x'\ntitle = '('\n", "invalid pattern"),
    ],
)
def test_ban_rules_that_cannot_be_used_are_one_clear_line(tmp_path: Path, rules: str, words: str) -> None:
    (tmp_path / "rules.toml").write_text(rules, "utf-8")
    env = {"BAN_RULES": str(tmp_path / "rules.toml")}
    done = subprocess.run([sys.executable, "-c", SHOW], env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert words in done.stderr
    assert done.stderr.startswith("realestate: BAN_RULES: ")
    assert done.stderr.count("\n") == 1


OWN_RULES = str(Path(__file__).parents[1] / "realestate" / "middlewares" / "ban_pages.toml")
KEY = "A" * 43 + "="


def test_contacts_are_off_and_have_no_key_by_default() -> None:
    values = settings_with()
    assert (values["CONTACTS"], values["CONTACTS_KEYS"]) == (False, [])


@pytest.mark.parametrize("keys", [KEY, f" {KEY}, {KEY} ,"])
def test_contacts_are_switched_on_with_a_key(keys: str) -> None:
    values = settings_with(CONTACTS="on", CONTACTS_KEYS=keys)
    assert values["CONTACTS"] is True
    assert values["CONTACTS_KEYS"] == [KEY] * keys.count(KEY)


@pytest.mark.parametrize(
    ("env", "line"),
    [
        ({"CONTACTS": "on"}, "CONTACTS is on and CONTACTS_KEYS is not set"),
        ({"CONTACTS": "on", "CONTACTS_KEYS": " , "}, "CONTACTS is on and CONTACTS_KEYS is not set"),
        ({"CONTACTS": "yes"}, "CONTACTS is 'YES': one of OFF, ON is needed"),
        ({"CONTACTS_KEYS": f"{KEY},secret"}, "CONTACTS_KEYS: key 2 is not a Fernet key"),
    ],
)
def test_contacts_without_a_key_are_one_clear_line(env: dict[str, str], line: str) -> None:
    done = subprocess.run([sys.executable, "-c", SHOW], env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"realestate: {line}")
    assert done.stderr.count("\n") == 1
    assert "secret" not in done.stderr


ACCOUNT = {"PROXY_PROVIDER_CUSTOMER": "hl_1", "PROXY_PROVIDER_ZONE": "homes", "PROXY_PROVIDER_PASSWORD": "secret"}


@pytest.mark.parametrize(
    ("env", "line"),
    [
        ({"PROXIES": "h:1, http://me:sec/secret@h"}, "PROXIES: proxy 2: host and port are missing or not valid"),
        ({"PROXIES": "socks5://me:secret@h:1"}, "PROXIES: proxy 1: socks5://h: only http and"),
        ({**ACCOUNT, "PROXY_PROVIDER_ZONE": ""}, "PROXY_PROVIDER_CUSTOMER needs PROXY_PROVIDER_ZONE and PROXY_PROV"),
        ({**ACCOUNT, "PROXY_PROVIDER_ZONE": "zone:secret"}, "PROXY_PROVIDER_ZONE: something like residential1"),
        ({**ACCOUNT, "PROXY_PROVIDER_ADDRESS": "secret"}, "PROXY_PROVIDER_ADDRESS: proxy 1: host and port are missing"),
        ({**ACCOUNT, "PROXY_PROVIDER_COUNTRY": "Belgium"}, "PROXY_PROVIDER_COUNTRY: something like be, or any"),
        ({**ACCOUNT, "PROXY_PROVIDER_CA": "/secret"}, "PROXY_PROVIDER_CA: there is no such file"),
        ({"PROXY_LIST_URL": "ftp://secret"}, "PROXY_LIST_URL: something like https://host/list.txt is needed"),
        ({"PROXY_AWS_REGIONS": "eu-central-1, mars"}, "PROXY_AWS_REGIONS: something like eu-central-1, eu-west-1"),
    ],
)
def test_a_wrong_proxy_is_one_clear_line_without_credentials(env: dict[str, str], line: str) -> None:
    done = subprocess.run([sys.executable, "-c", SHOW], env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"realestate: {line}")
    assert done.stderr.count("\n") == 1
    assert "secret" not in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "text", "value"),
    [("PACE_RATE", "RATE_LIMIT", "2.5", 2.5), ("BLOCK_RULES", "BAN_RULES", OWN_RULES, OWN_RULES)],
)
def test_the_old_name_of_a_variable_works_with_one_warning(old: str, new: str, text: str, value: object) -> None:
    done = subprocess.run([sys.executable, "-c", SHOW], env={old: text}, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)[new] == value
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"realestate: warning: {old} was renamed to {new};")


def test_the_new_name_of_a_variable_wins_over_the_old_one() -> None:
    both = {"PACE_RATE": "1", "RATE_LIMIT": "3"}
    done = subprocess.run([sys.executable, "-c", SHOW], env=both, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["RATE_LIMIT"] == 3.0
    assert done.stderr == ""


@pytest.mark.parametrize("old", RENAMED_SETTINGS)
def test_the_old_name_of_a_setting_works_with_one_warning(
    old: str, make_crawler: Callable[..., Crawler], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`scrapy crawl immoweb -s PACE_RATE=0.5`, in a worker of several portals."""
    monkeypatch.setattr(old_names, "_warned", set())
    new = RENAMED_SETTINGS[old]
    with caplog.at_level(logging.WARNING):
        crawlers = [make_crawler(ImmowebSpider, **{old: "7"}) for _ in range(2)]
    assert [crawler.settings[new] for crawler in crawlers] == ["7", "7"]
    assert [record.getMessage() for record in caplog.records] == [
        f"{old} was renamed to {new}; the old name will stop working in version 0.3"
    ]


def test_every_renamed_setting_exists_under_its_new_name() -> None:
    names = vars(settings)
    assert [new for new in RENAMED_SETTINGS.values() if new not in names] == []
    assert [old for old in RENAMED_SETTINGS if old in names] == []


def test_every_component_named_can_be_loaded() -> None:
    project = Settings()
    project.setmodule("realestate.settings", priority="project")
    named = [project[name] for name in ("SCHEDULER", "SCHEDULER_QUEUE_CLASS", "DUPEFILTER_CLASS")]
    for group in ("SPIDER_MIDDLEWARES", "DOWNLOADER_MIDDLEWARES", "ITEM_PIPELINES", "EXTENSIONS"):
        named += [path for path, order in project.getdict(group).items() if order is not None]
    assert len(named) >= 8
    assert all(isinstance(load_object(path), type) for path in named)


def test_scrapy_finds_the_project() -> None:
    root = Path(__file__).parents[1]
    scrapy = [sys.executable, "-m", "scrapy"]
    listed = subprocess.run([*scrapy, "list"], cwd=root, capture_output=True, text=True, check=True)
    assert listed.stdout.split() == all_portals()
