"""A DAG of Airflow 3: submits a crawl of each portal through the API, and waits until the job has ended.

It needs `apache-airflow-providers-http` and a connection `realestate` whose extra is the header of an API key that may
operate (`realestate serve --new-key airflow --operate`):

    airflow connections add realestate --conn-type http --conn-host https://realestate.example.org \\
        --conn-extra '{"Authorization": "Bearer <key>"}'

Without Airflow the timetable of realestate starts jobs at their times: docs/timetable.md.
"""

from datetime import datetime, timedelta
from typing import Any

from airflow.providers.http.hooks.http import HttpHook
from airflow.sdk import PokeReturnValue, dag, get_current_context, task
from airflow.sdk.exceptions import AirflowFailException

CONNECTION = "realestate"
PORTALS = ("immoweb", "emlak", "bina", "tap")
JOBS = "/api/v1/jobs"
#: A job in one of these states goes on no more.
OVER = ("finished", "cancelled", "failed")


def ask(method: str, path: str, **options: Any) -> dict[str, Any]:
    """The JSON that the API answers. Raises AirflowException for an error, which Airflow tries again."""
    answer: dict[str, Any] = HttpHook(method=method, http_conn_id=CONNECTION).run(path, **options).json()
    return answer


@task
def submit(portal: str) -> str:
    """Submit a job, and return its id. A second try of the same run gets the same job, because it has the same key."""
    run = get_current_context()["run_id"]
    order = {"portal": portal, "mode": "full", "deadline": "20h", "key": f"airflow-{run}-{portal}"}
    return str(ask("POST", JOBS, json=order)["job"])


@task.sensor(poke_interval=60, timeout=22 * 3600, mode="reschedule")
def wait(job: str) -> PokeReturnValue:
    """Wait until the job has ended. It fails if the job did not finish. The result is what the job did."""
    found = ask("GET", f"{JOBS}/{job}")
    if found["state"] in OVER and found["state"] != "finished":
        raise AirflowFailException(f"job {job} is {found['state']}: {found.get('reason') or 'no reason is known'}")
    return PokeReturnValue(is_done=found["state"] == "finished", xcom_value=found)


@dag(
    schedule="@daily",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5)},
    tags=["realestate"],
)
def realestate_crawl() -> None:
    """A full crawl of each portal once a day."""
    for portal in PORTALS:
        job = submit.override(task_id=f"submit_{portal}")(portal)
        wait.override(task_id=f"wait_{portal}")(job)


realestate_crawl()
