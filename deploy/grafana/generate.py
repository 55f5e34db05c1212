"""Writes the dashboards of Grafana: `make dashboards`.

A dashboard is a table of panels: change it here, never in the JSON. A test checks that the files are up to date, that
Prometheus understands each expression, and that each metric in it is one of docs/metrics.md.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import BigValueGraphMode, LegendDisplayMode, LegendPlacement
from grafana_foundation_sdk.models.dashboard import DashboardCursorSync, DataSourceRef, GridPos, VariableRefresh

FOLDER = Path(__file__).parent / "dashboards"
#: The data source of provisioning/datasources.
SOURCE = DataSourceRef(type_val="prometheus", uid="prometheus")
#: Two graphs or four numbers in a row of 24 columns.
GRAPH_SIZE = (12, 8)
NUMBER_SIZE = (6, 4)


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel. `lines` are expressions with the name of their lines, in which {{label}} is filled."""

    title: str
    lines: tuple[tuple[str, str], ...]
    unit: str = "short"
    help: str = ""
    is_number: bool = False


def number(title: str, expr: str, unit: str = "short", help: str = "") -> Panel:
    return Panel(title, ((expr, title),), unit, help, is_number=True)


def graph(title: str, *lines: tuple[str, str], unit: str = "short", help: str = "") -> Panel:
    return Panel(title, lines, unit, help)


@dataclass(frozen=True, slots=True)
class Dashboard:
    name: str
    title: str
    panels: tuple[Panel, ...]
    by_portal: bool = False
    """Whether it has a choice of portals, the variable $portal."""


FLEET = Dashboard(
    "fleet",
    "Fleet",
    (
        number("Worker processes", "max(realestate_worker_processes)"),
        number("Workers wanted", "max(realestate_workers_wanted)", help="What `realestate autoscale` says."),
        number("Requests waiting", 'sum(realestate_queue_requests{state!="in_flight"})'),
        number("Stored listings", "sum(realestate_stored_listings)"),
        graph(
            "Pages per second",
            ("sum by (portal) (rate(realestate_fleet_responses_total[5m]))", "{{portal}}"),
            unit="reqps",
        ),
        graph(
            "New listings per hour",
            ("sum by (portal) (increase(realestate_fleet_listings_new_total[1h]))", "{{portal}}"),
        ),
        graph(
            "Pages by outcome",
            ("sum by (outcome) (rate(realestate_fleet_pages_total[5m]))", "{{outcome}}"),
            unit="reqps",
        ),
        graph("Workers", ("max(realestate_worker_processes)", "running"), ("max(realestate_workers_wanted)", "wanted")),
        graph(
            "Servers that can be reached",
            ("min by (service) (realestate_up)", "{{service}}"),
            help="1: reachable, 0: not.",
        ),
        graph(
            "Dead letters per hour",
            ("sum by (portal) (increase(realestate_fleet_dead_letters_total[1h]))", "{{portal}}"),
        ),
        graph("Load for each CPU", ("max by (instance) (realestate_load_per_cpu)", "{{instance}}")),
        graph(
            "Free disk and memory",
            ("min(realestate_disk_free_ratio)", "disk"),
            ("min(realestate_memory_available_ratio)", "memory"),
            unit="percentunit",
        ),
        graph("Memory of a worker", ('process_resident_memory_bytes{job="worker"}', "{{instance}}"), unit="bytes"),
        graph(
            "CPU of a worker", ('rate(process_cpu_seconds_total{job="worker"}[5m])', "{{instance}}"), unit="percentunit"
        ),
    ),
)

PORTAL = Dashboard(
    "portal",
    "Portal",
    (
        number("Workers", 'sum(realestate_workers{portal=~"$portal"})'),
        number("Rate limit", 'sum(realestate_rate_limit_per_second{portal=~"$portal"})', "reqps"),
        number(
            "Paused", 'sum(realestate_portal_paused{portal=~"$portal"})', help="How many of the portals are paused."
        ),
        number("Dead letters kept", 'sum(realestate_dead_letters{portal=~"$portal"})'),
        graph(
            "Pages by outcome",
            ('sum by (outcome) (rate(realestate_fleet_pages_total{portal=~"$portal"}[5m]))', "{{outcome}}"),
            unit="reqps",
        ),
        graph(
            "Responses by status",
            ('sum by (status_class) (rate(realestate_responses_total{portal=~"$portal"}[5m]))', "{{status_class}}"),
            unit="reqps",
        ),
        graph(
            "Time of a response",
            (
                "histogram_quantile(0.5, sum by (le, stage) (rate(realestate_response_seconds_bucket[5m])))",
                "{{stage}}, median",
            ),
            (
                "histogram_quantile(0.95, sum by (le, stage) (rate(realestate_response_seconds_bucket[5m])))",
                "{{stage}}, 95 %",
            ),
            unit="s",
            help="Of all portals: it has no label for the portal.",
        ),
        graph(
            "Ban pages per hour",
            (
                'sum by (portal, kind) (increase(realestate_ban_pages_total{portal=~"$portal"}[1h]))',
                "{{portal}} {{kind}}",
            ),
        ),
        graph(
            "Retries",
            ('sum by (portal) (rate(realestate_retries_total{portal=~"$portal"}[5m]))', "{{portal}}"),
            unit="reqps",
        ),
        graph(
            "Rate limit",
            ('realestate_rate_limit_per_second{portal=~"$portal"}', "{{portal}}"),
            unit="reqps",
            help="Requests per second that are allowed now; 0 is no limit, or a pause.",
        ),
        graph("Proxies", ('sum by (condition) (realestate_proxies{portal=~"$portal"})', "{{condition}}")),
        graph(
            "Usable proxies", ('realestate_proxies_usable_ratio{portal=~"$portal"}', "{{portal}}"), unit="percentunit"
        ),
    ),
    by_portal=True,
)

