"""The manifests are valid, name what exists, and a wrong field in them is caught."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from typer.main import get_command

from realestate import __version__
from realestate.cli import app
from realestate.environment import SECRETS
from realestate.monitoring.catalogue import ALL as CATALOGUE
from realestate.monitoring.catalogue import exported_name
from tests.deploy.tools import definitions, program, skipped_without_tool
from tests.variables import variables_read

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
KUBERNETES = "1.37"
MANIFESTS = sorted(path for path in FOLDER.rglob("*.yaml") if path.name != "kustomization.yaml")
OVERLAYS = ("base", "small", "production")
#: Kinds of operators; their schemas are not part of Kubernetes.
OPERATORS = {"ScaledObject": "keda", "ServiceMonitor": "prometheus", "PodMonitor": "prometheus"}


def documents(text: str) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(text) if document]


def core(text: str) -> list[dict[str, Any]]:
    return [document for document in documents(text) if document["kind"] not in OPERATORS]


ALL = [(path, document) for path in MANIFESTS for document in documents(path.read_text("utf-8"))]
IDS = [f"{path.parent.name}/{document['kind']}-{document['metadata']['name']}" for path, document in ALL]


def pods() -> list[dict[str, Any]]:
    """The pod templates, with their kind."""
    return [document["spec"]["template"] for _, document in ALL if "template" in document.get("spec", {})]


@pytest.mark.parametrize(("path", "document"), ALL, ids=IDS)
def test_each_manifest_fits_the_schema_of_its_kind(path: Path, document: dict[str, Any]) -> None:
    if document["kind"] not in OPERATORS:
        kubernetes_validate.validate(document, KUBERNETES, strict=True)


@pytest.mark.parametrize(("path", "document"), ALL, ids=IDS)
def test_a_wrong_field_is_caught(path: Path, document: dict[str, Any]) -> None:
    if document["kind"] in OPERATORS:
        return
    planted = json.loads(json.dumps(document))
    planted.setdefault("spec", {})["replicaz"] = 3
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(planted, KUBERNETES, strict=True)


def built(folder: Path) -> str:
    """What `kubectl kustomize` prints."""
    with skipped_without_tool():
        command = ["kubectl", "kustomize"] if shutil.which("kubectl") else [program("kustomize"), "build"]
    return subprocess.run([*command, str(folder)], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_each_overlay_is_built_and_valid(overlay: str) -> None:
    found = core(built(FOLDER / overlay))
    assert {"Deployment", "PodDisruptionBudget", "NetworkPolicy", "Job"} <= {each["kind"] for each in found}
    for document in found:
        kubernetes_validate.validate(document, KUBERNETES, strict=True)
        assert document["kind"] == "Namespace" or document["metadata"]["namespace"] == "realestate"


def test_the_autoscaler_without_keda_is_a_component_of_production(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "kubernetes")
    path = tmp_path / "kubernetes" / "production" / "kustomization.yaml"
    text = path.read_text("utf-8").replace("  - scaling.yaml\n", "") + "components: [../hpa]\n"
    path.write_text(text, "utf-8")
    kinds = [each["kind"] for each in documents(built(path.parent))]
    assert "HorizontalPodAutoscaler" in kinds
    assert "ScaledObject" not in kinds


def schemas_of(operator: str, folder: Path) -> Path:
    """JSON Schemas for kubeconform, made of the definitions in the operator's Go module."""
    # Only the kinds that we have: PyYAML cannot read some of the others.
    own = {f"{kind.lower()}s" for kind in OPERATORS}
    found = [path for path in definitions(operator) if path.stem.rpartition("_")[2] in own]
    assert found
    for path in found:
        definition = yaml.safe_load(path.read_text("utf-8"))
        kind = definition["spec"]["names"]["kind"].lower()
        for version in definition["spec"]["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            _forbid_unknown(schema)
            (folder / f"{kind}_{version['name']}.json").write_text(json.dumps(schema), "utf-8")
    return folder


def _forbid_unknown(schema: dict[str, Any]) -> None:
    """The cluster drops fields that a definition does not have; here they are errors."""
    if "properties" in schema:
        if not schema.get("x-kubernetes-preserve-unknown-fields") and set(schema["properties"]) != {"metadata"}:
            schema.setdefault("additionalProperties", False)
        for each in schema["properties"].values():
            _forbid_unknown(each)
    if isinstance(schema.get("items"), dict):
        _forbid_unknown(schema["items"])


def conforms(document: dict[str, Any], folder: Path) -> bool:
    """Whether the document fits the definition of its operator."""
    with skipped_without_tool():
        kubeconform = program("kubeconform")
        schemas = schemas_of(OPERATORS[document["kind"]], folder)
    (folder / "document.yaml").write_text(yaml.safe_dump(document), "utf-8")
    location = f"{schemas}/{{{{.ResourceKind}}}}_{{{{.ResourceAPIVersion}}}}.json"
    command = [kubeconform, "-strict", "-schema-location", location, str(folder / "document.yaml")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode == 0


OF_OPERATORS = [document for _, document in ALL if document["kind"] in OPERATORS]


@pytest.mark.parametrize("document", OF_OPERATORS, ids=lambda document: document["kind"])
def test_what_operators_read_fits_their_definition_and_a_wrong_field_is_caught(
    tmp_path: Path, document: dict[str, Any]
) -> None:
    assert conforms(document, tmp_path)
    assert not conforms({**document, "spec": {**document["spec"], "maxReplicas": 3}}, tmp_path)


@pytest.mark.parametrize("planted", [("pollingInterval", "often"), ("triggers", [{"type": "prometheus"}])])
def test_a_wrong_value_in_the_scaled_object_is_caught(tmp_path: Path, planted: tuple[str, Any]) -> None:
    (scaled,) = (document for document in OF_OPERATORS if document["kind"] == "ScaledObject")
    assert not conforms({**scaled, "spec": {**scaled["spec"], planted[0]: planted[1]}}, tmp_path)


def test_autoscalers_ask_for_a_metric_that_is_exported() -> None:
    (scaled,) = (document for document in OF_OPERATORS if document["kind"] == "ScaledObject")
    (trigger,) = scaled["spec"]["triggers"]
    (asked,) = re.findall(r"realestate_\w+", trigger["metadata"]["query"])
    (hpa,) = (document for _, document in ALL if document["kind"] == "HorizontalPodAutoscaler")
    assert asked == hpa["spec"]["metrics"][0]["external"]["metric"]["name"]
    assert asked in {exported_name(metric) for metric in CATALOGUE}


def test_monitors_and_policies_select_pods_with_that_port() -> None:
    ports = {
        pod["metadata"]["labels"]["app.kubernetes.io/component"]: {port["name"] for port in container.get("ports", [])}
        for pod in pods()
        for container in pod["spec"]["containers"]
    }
    for document in OF_OPERATORS:
        if document["kind"] != "ScaledObject":
            component = document["spec"]["selector"]["matchLabels"]["app.kubernetes.io/component"]
            assert "metrics" in ports[component]


def test_the_timetable_of_the_cluster_is_valid() -> None:
    own = (FOLDER / "base" / "timetable.toml").read_text("utf-8").splitlines()[1:]
    assert own == (ROOT / "docker" / "config" / "timetable.toml").read_text("utf-8").splitlines()[1:]


def test_a_lost_exporter_does_not_scale_down() -> None:
    (scaled,) = documents((FOLDER / "production" / "scaling.yaml").read_text("utf-8"))
    (trigger,) = scaled["spec"]["triggers"]
    assert trigger["metadata"]["ignoreNullValues"] == "false"
    assert scaled["spec"]["fallback"]["behavior"] == "currentReplicasIfHigher"
    assert scaled["spec"]["minReplicaCount"] >= 1


def test_the_commands_of_the_pods_exist() -> None:
    known: Any = get_command(app)
    ours = [
        container for pod in pods() for container in pod["spec"]["containers"] if container["image"] == "realestate"
    ]
    assert len(ours) >= 8
    for container in ours:
        program, *words = container["args"]
        assert program == "realestate"
        found = known
        while hasattr(found, "commands"):
            found = found.commands[words.pop(0)]
        found.make_context("realestate", words)


def test_pods_may_do_no_more_than_they_need() -> None:
    for pod in pods():
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["limits"]["memory"]
            assert container["resources"]["requests"]


def test_secrets_come_by_reference_as_files() -> None:
    """No manifest holds a secret, and no secret is in the environment of a pod."""
    assert not [path for path, document in ALL if document["kind"] == "Secret"]
    for pod in pods():
        for container in pod["spec"]["containers"]:
            names = {each["name"]: each.get("value", "") for each in container.get("env", [])}
            assert not set(names) & SECRETS
            assert all(value.startswith("/run/secrets/") for name, value in names.items() if name.endswith("_FILE"))
            assert {name for name in names if name.removesuffix("_FILE") not in {*variables_read()}} <= {
                "POSTGRES_USER",
                "POSTGRES_DB",
            }


def test_a_pod_has_only_the_secrets_that_it_reads() -> None:
    """A worker that was taken over must not find the address of the migrator."""
    seen = 0
    for pod in pods():
        files = {
            str(each["value"]).removeprefix("/run/secrets/realestate/")
            for container in pod["spec"]["containers"]
            for each in container.get("env", [])
            if str(each.get("value")).startswith("/run/secrets/realestate/")
        }
        for volume in pod["spec"]["volumes"]:
            if volume.get("secret", {}).get("secretName") == "realestate":
                assert {item["key"] for item in volume["secret"]["items"]} == files
                assert all(item["key"] == item["path"] for item in volume["secret"]["items"])
                seen += 1
    assert seen == 8


def test_every_process_that_sends_messages_knows_whom_to_send_alerts() -> None:
    """`watch` and `searches` take what is due from the same outbox."""
    for pod in pods():
        if pod["metadata"]["labels"]["app.kubernetes.io/component"] in ("watch", "searches"):
            (container,) = pod["spec"]["containers"]
            assert "NOTIFY_URLS_FILE" in {each["name"] for each in container["env"]}


def test_a_worker_has_time_to_drain() -> None:
    from realestate import settings

    workers = [pod["spec"] for pod in pods() if pod["metadata"]["labels"]["app.kubernetes.io/component"] == "worker"]
    assert len(workers) == 2
    for spec in workers:
        (container,) = spec["containers"]
        assert spec["terminationGracePeriodSeconds"] > settings.DOWNLOAD_TIMEOUT + 30
        assert container["lifecycle"]["preStop"]
        assert "readinessProbe" in container
        assert "livenessProbe" not in container, "a worker waits for Redis and the store; restarting it helps nobody"


def test_the_workers_of_a_portal_group_differ_in_their_portals_only() -> None:
    def template(path: str) -> dict[str, Any]:
        deployment = next(
            each for each in documents((FOLDER / path).read_text("utf-8")) if each["kind"] == "Deployment"
        )
        spec: dict[str, Any] = deployment["spec"]["template"]["spec"]
        spec["containers"][0]["args"] = spec["containers"][0]["args"][:2]
        spec.pop("topologySpreadConstraints", None)
        return spec

    assert template("base/worker.yaml") == template("production/portals-immoweb.yaml")


def test_the_version_of_the_image_is_ours() -> None:
    for name in ("base", "production"):
        (kustomization,) = documents((FOLDER / name / "kustomization.yaml").read_text("utf-8"))
        assert [image["newTag"] for image in kustomization["images"]] == [__version__]
