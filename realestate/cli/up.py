"""`realestate up` and `autoscale`: the workers of this machine, and how many are wanted."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from realestate.cli.options import JsonFlag

if TYPE_CHECKING:
    from redis import Redis

    from realestate.jobs.scaling import Load, Scaler
    from realestate.jobs.supervise import WorkerPool

#: How often the supervisor looks at its workers, and how often it asks how many are wanted.
LOOK_SECONDS = 0.5
DECIDE_SECONDS = 15.0

PortalsArgument = Annotated[list[str] | None, typer.Argument(help="Portals to serve; all by default.")]


def up(
    portals: PortalsArgument = None,
    workers: Annotated[
        str, typer.Option(help="How many worker processes: a number, or auto, as many as the load needs.")
    ] = "auto",
    most: Annotated[
        int | None, typer.Option(min=1, help="The most workers with auto; by default what processors and memory allow.")
    ] = None,
) -> None:
    """Run workers on this machine until SIGTERM: the dead are started again, and all are drained at the end."""
    from realestate import environment, settings
    from realestate.cli.connections import check_portals, check_redis_login, connect_redis, connected
    from realestate.cli.errors import UsageError
    from realestate.jobs import work
    from realestate.jobs.load import room_here
    from realestate.jobs.scaling import Scaler
    from realestate.jobs.supervise import WorkerPool
    from realestate.monitoring.logs import start_logging

    if workers != "auto" and (not workers.isdecimal() or not 1 <= int(workers) <= 1000):
        raise UsageError(f"--workers {workers!r}: write a number from 1 to 1000, or auto")
    names = check_portals(portals or work.portals(settings.SIMULATOR_URL))
    start_logging(settings.LOG_LEVEL, as_json=settings.LOG_JSON)
    logs = settings.REALESTATE_HOME / "logs"
    with connected() as addresses:
        check_redis_login(addresses.redis_url)
        env = environment.changed(REDIS_URL=addresses.redis_url, STORE_URL=addresses.store_url)
        pool = WorkerPool(names, env, logs)
        try:
            if workers == "auto":
                _run_auto(
                    pool, Scaler(most=most or room_here()), connect_redis(addresses.redis_url), by_room=most is None
                )
            else:
                pool.resize(int(workers))
                print(f"{workers} workers; their logs: {logs}", flush=True)
                _look_on(pool, lambda: None)
        except KeyboardInterrupt:
            print("stopping: the workers finish what they have begun", flush=True)
        finally:
            pool.stop()


def _run_auto(pool: "WorkerPool", scaler: "Scaler", server: "Redis", *, by_room: bool) -> None:
    """`by_room`: look each time how many workers this machine can hold."""
    import logging

    from realestate.jobs.load import room_here

    logger = logging.getLogger(__name__)

    def decide() -> None:
        if by_room:
            scaler.most = room_here(pool.living)
        load = _load(server, pool.portals)
        wanted = scaler.decide(load, len(pool.places), time.monotonic())
        if wanted.workers != len(pool.places):
            logger.info("up/workers from=%d to=%d: %s", len(pool.places), wanted.workers, "; ".join(wanted.reasons))
            pool.resize(wanted.workers)

    print(f"up to {scaler.most} workers; their logs: {pool.logs}", flush=True)
    _look_on(pool, decide)


def _look_on(pool: "WorkerPool", decide: Callable[[], None]) -> None:
    decided_at = float("-inf")
    while True:
        if time.monotonic() - decided_at >= DECIDE_SECONDS:
            decided_at = time.monotonic()
            decide()
        pool.look()
        time.sleep(LOOK_SECONDS)


def _load(server: "Redis", portals: Sequence[str]) -> "Load | None":
    """None while Redis is away: then nothing is changed."""
    from realestate.jobs.load import read_load
    from realestate.queue.redis_client import REDIS_ERRORS

    try:
        return read_load(server, portals)[0]
    except REDIS_ERRORS:
        return None


def autoscale(
    portals: PortalsArgument = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print the calculation, not only the number.")] = False,
    most: Annotated[int, typer.Option(min=1, help="The most workers.")] = 64,
    json: JsonFlag = False,
) -> None:
    """Print how many workers the fleet needs now. It starts none: `realestate up` and Kubernetes do."""
    from realestate import settings
    from realestate.cli import terminal
    from realestate.cli.connections import check_portals, connect_redis, redis_address
    from realestate.jobs import work
    from realestate.jobs.load import read_load
    from realestate.jobs.scaling import Scaler

    names = check_portals(portals or work.portals(settings.SIMULATOR_URL))
    with redis_address() as url, connect_redis(url) as server:
        load, workers = read_load(server, names)
    wanted = Scaler(least=0, most=most).decide(load, workers, time.monotonic())
    if json:
        terminal.print_json({**asdict(wanted), "running": workers, "pages_per_second": load.pages_per_second})
    elif explain:
        print(f"workers running: {workers}")
        print(wanted)
    else:
        print(wanted.workers)
