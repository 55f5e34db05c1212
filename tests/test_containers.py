"""The image and the compose file agree with the code: variables, commands, ports and files."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
import typer
import yaml

from realestate import settings
from realestate.cli import app
from realestate.cli.role_health import Role
from realestate.demo.crawl import SHOWN
from realestate.environment import SECRETS
from realestate.jobs.work import portals
from realestate.old_names import RENAMED_SETTINGS
from tests.variables import variables_read

ROOT = Path(__file__).parents[1]
COMPOSE_TEXT = (ROOT / "docker-compose.yaml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(COMPOSE_TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = sorted(name for name, service in SERVICES.items() if "build" in service)
MONITORING = sorted(name for name, service in SERVICES.items() if "monitoring" in service.get("profiles", ()))
DEMO = sorted(name for name, service in SERVICES.items() if "demo" in service.get("profiles", ()))
#: Read by the shell, Python and pip, not by us.
NOT_OURS = re.compile(r"PATH|PYTHON\w+|PIP_\w+")
#: Variables under their names of version 0.1. An .env that has them works as before.
OLD_NAMES = {old for old, new in RENAMED_SETTINGS.items() if new in variables_read()}
SECRET = re.compile(r"PASSWORD|SECRET|TOKEN|KEY")
#: The value that is used if the variable is not set.
DEFAULT = re.compile(r"\$\{\w+:-([^}]*)\}")


class Instruction(NamedTuple):
    word: str
    rest: str


def _instructions() -> list[Instruction]:
    text = (ROOT / "docker" / "Dockerfile").read_text()
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    whole = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [Instruction(*line.split(maxsplit=1)) for line in whole.splitlines()]


DOCKERFILE = _instructions()


def _said(word: str) -> list[str]:
    return [rest for instruction, rest in DOCKERFILE if instruction == word]


def _commands(service: dict[str, Any]) -> Iterator[list[str]]:
    """Each simple command of a service, those of a shell script too."""
    command: list[str] = service["command"]
    if command[0] != "sh":
        yield [DEFAULT.sub(r"\1", word) for word in command]
        return
    for line in re.split(r"[\n;]|\|\|", command[-1].replace("$$portal", "immoweb")):
        words = [word for word in shlex.split(line) if word not in ("do", "done")]
        if words:
            yield words


def _shown_commands() -> Iterator[list[str]]:
    """The `docker compose exec <service> …` of the comments."""
    for service, command in re.findall(r"^#.*docker compose exec ([\w-]+) ([^…()\n]+)", COMPOSE_TEXT, re.MULTILINE):
        assert service in SERVICES
        yield shlex.split(command)


def _image_command() -> list[str]:
    return shlex.split(_said("CMD")[0].strip("[]").replace(",", " "))


def _all_commands() -> list[list[str]]:
    services = [command for name in OURS for command in _commands(SERVICES[name])]
    return [*services, *_shown_commands(), _image_command()]


def _example_variables() -> dict[str, str]:
    lines = (ROOT / "docker" / "example.env").read_text().splitlines()
    return dict(line.removeprefix("#").split("=", 1) for line in lines if re.match(r"#?[A-Z_]+=", line))


# ----- the variables


def test_settings_read_the_variables_we_look_for() -> None:
    """Otherwise the next two tests would check nothing."""
    assert {"REDIS_URL", "POSTGRES_HOST", "POSTGRES_DB", "SIMULATOR_URL"} <= variables_read()
    assert OURS == [
        "demo",
        "demo-worker",
        "exporter",
        "scraper",
        "searches",
        "simulator",
        "timetable",
        "watch",
        "web",
        "worker",
    ]


def _is_read(name: str) -> bool:
    known = variables_read() | OLD_NAMES
    return name in known or name.removesuffix("_FILE") in SECRETS or name.startswith("AWS_")


@pytest.mark.parametrize("name", OURS)
def test_every_variable_of_our_services_is_read(name: str) -> None:
    assert [each for each in SERVICES[name].get("environment", {}) if not _is_read(each)] == []


@pytest.mark.parametrize("name", ["worker", "scraper"])
def test_every_setting_can_be_given_through_the_env_file(name: str) -> None:
    """A new variable needs a line in `x-settings` of docker-compose.yaml and one in docker/example.env."""
    environment = SERVICES[name]["environment"]
    needed = variables_read() | {f"{secret}_FILE" for secret in SECRETS}
    assert sorted((needed | OLD_NAMES) - set(environment)) == []
    passed = {each for each, value in environment.items() if value is None}
    assert passed - OLD_NAMES <= set(_example_variables())
    assert {each for each in needed - passed if f"${{{each}" not in str(environment[each])} == set()
    assert needed <= set(_example_variables())


def test_no_role_loses_a_variable_of_the_env_file() -> None:
    fleet = SERVICES["worker"]["environment"]
    for name in ("timetable", "watch", "searches", "web", "exporter"):
        other = SERVICES[name]["environment"]
        assert set(other) == set(fleet)
        assert {each for each in fleet if fleet[each] != other[each]} == {"REDIS_USERNAME", "REDIS_PASSWORD"}


def test_every_variable_of_the_image_is_read() -> None:
    names = {word.split("=")[0] for rest in _said("ENV") for word in shlex.split(rest)}
    assert {name for name in names if not NOT_OURS.fullmatch(name)} <= variables_read()


def test_the_example_has_every_variable_of_the_compose_file_and_no_other() -> None:
    passed = {each for each, value in SERVICES["worker"]["environment"].items() if value is None}
    assert set(_example_variables()) == set(re.findall(r"(?<!\$)\$\{(\w+)", COMPOSE_TEXT)) | passed - OLD_NAMES


def test_no_secret_has_a_default() -> None:
    values = {
        (name, variable): str(value)
        for name, service in SERVICES.items()
        for variable, value in service.get("environment", {}).items()
        if SECRET.search(variable) and value is not None
    }
    assert ("postgres", "POSTGRES_PASSWORD") in values
    assert "POSTGRES_PASSWORD:?" in COMPOSE["x-password-needed"]
    # unset, another variable, or the path of a secret's file
    needed_or_unset = re.compile(r"\$\{\w+:(?:-|-\$\{\w+:-\}|\+/run/secrets/\w+)\}")
    assert [where for where, value in values.items() if not needed_or_unset.fullmatch(value)] == []
    assert not any(
        value for name, value in _example_variables().items() if SECRET.search(name) and not name.endswith("_FILE")
    )
    assert not any(SECRET.search(rest) for word, rest in DOCKERFILE if word in ("ARG", "ENV"))
    assert "HOST_AUTH_METHOD" not in COMPOSE_TEXT


def test_no_address_carries_a_password() -> None:
    assert not re.search(r"//[^/\s]*@", COMPOSE_TEXT)


def test_a_secret_may_be_in_a_file_that_only_the_services_see_that_need_it() -> None:
    for name, secret in COMPOSE["secrets"].items():
        assert secret == {"file": f"${{{name.upper()}_FILE:-/dev/null}}"}
    for name, service in SERVICES.items():
        named = {
            str(value).rpartition("/")[2].strip("}")
            for value in service.get("environment", {}).values()
            if "/run/secrets/" in str(value)
        }
        assert named == set(service.get("secrets", ())), name


# ----- the commands


@pytest.mark.parametrize("command", _all_commands(), ids=" ".join)
def test_every_command_is_understood(command: list[str]) -> None:
    program, *words = command
    match program:
        case "realestate":
            known: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
            found = known[words.pop(0)]
            while hasattr(found, "commands"):
                found = found.commands[words.pop(0)]
            found.make_context("realestate", words)
        case "scrapy":
            assert words[0] == "crawl"
            assert words[1] in portals()
        case _:
            assert program in ("redis-cli", "for", "sleep")


def test_the_worker_serves_all_portals() -> None:
    assert SERVICES["worker"]["command"] == ["realestate", "work"] == _image_command()


def test_the_demo_submits_every_portal_of_the_demo_once() -> None:
    script = SERVICES["demo"]["command"][-1]
    assert sorted(re.findall(r"for portal in ([a-z ]+);", script)[0].split()) == sorted(SHOWN)
    assert "realestate submit $$portal --key demo-$$portal\n" in script
    assert SERVICES["demo"]["restart"] == "on-failure"


# ----- the fleet


@pytest.mark.parametrize(
    ("name", "number"), [("worker", "WORKERS:-1"), ("scraper", "SCRAPERS:-0"), ("demo-worker", "DEMO_WORKERS:-1")]
)
def test_the_number_of_workers_can_be_changed_and_kept(name: str, number: str) -> None:
    assert not {"container_name", "hostname", "ports"} & set(SERVICES[name])
    assert SERVICES[name]["scale"] == f"${{{number}}}"


def test_the_web_app_is_started_only_if_there_is_a_key() -> None:
    """Without one it would end at once, and be started again for ever."""
    assert SERVICES["web"]["scale"] == "0${API_KEYS:+1}"


def test_the_other_name_of_the_workers_is_the_same_service() -> None:
    assert {**SERVICES["scraper"], "scale": ""} == {**SERVICES["worker"], "scale": ""}


@pytest.mark.parametrize("name", ["worker", "demo-worker"])
def test_workers_get_sigterm_and_time_to_stop(name: str) -> None:
    service = SERVICES[name]
    assert service["init"] is True
    assert int(service["stop_grace_period"].removesuffix("s")) > settings.DOWNLOAD_TIMEOUT


@pytest.mark.parametrize("name", OURS)
def test_services_wait_for_what_they_need(name: str) -> None:
    servers = {"redis", "postgres"}
    needed = {
        "demo": {*servers, "simulator", "demo-worker"},
        "demo-worker": {*servers, "simulator"},
        "simulator": set(),
    }
    waited = dict(SERVICES[name].get("depends_on", {}))
    assert set(waited) == needed.get(name, servers)
    assert waited.pop("demo-worker", {"condition": "service_started"}) == {"condition": "service_started"}
    assert all(how == {"condition": "service_healthy"} for how in waited.values())
    assert all("healthcheck" in SERVICES[other] for other in waited)


def test_published_ports_are_on_localhost_only() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert "redis" in published
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)


def test_the_queue_and_the_listings_are_in_volumes() -> None:
    for name in ("redis", "postgres"):
        assert SERVICES[name]["volumes"][0].split(":")[0] in COMPOSE["volumes"]
    assert SERVICES["redis"]["command"][2:] == ["--appendonly", "yes", "--maxmemory-policy", "noeviction"]


def test_raw_pages_are_in_a_volume_that_all_workers_share() -> None:
    for name in ("worker", "scraper"):
        assert SERVICES[name]["volumes"][0] == "data:/data"
        assert SERVICES[name]["environment"]["REALESTATE_HOME"] == "${REALESTATE_HOME:-/data}"
    assert "VOLUME /data" in (ROOT / "docker" / "Dockerfile").read_text("utf-8")
    assert "REALESTATE_HOME=/data" in _said("ENV")[-1]


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_limits_a_bounded_log_and_no_new_privileges(name: str) -> None:
    service = SERVICES[name]
    assert service["logging"]["options"] == {"max-size": "10m", "max-file": "5"}
    assert service["mem_limit"]
    assert service["pids_limit"] > 0
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] in ("unless-stopped", "on-failure")


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "demo"])
def test_every_service_that_goes_on_has_a_health_check(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"


@pytest.mark.parametrize("name", OURS)
def test_our_containers_can_write_nothing_but_their_volume(name: str) -> None:
    assert SERVICES[name]["read_only"] is True
    assert SERVICES[name]["cap_drop"] == ["ALL"]
    assert [mount.split(":")[0] for mount in SERVICES[name]["tmpfs"]] == ["/tmp"]


#: How each service of ours is checked. The one-shot `demo` and the simulator have no role.
ROLES = {
    "worker": "worker",
    "scraper": "worker",
    "demo-worker": "worker",
    "timetable": "timetable",
    "watch": "watch",
    "searches": "watch",
    "web": "web",
    "exporter": "exporter",
}


@pytest.mark.parametrize(("name", "role"), ROLES.items())
def test_every_role_has_its_own_health_check(name: str, role: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"] == ["CMD", "realestate", "health", "--role", role]
    assert set(ROLES) == {*OURS} - {"demo", "simulator"}
    assert role in list(Role)


def test_each_role_has_its_user_in_redis() -> None:
    users = re.findall(r"^user (\w+) ", (ROOT / "docker" / "redis" / "users.acl").read_text("utf-8"), re.MULTILINE)
    user_of = {name: re.findall(r"\w+", SERVICES[name]["environment"]["REDIS_USERNAME"])[-1] for name in ROLES}
    used = set(user_of.values())
    assert used == {*users} - {"default"}
    for user in used:
        named = f"${{REDIS_{user.upper()}_PASSWORD:-${{REDIS_PASSWORD:-}}}}"
        services = [name for name in ROLES if user_of[name] == user]
        assert {SERVICES[name]["environment"]["REDIS_PASSWORD"] for name in services} == {named}
        assert f"REDIS_{user.upper()}_PASSWORD" in SERVICES["redis"]["environment"]


# ----- the profile `monitoring`


def test_monitoring_is_there_for_who_asks_for_it() -> None:
    published = {
        name: [port.rsplit(":", 1)[0] for port in SERVICES[name]["ports"]]
        for name in MONITORING
        if "ports" in SERVICES[name]
    }
    assert published == {
        "prometheus": ["127.0.0.1:9090"],
        "alertmanager": ["127.0.0.1:9093"],
        "grafana": ["127.0.0.1:3000"],
        "redis-view": ["127.0.0.1:8001"],
        "database-view": ["127.0.0.1:8002"],
        "logs": ["127.0.0.1:8003"],
    }
    assert set(MONITORING) == {*published, "exporter", "redis-exporter", "postgres-exporter"}


def test_nobody_is_an_administrator_of_grafana() -> None:
    environment = SERVICES["grafana"]["environment"]
    assert environment["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"
    assert environment["GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION"] == "true"
    assert not any("PASSWORD" in name for name in environment)


def test_only_the_page_of_logs_has_the_socket_of_docker() -> None:
    with_socket = {name for name, service in SERVICES.items() if "docker.sock" in str(service.get("volumes"))}
    assert with_socket == {"logs"}
    assert SERVICES["logs"]["networks"] == ["published"]
    assert SERVICES["logs"]["environment"]["DOZZLE_ENABLE_ACTIONS"] == "false"


def test_services_that_publish_a_port_have_a_network_with_a_way_out() -> None:
    """Docker publishes no port of a container whose networks are all internal."""
    for name, service in SERVICES.items():
        if "ports" in service:
            assert any(not (COMPOSE["networks"][network] or {}).get("internal") for network in service["networks"]), (
                name
            )


def test_the_database_is_in_a_network_without_a_way_out() -> None:
    assert COMPOSE["networks"]["store"] == {"internal": True}
    assert SERVICES["postgres"]["networks"] == ["store"] == SERVICES["mongo"]["networks"]
    assert "outside" not in SERVICES["simulator"]["networks"]
    assert "outside" not in SERVICES["demo-worker"]["networks"]


def test_mounted_files_exist() -> None:
    mounted = [volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", ())]
    files = [source for source in mounted if source.startswith("./")]
    assert files
    assert all((ROOT / source).exists() for source in files)
    assert (ROOT / "docker" / "config").is_dir()


def test_no_two_services_build_an_image_of_the_same_name() -> None:
    assert [name for name in OURS if "image" in SERVICES[name]] == []


def test_the_volume_of_postgres_is_at_the_path_of_its_image() -> None:
    """From version 18 on it is one folder up. With a volume at the old path, the image does not start."""
    assert int(re.findall(r"\d+", SERVICES["postgres"]["image"])[0]) >= 18
    assert SERVICES["postgres"]["volumes"][0].split(":")[1] == "/var/lib/postgresql"


# ----- the demo


def test_the_demo_adds_a_simulator_its_seeds_and_its_workers() -> None:
    assert DEMO == ["demo", "demo-worker", "simulator"]
    assert all(SERVICES[name]["profiles"] == ["demo"] for name in DEMO)


def test_only_the_demo_has_the_address_of_the_simulator() -> None:
    names = {name for name in OURS if SERVICES[name].get("environment", {}).get("SIMULATOR_URL")}
    assert names == {"demo-worker", "demo"}


def test_the_addresses_of_the_demo_are_those_of_the_simulator() -> None:
    simulator = SERVICES["simulator"]
    port = simulator["command"][simulator["command"].index("--port") + 1]
    assert SERVICES["demo"]["environment"]["SIMULATOR_URL"] == f"http://{simulator['hostname']}:{port}"
    assert f":{port}/_portals" in simulator["healthcheck"]["test"][-1]
    assert simulator["hostname"] == "simulator"


def test_the_demo_shares_no_data_with_the_fleet() -> None:
    fleet = SERVICES["worker"]["environment"]
    demo = SERVICES["demo-worker"]["environment"]
    assert demo == SERVICES["demo"]["environment"]
    assert fleet["REDIS_HOST"] == f"${{REDIS_HOST:-{demo['REDIS_HOST']}}}"
    assert (fleet["REDIS_DB"], demo["REDIS_DB"]) == (None, "1")
    assert demo["REDIS_DB"] == "1"
    assert SERVICES["demo-worker"]["volumes"] == ["demo:/data"]
    assert fleet["POSTGRES_DB"] == SERVICES["postgres"]["environment"]["POSTGRES_DB"]
    assert fleet["POSTGRES_DB"] != demo["POSTGRES_DB"]
    assert f"CREATE DATABASE {demo['POSTGRES_DB']};" in (ROOT / "docker" / "postgres" / "demo.sql").read_text()


# ----- the image


def test_the_base_can_be_chosen() -> None:
    assert _said("ARG") == ["BASE=python:3.12.12-slim-bookworm"]
    assert [rest.split()[0] for rest in _said("FROM")] == ["${BASE}", "${BASE}"]


def test_the_image_does_not_run_as_root() -> None:
    last = max(number for number, (word, _) in enumerate(DOCKERFILE) if word == "FROM")
    users = [rest for word, rest in DOCKERFILE[last:] if word == "USER"]
    assert users
    assert int(users[-1].split(":")[0]) > 0


def test_signals_reach_the_command_itself() -> None:
    (command,) = _said("CMD")
    assert command.startswith("[")
    assert _said("STOPSIGNAL") == ["SIGTERM"]
    assert not _said("ENTRYPOINT")


def test_dependencies_come_with_their_hashes() -> None:
    installs = [part for rest in _said("RUN") for part in rest.split("&&") if "pip install" in part]
    assert len(installs) == 2
    assert all("--require-hashes" in part or "--no-deps" in part for part in installs)


def test_the_lock_of_the_bucket_adds_to_the_lock_of_the_program() -> None:
    """`make lock` writes it: what raw pages in a bucket need beside the program, in the versions that the tests use."""

    def locked(path: str) -> dict[str, str]:
        return dict(re.findall(r"^([\w.-]+)==([^ ;\\]+)", (ROOT / path).read_text("utf-8"), re.MULTILINE))

    added = locked("docker/s3.lock")
    assert "boto3" in added
    assert not set(added) & set(locked("requirements.lock"))
    assert added.items() <= locked("requirements-dev.lock").items()


def test_the_build_context_has_only_the_files_that_are_copied() -> None:
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    sent = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    copied = {word for rest in _said("COPY") if not rest.startswith("--from") for word in rest.split()[:-1]}
    assert rules[0] == "*"
    assert sent == copied
    assert all((ROOT / name).exists() for name in copied)


def test_no_image_names_a_registry() -> None:
    images = [service["image"] for service in SERVICES.values() if "image" in service]
    assert images
    assert not any("." in image.partition("/")[0] for image in images if "/" in image)
    assert not any(image.endswith(":latest") or ":" not in image for image in images)


# ----- MongoDB


def test_mongodb_is_there_for_who_asks_for_it() -> None:
    mongo = SERVICES["mongo"]
    assert mongo["profiles"] == ["mongo"]
    assert mongo["volumes"] == ["mongo:/data/db"]
    assert "mongo" in COMPOSE["volumes"]
    assert "healthcheck" in mongo
    assert "STORE_URL" in SERVICES["worker"]["environment"]


def test_the_example_shows_an_address_of_that_mongodb() -> None:
    text = (ROOT / "docker" / "example.env").read_text()
    (address,) = re.findall(r"STORE_URL=(mongodb://\S+)", text)
    parts = urlsplit(address.replace("<password>", "x"))
    assert (parts.hostname, parts.port) == ("mongo", 27017)
    assert parts.username == SERVICES["mongo"]["environment"]["MONGO_INITDB_ROOT_USERNAME"]
    assert parts.query == "authSource=admin", "the account of the image is in the database `admin`"
