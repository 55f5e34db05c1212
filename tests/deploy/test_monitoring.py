"""The configuration of Prometheus, Alertmanager and Grafana: their own tools accept it, and it names what exists."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.grafana.generate import DASHBOARDS, FOLDER, Dashboard, built
from realestate.cli.exporter import PORT as EXPORTER_PORT
from realestate.monitoring.catalogue import ALL, exported_name
from realestate.monitoring.rules import rules
from tests.deploy.tools import program, skipped_without_tool

ROOT = Path(__file__).parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yaml").read_text("utf-8"))["services"]
#: Metrics of the Prometheus client and of the exporters of Redis and PostgreSQL, which are not ours.
OF_OTHERS = {
    "process_resident_memory_bytes",
    "process_cpu_seconds_total",
    "redis_memory_used_bytes",
    "redis_memory_max_bytes",
    "pg_database_size_bytes",
    "pg_stat_activity_count",
}
#: Exported name -> its labels. Prometheus adds `job` and `instance`.
LABELS = {exported_name(metric): {*metric.labels, "job", "instance"} for metric in ALL}
LABELS |= {f"{name}_bucket": {*labels, "le"} for name, labels in LABELS.items()}
METRIC = re.compile(r"\b(?:realestate|redis|pg|process)_\w+")


def run(name: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a tool. Skips the test where it is not installed."""
    with skipped_without_tool():
        tool = program(name)
    return subprocess.run([tool, *map(str, words)], capture_output=True, text=True, timeout=60)


def expressions(dashboard: Dashboard) -> list[str]:
    """Of the JSON file, as Grafana sends them for one portal."""
    panels = json.loads((FOLDER / f"{dashboard.name}.json").read_text("utf-8"))["panels"]
    return [target["expr"].replace("$portal", "immoweb") for panel in panels for target in panel["targets"]]


EVERY = [(dashboard.name, expr) for dashboard in DASHBOARDS for expr in expressions(dashboard)]


# ----- Prometheus and Alertmanager


def test_prometheus_accepts_its_configuration() -> None:
    done = run("promtool", "check", "config", PROMETHEUS / "prometheus.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_field_in_the_configuration_is_caught(tmp_path: Path) -> None:
    shutil.copytree(PROMETHEUS, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "prometheus.yml"
    path.write_text(path.read_text("utf-8").replace("evaluation_interval", "evaluate_each"), "utf-8")
    assert run("promtool", "check", "config", path).returncode != 0


def test_prometheus_asks_services_of_the_compose_file() -> None:
    config = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text("utf-8"))
    asked = {job["job_name"]: job for job in config["scrape_configs"]}
    (discovery,) = asked["worker"]["dns_sd_configs"]
    assert all(SERVICES[name]["environment"]["METRICS_PORT"] == "${METRICS_PORT:-9400}" for name in discovery["names"])
    assert discovery["port"] == EXPORTER_PORT == 9400
    targets = [each for job in asked.values() for part in job.get("static_configs", []) for each in part["targets"]]
    (manager,) = config["alerting"]["alertmanagers"]
    named = {each.partition(":")[0] for each in [*targets, *manager["static_configs"][0]["targets"]]}
    assert named - {"localhost"} <= set(SERVICES)
    for name in [*named - {"localhost"}, *discovery["names"]]:
        assert "watching" in SERVICES[name]["networks"], name


def test_alertmanager_accepts_its_configuration() -> None:
    done = run("amtool", "check-config", PROMETHEUS / "alertmanager.yml")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("severity", ["critical", "warning"])
def test_every_alert_has_a_receiver(severity: str) -> None:
    words = (f"--config.file={PROMETHEUS / 'alertmanager.yml'}", f"severity={severity}", "alertname=x")
    done = run("amtool", "config", "routes", "test", "--verify.receivers=operators", *words)
    assert done.returncode == 0, done.stdout + done.stderr


def test_alertmanager_names_alerts_that_exist() -> None:
    config = yaml.safe_load((PROMETHEUS / "alertmanager.yml").read_text("utf-8"))
    named = {
        name
        for rule in config["inhibit_rules"]
        for matcher in (*rule["source_matchers"], *rule["target_matchers"])
        for name in re.findall(r'"(.+)"', matcher)[0].split("|")
    }
    assert named <= {rule.name for rule in rules()}


# ----- Grafana


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda each: each.name)
def test_the_dashboards_are_made_from_the_code(dashboard: Dashboard) -> None:
    path = FOLDER / f"{dashboard.name}.json"
    assert path.read_text("utf-8") == built(dashboard), "run `make dashboards`"
    assert {each.stem for each in FOLDER.iterdir()} == {each.name for each in DASHBOARDS}


@pytest.mark.parametrize(("name", "expr"), EVERY)
def test_each_expression_names_metrics_and_labels_that_are_exported(name: str, expr: str) -> None:
    metrics = set(METRIC.findall(expr))
    assert metrics
    assert metrics - OF_OTHERS <= set(LABELS)
    if metrics & OF_OTHERS:
        return
    known = set.union(*(LABELS[metric] for metric in metrics))
    grouped = [label.strip() for labels in re.findall(r"by \(([^)]*)\)", expr) for label in labels.split(",")]
    matched = re.findall(r"(\w+)(?:=~|!~|!=|=)\"", expr)
    assert {*grouped, *matched} <= known


def test_prometheus_understands_each_expression(tmp_path: Path) -> None:
    def check(expressions: list[str]) -> subprocess.CompletedProcess[str]:
        recorded = [{"record": f"panel:{number}", "expr": expr} for number, expr in enumerate(expressions)]
        path = tmp_path / "rules.yml"
        path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": recorded}]}), "utf-8")
        return run("promtool", "check", "rules", path)

    every = [expr for _, expr in EVERY]
    done = check(every)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(every)} rules found" in done.stdout
    assert check([*every, "sum by portal realestate_workers"]).returncode != 0


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda each: each.name)
def test_panels_do_not_overlap_and_have_the_source_that_is_provisioned(dashboard: Dashboard) -> None:
    made = json.loads(built(dashboard))
    (source,) = yaml.safe_load((ROOT / "deploy/grafana/provisioning/datasources/prometheus.yml").read_text("utf-8"))[
        "datasources"
    ]
    taken: set[tuple[int, int]] = set()
    for panel in made["panels"]:
        assert panel["datasource"] == {"type": source["type"], "uid": source["uid"]}
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken
        assert place["x"] + place["w"] <= 24
        taken |= cells
    variables = {each["name"] for each in (made.get("templating") or {}).get("list") or []}
    assert variables == ({"portal"} if "$portal" in json.dumps(made["panels"]) else set())


def test_grafana_reads_the_folders_of_the_compose_file() -> None:
    (provider,) = yaml.safe_load((ROOT / "deploy/grafana/provisioning/dashboards/realestate.yml").read_text("utf-8"))[
        "providers"
    ]
    mounted = dict(each.split(":")[:2] for each in SERVICES["grafana"]["volumes"])
    assert mounted["./deploy/grafana/dashboards"] == provider["options"]["path"]
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert Path(home).name in {each.name for each in FOLDER.iterdir()}
