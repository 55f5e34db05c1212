"""`realestate exporter` and `realestate health`: the state of the fleet for machines, and for people in a hurry."""

import time
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from realestate.cli.options import JsonFlag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from realestate.cli.connections import Addresses
    from realestate.monitoring.fleet_metrics import FleetReader, Samples

#: The port of the exporter if METRICS_PORT is not set.
PORT = 9400
#: A disk with less free space than this share fails the health check.
LEAST_DISK = 0.05


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the fleet."""

    name: str
    is_healthy: bool
    text: str


@contextmanager
def fleet_reader(addresses: "Addresses") -> "Iterator[FleetReader]":
    """Reads the state of the fleet. Its connections are closed at the end."""
    from realestate import settings
    from realestate.cli.connections import connect_redis
    from realestate.jobs.fleet import look
    from realestate.jobs.load import load_of
    from realestate.jobs.scaling import Scaler
    from realestate.jobs.work import all_portals
    from realestate.monitoring.fleet_metrics import FleetReader
    from realestate.storage import open_store

    scaler = Scaler(least=0)
    reader = FleetReader(
        all_portals,
        look,
        lambda: connect_redis(addresses.redis_url),
        lambda: open_store(addresses.store_url),
        settings.REALESTATE_HOME,
        wanted=lambda states: scaler.decide(*load_of(states), time.monotonic()).workers,
    )
    try:
        yield reader
    finally:
        reader.close()


def exporter(
    port: Annotated[int | None, typer.Option(help=f"METRICS_PORT by default, or {PORT}.")] = None,
    address: Annotated[str | None, typer.Option(help="METRICS_ADDRESS by default, or 127.0.0.1.")] = None,
) -> None:
    """Serve the metrics of the whole fleet for Prometheus: /metrics, /healthz, /readyz."""
    from prometheus_client import CollectorRegistry

    from realestate import settings
    from realestate.cli.connections import connected
    from realestate.cli.errors import UsageError
    from realestate.monitoring.endpoint import Endpoint, Ready
    from realestate.monitoring.fleet_metrics import FleetMetrics

    with connected() as addresses, fleet_reader(addresses) as reader:
        metrics = FleetMetrics(reader.read)
        registry = CollectorRegistry()
        registry.register(metrics)

        def ready() -> Ready:
            parts = parts_of(metrics.samples(), reader.errors)
            needed = [part for part in parts if part.name in ("redis", "store")]
            return Ready(all(part.is_healthy for part in needed), {part.name: part.text for part in parts})

        wanted = settings.METRICS_PORT or PORT if port is None else port
        where = address or settings.METRICS_ADDRESS
        served = Endpoint.start(wanted, where, registry, ready, ports=1)
        if served is None:
            raise UsageError(f"port {wanted} of {where} is in use: choose another with --port")
        print(f"http://{where}:{served.port}/metrics", flush=True)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            served.stop()


def health(
    role: Annotated[
        str | None,
        typer.Option(metavar="ROLE", help="Only what this process needs: worker, timetable, watch, web or exporter."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Say in one line for each part whether the fleet is healthy. The exit code is 1 if a part is not.

    With --role it is the health check of a container: a worker is healthy if it serves a portal and reaches its
    servers."""
    from realestate.cli import terminal

    if role is None:
        from realestate.cli.connections import kept

        with kept() as addresses, fleet_reader(addresses) as reader:
            samples = reader.read()
            parts = parts_of(samples, reader.errors)
    else:
        parts = _parts_of_role(role)
    is_healthy = all(part.is_healthy for part in parts)
    if json:
        terminal.print_json({"healthy": is_healthy, "parts": [asdict(part) for part in parts]})
    else:
        for part in parts:
            print(f"{'ok   ' if part.is_healthy else 'FAULT'}  {part.name:<10} {part.text}")
    raise typer.Exit(0 if is_healthy else 1)


def _parts_of_role(role: str) -> "Sequence[Part]":
    from realestate.cli.errors import UsageError
    from realestate.cli.role_health import Role, parts_of_role

    names = [str(each) for each in Role]
    if role not in names:
        raise UsageError(f"--role {role!r}: the roles are {', '.join(names)}")
    return parts_of_role(Role(role))


def parts_of(samples: "Samples", errors: dict[str, str]) -> "Sequence[Part]":
    """Each part of the fleet, and whether it is healthy."""
    parts = [
        Part("redis", "redis" not in errors, errors.get("redis", "reachable")),
        Part("store", "store" not in errors, errors.get("store", "reachable")),
    ]
    if "redis" not in errors:
        queues = samples["realestate_queue_requests"]
        waiting = sum(count for (_, state), count in queues.items() if state != "in_flight")
        workers = int(samples["realestate_worker_processes"][()])
        text = f"{workers} running, {int(waiting):,} requests and seeds wait"
        parts.append(Part("workers", workers > 0 or not waiting, text))
        dead = sum(samples["realestate_dead_letters"].values())
        parts.append(Part("queue", True, f"{int(dead):,} dead letters are kept"))
        paused = sorted(portal for (portal, _), on in samples["realestate_portal_paused"].items() if on)
        parts.append(Part("portals", True, f"paused: {', '.join(paused)}" if paused else "none is paused"))
    if "store" not in errors:
        failed = int(_series(samples, "notifications").get(("failed",), 0))
        parts.append(Part("messages", not failed, f"{failed} were not delivered in the last day"))
    free = samples["realestate_disk_free_ratio"][()]
    parts.append(Part("disk", free >= LEAST_DISK, f"{free:.0%} free"))
    return parts


def _series(samples: "Samples", name: str) -> dict[tuple[str, ...], float]:
    return samples.get(f"realestate_{name}", {})
