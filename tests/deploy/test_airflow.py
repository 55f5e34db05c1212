"""The DAG of Airflow: it names what the API has. A real DagBag imports it, and its tasks run, if it is there."""

import ast
import json
import os
import subprocess
from pathlib import Path

import pytest
from redis import Redis

from realestate.jobs.state import OVER
from realestate.jobs.work import all_portals
from realestate.storage import open_store
from realestate.storage.postgres import PostgresStore
from realestate.web.app import create_app
from realestate.web.keys import new_key, read_keys
from tests.web.server import serving

ROOT = Path(__file__).parents[2]
DAG = ROOT / "deploy" / "airflow" / "realestate_crawl.py"
#: Airflow pins versions of what we need too, so it has an environment of its own:
#: python3 -m venv .venv-airflow && .venv-airflow/bin/pip install apache-airflow apache-airflow-providers-http
AIRFLOW = Path(os.environ.get("AIRFLOW_PYTHON", ROOT / ".venv-airflow" / "bin" / "python"))
SCRIPT = """
import json, sys
from airflow.dag_processing.dagbag import DagBag

bag = DagBag(sys.argv[1])
(dag,) = bag.dags.values()
module = sys.modules[dag.get_task("submit_immoweb").python_callable.__module__]
module.get_current_context = lambda: {"run_id": "manual"}
submit, wait = module.submit.function, module.wait.function
job = submit("immoweb")
again = submit("immoweb")
waits = wait(job).is_done
module.ask("POST", f"{module.JOBS}/{job}/cancel")
try:
    wait(job)
    failed = ""
except module.AirflowFailException as error:
    failed = str(error)
print(json.dumps({
    "errors": bag.import_errors, "dag": dag.dag_id, "tasks": sorted(dag.task_ids),
    "job": job, "again": again, "done": waits, "failed": failed,
}))
"""


def constants() -> dict[str, object]:
    """The constants of the DAG's file, read without Airflow."""
    tree = ast.parse(DAG.read_text("utf-8"))
    named = [node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)]
    return {node.targets[0].id: ast.literal_eval(node.value) for node in named}  # type: ignore[attr-defined]


def test_the_dag_names_what_the_api_has() -> None:
    found = constants()
    paths = json.loads((ROOT / "docs" / "openapi.json").read_text("utf-8"))["paths"]
    assert "post" in paths[found["JOBS"]]
    assert "get" in paths[f"{found['JOBS']}/{{job}}"]
    assert isinstance(found["PORTALS"], tuple)
    assert set(found["PORTALS"]) <= set(all_portals())
    assert isinstance(found["OVER"], tuple)
    assert set(found["OVER"]) == set(OVER)


def test_a_real_airflow_imports_the_dag_and_its_tasks_use_the_api(
    store: PostgresStore, store_url: str, redis_url: str, server: Redis, tmp_path: Path
) -> None:
    if not AIRFLOW.exists():
        pytest.skip("there is no Airflow in .venv-airflow, and AIRFLOW_PYTHON names none")
    key, entry = new_key("airflow", "operate")
    app = create_app(lambda: open_store(store_url), redis_url, api_keys=read_keys(entry))
    with serving(app) as url:
        connection = {"conn_type": "http", "host": url, "extra": {"Authorization": f"Bearer {key}"}}
        env = {
            **os.environ,
            "AIRFLOW_HOME": str(tmp_path),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
            "AIRFLOW_CONN_REALESTATE": json.dumps(connection),
        }
        command = [str(AIRFLOW), "-c", SCRIPT, str(DAG.parent)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found["errors"] == {}
    assert found["dag"] == "realestate_crawl"
    assert "wait_immoweb" in found["tasks"]
    assert found["job"] == found["again"], "a second try submits no second job"
    assert found["done"] is False
    assert "cancelled" in found["failed"]