QUEUE = Dashboard(
    "queue",
    "Queue",
    (
        number("Ready", 'sum(realestate_queue_requests{portal=~"$portal", state="ready"})'),
        number("In flight", 'sum(realestate_queue_requests{portal=~"$portal", state="in_flight"})'),
        number("Oldest request", 'max(realestate_queue_oldest_seconds{portal=~"$portal"})', "s"),
        number("Dead letters kept", 'sum(realestate_dead_letters{portal=~"$portal"})'),
        graph("Requests by state", ('sum by (state) (realestate_queue_requests{portal=~"$portal"})', "{{state}}")),
        graph(
            "Waiting by portal",
            ('sum by (portal) (realestate_queue_requests{portal=~"$portal", state!="in_flight"})', "{{portal}}"),
        ),
        graph(
            "Oldest request",
            ('max by (portal) (realestate_queue_oldest_seconds{portal=~"$portal"})', "{{portal}}"),
            unit="s",
        ),
        graph(
            "Expired leases per hour",
            ('sum by (portal) (increase(realestate_leases_expired_total{portal=~"$portal"}[1h]))', "{{portal}}"),
        ),
        graph(
            "Dead letters made, by reason",
            ('sum by (reason) (increase(realestate_dead_letters_made_total{portal=~"$portal"}[1h]))', "{{reason}}"),
        ),
        graph(
            "Commands to Redis that were waited for",
            ('sum by (portal) (rate(realestate_redis_round_trips_total{portal=~"$portal"}[5m]))', "{{portal}}"),
            unit="reqps",
        ),
        graph(
            "Event loop lag, 95 %",
            ("histogram_quantile(0.95, sum by (le) (rate(realestate_event_loop_lag_seconds_bucket[5m])))", "lag"),
            unit="s",
        ),
        graph(
            "Memory of Redis", ("redis_memory_used_bytes", "used"), ("redis_memory_max_bytes", "limit"), unit="bytes"
        ),
    ),
    by_portal=True,
)

STORE = Dashboard(
    "store",
    "Store",
    (
        number("Stored listings", 'sum(realestate_stored_listings{portal=~"$portal"})'),
        number("In quarantine", 'sum(realestate_stored_quarantined{portal=~"$portal"})'),
        number("Items waiting", 'sum(realestate_store_waiting{portal=~"$portal"})', help="In the memory of workers."),
        number("Messages not delivered", 'sum(realestate_notifications{state="failed"})'),
        graph("Stored listings", ('sum by (portal) (realestate_stored_listings{portal=~"$portal"})', "{{portal}}")),
        graph(
            "Events per hour", ('sum by (type) (increase(realestate_events_total{portal=~"$portal"}[1h]))', "{{type}}")
        ),
        graph(
            "Time to write a batch",
            (
                'sum by (portal) (rate(realestate_store_seconds_total{portal=~"$portal"}[5m]))'
                ' / (sum by (portal) (rate(realestate_store_batches_total{portal=~"$portal"}[5m])) > 0)',
                "{{portal}}",
            ),
            unit="s",
        ),
        graph(
            "Batches",
            ('sum by (portal) (rate(realestate_store_batches_total{portal=~"$portal"}[5m]))', "{{portal}}"),
            unit="ops",
        ),
        graph(
            "Items that wait to be stored",
            ('sum by (portal) (realestate_store_waiting{portal=~"$portal"})', "{{portal}}"),
        ),
        graph("Size of the database", ('pg_database_size_bytes{datname="realestate"}', "{{datname}}"), unit="bytes"),
        graph(
            "Connections of the database",
            ('sum by (state) (pg_stat_activity_count{datname="realestate"})', "{{state}}"),
        ),
        graph("Messages in the outbox", ("sum by (state) (realestate_notifications)", "{{state}}")),
    ),
    by_portal=True,
)

