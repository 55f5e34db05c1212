"""An alert on its whole way: our exporter, a real Prometheus with our rules, a real Alertmanager, a webhook."""

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from redis import Redis

from realestate import environment
from realestate.jobs.submit import submit
from realestate.monitoring.rules import prometheus_rules
from realestate.queue import keys
from realestate.storage import FullStore
from tests.monitoring.receiver import Receiver

PROMETHEUS = shutil.which("prometheus")
ALERTMANAGER = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
PATIENCE = 90.0

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(PROMETHEUS is None, reason="prometheus is not installed"),
    pytest.mark.skipif(ALERTMANAGER is None, reason="alertmanager is not installed"),
]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def running(command: list[str], log: Path, env: Mapping[str, str] | None = None) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=env, cwd=log.parent)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def until(condition: Callable[[], Any], what: str, folder: Path) -> Any:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.2)
    logs = "\n".join(path.read_text("utf-8")[-1000:] for path in folder.glob("*.log"))
    pytest.fail(f"still waiting for {what}\n{logs}")


def configure(folder: Path, exporter: int, alertmanager: int, receiver: Receiver) -> None:
    """The rules of the repository, but without the time that they wait; everything else every second."""
    rules = prometheus_rules()
    for rule in rules["groups"][0]["rules"]:
        rule["for"] = "0s"
    (folder / "alerts.yml").write_text(yaml.safe_dump(rules, allow_unicode=True))
    prometheus = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": ["alerts.yml"],
        "scrape_configs": [{"job_name": "realestate", "static_configs": [{"targets": [f"127.0.0.1:{exporter}"]}]}],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{alertmanager}"]}]}]},
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(prometheus))
    route = {
        "receiver": "nobody",
        "group_by": ["..."],
        "group_wait": "0s",
        "group_interval": "1s",
        "routes": [{"receiver": "us", "matchers": ['alertname="workers_missing"']}],
    }
    receivers = [{"name": "nobody"}, {"name": "us", "webhook_configs": [{"url": receiver.url, "send_resolved": True}]}]
    (folder / "alertmanager.yml").write_text(yaml.safe_dump({"route": route, "receivers": receivers}))


def received(receiver: Receiver, status: str) -> list[dict[str, Any]]:
    return [alert for each in receiver.accepted for alert in each["alerts"] if alert["status"] == status]


def test_an_alert_and_its_recovery_arrive_once(
    store: FullStore, store_url: str, redis_url: str, server: Redis, receiver: Receiver, tmp_path: Path
) -> None:
    ports = free_port(), free_port(), free_port()
    configure(tmp_path, ports[0], ports[1], receiver)
    env = environment.changed(REDIS_URL=redis_url, STORE_URL=store_url, REALESTATE_HOME=str(tmp_path / "home"))
    exporter = [sys.executable, "-m", "realestate", "exporter", "--port", str(ports[0])]
    alertmanager = [
        str(ALERTMANAGER),
        "--config.file=alertmanager.yml",
        f"--web.listen-address=127.0.0.1:{ports[1]}",
        "--cluster.listen-address=",
        "--storage.path=alertmanager",
    ]
    prometheus = [
        str(PROMETHEUS),
        "--config.file=prometheus.yml",
        f"--web.listen-address=127.0.0.1:{ports[2]}",
        "--storage.tsdb.path=prometheus",
    ]
    submit(server, "bina", ["https://bina.az/alqi-satqi"])
    with (
        running(exporter, tmp_path / "exporter.log", env),
        running(alertmanager, tmp_path / "alertmanager.log"),
        running(prometheus, tmp_path / "prometheus.log"),
    ):
        (fired,) = until(lambda: received(receiver, "firing"), "the alert", tmp_path)
        assert fired["labels"] == {"alertname": "workers_missing", "portal": "bina", "severity": "critical"}
        assert fired["annotations"]["summary"] == "bina: requests wait and no worker runs."
        assert fired["annotations"]["runbook"] == "docs/runbook.md#workers_missing"
        server.hset(keys.heartbeats("bina"), "host:1:a", json.dumps({"pages": 1}))
        until(lambda: received(receiver, "resolved"), "its recovery", tmp_path)
    assert len(received(receiver, "firing")) == 1
    assert len(received(receiver, "resolved")) == 1