QUALITY = Dashboard(
    "quality",
    "Data quality",
    (
        number("Fields that vanished", 'sum(realestate_field_vanished{portal=~"$portal"})'),
        number(
            "Incomplete jobs",
            'sum(realestate_job_incomplete{portal=~"$portal"})',
            help="Of the newest job of each portal.",
        ),
        number("Delistings withheld", 'sum(realestate_delisting_withheld{portal=~"$portal"})'),
        number(
            "Searches without results",
            'sum(realestate_searches_empty{portal=~"$portal"})',
            help="That had some before.",
        ),
        graph(
            "Listings without a value",
            (
                'sum by (portal, field) (rate(realestate_field_missing_total{portal=~"$portal"}[30m]))'
                " / on (portal) group_left ()"
                ' (sum by (portal) (rate(realestate_listings_total{portal=~"$portal", result="made"}[30m])) > 0)',
                "{{portal}} {{field}}",
            ),
            unit="percentunit",
            help="The share of the listings of the last half hour.",
        ),
        graph(
            "Usual coverage of fields",
            ('realestate_field_coverage_ratio{portal=~"$portal"}', "{{portal}} {{field}}"),
            unit="percentunit",
        ),
        graph(
            "Listings by result",
            ('sum by (result) (rate(realestate_listings_total{portal=~"$portal"}[5m]))', "{{result}}"),
            unit="ops",
        ),
        graph("In quarantine", ('sum by (portal) (realestate_stored_quarantined{portal=~"$portal"})', "{{portal}}")),
        graph(
            "Pages that were refused or broken",
            (
                'sum by (portal) (rate(realestate_fleet_pages_total{portal=~"$portal", outcome!~"ok|gone"}[30m]))'
                ' / (sum by (portal) (rate(realestate_fleet_pages_total{portal=~"$portal"}[30m])) > 0)',
                "{{portal}}",
            ),
            unit="percentunit",
        ),
        graph(
            "Occurrences that the timetable skipped, or that failed",
            ("sum by (entry) (realestate_occurrences_skipped)", "{{entry}}: skipped"),
            ("sum by (entry) (realestate_occurrences_failed)", "{{entry}}: failed"),
        ),
    ),
    by_portal=True,
)

DASHBOARDS = (FLEET, PORTAL, QUEUE, STORE, QUALITY)


def built(dashboard: Dashboard) -> str:
    """The dashboard as Grafana reads it."""
    builder = (
        builders.Dashboard(f"realestate: {dashboard.title}")
        .uid(f"realestate-{dashboard.name}")
        .tags(["realestate"])
        .timezone("browser")
        .readonly()
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .time("now-6h", "now")
        .refresh("30s")
    )
    if dashboard.by_portal:
        builder = builder.with_variable(
            builders.QueryVariable("portal")
            .label("portal")
            .datasource(SOURCE)
            .query("label_values(realestate_workers, portal)")
            .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
            .multi(True)
            .include_all(True)
            .all_value(".*")
        )
    numbers = [panel for panel in dashboard.panels if panel.is_number]
    graphs = [panel for panel in dashboard.panels if not panel.is_number]
    top = 0
    for panels, (width, height) in ((numbers, NUMBER_SIZE), (graphs, GRAPH_SIZE)):
        in_a_row = 24 // width
        for place, panel in enumerate(panels):
            row, column = divmod(place, in_a_row)
            position = GridPos(h=height, w=width, x=column * width, y=top + row * height)
            builder = builder.with_panel(_panel(panel, position))
        top += -(-len(panels) // in_a_row) * height
    return JSONEncoder(sort_keys=True, indent=2).encode(builder.build()) + "\n"


def _panel(panel: Panel, position: GridPos) -> stat.Panel | timeseries.Panel:
    made: stat.Panel | timeseries.Panel
    if panel.is_number:
        newest = common_builders.ReduceDataOptions().calcs(["lastNotNull"])
        made = stat.Panel().graph_mode(BigValueGraphMode.AREA).reduce_options(newest)
    else:
        legend = (
            common_builders.VizLegendOptions()
            .display_mode(LegendDisplayMode.LIST)
            .placement(LegendPlacement.BOTTOM)
            .show_legend(True)
        )
        made = timeseries.Panel().legend(legend).fill_opacity(10).min(0)
    for letter, (expr, name) in zip("ABCD", panel.lines, strict=False):
        query = prometheus.Dataquery().ref_id(letter).expr(expr).legend_format(name).datasource(SOURCE)
        made = made.with_target(query)
    return made.title(panel.title).description(panel.help).unit(panel.unit).datasource(SOURCE).grid_pos(position)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for dashboard in DASHBOARDS:
        (FOLDER / f"{dashboard.name}.json").write_text(built(dashboard), "utf-8")
    print(f"{len(DASHBOARDS)} dashboards in {FOLDER}", file=sys.stderr)


if __name__ == "__main__":
    main()
