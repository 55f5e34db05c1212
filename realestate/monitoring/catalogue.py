"""Every metric: its name, kind, labels and meaning. docs/metrics.md is made from this table."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]
Source = Literal["worker", "fleet"]

#: The most series that one process exports.
MOST_SERIES = 3_000
#: Those of a worker's statistics: the rest is for its histograms and the metrics of the process. What is beyond is
#: counted as `other`.
MOST_COUNTED = 2_800


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    kind: Kind
    labels: tuple[str, ...]
    help: str
    source: Source


def _worker(name: str, kind: Kind, labels: tuple[str, ...], help: str) -> Metric:
    return Metric(f"realestate_{name}", kind, labels, help, "worker")


def _fleet(name: str, kind: Kind, labels: tuple[str, ...], help: str) -> Metric:
    return Metric(f"realestate_{name}", kind, labels, help, "fleet")


WORKER = (
    _worker("pages", "counter", ("portal", "stage", "outcome"), "Pages by outcome: ok, banned, broken, failed, gone …"),
    _worker("responses", "counter", ("portal", "stage", "status_class"), "Responses that reached a spider, by 2xx …"),
    _worker("response_seconds", "histogram", ("stage",), "From sending a request to the whole response."),
    _worker("listings", "counter", ("portal", "result"), "Listings made, stored, new, seen, quarantined or late."),
    _worker("events", "counter", ("portal", "type"), "Events stored: listed, price_changed, delisted …"),
    _worker(
        "field_missing",
        "counter",
        ("portal", "field"),
        "Listings without a value of this field; the coverage is 1 - this / listings made.",
    ),
    _worker("ban_pages", "counter", ("portal", "kind"), "Ban pages, by kind."),
    _worker("retries", "counter", ("portal",), "Requests that were sent again."),
    _worker("leases_expired", "counter", ("portal",), "Leases that ended because their worker seemed dead."),
    _worker("dead_letters_made", "counter", ("portal", "reason"), "Requests that were given up."),
    _worker("store_batches", "counter", ("portal",), "Batches written to the database."),
    _worker("store_seconds", "counter", ("portal",), "Time spent writing batches."),
    _worker("store_waiting", "gauge", ("portal",), "Items that wait to be stored."),
    _worker("redis_round_trips", "counter", ("portal",), "Commands sent to Redis that were waited for."),
    _worker("event_loop_lag_seconds", "histogram", (), "How much later than asked the event loop ran a timer."),
)

FLEET = (
    _fleet("up", "gauge", ("service",), "Whether Redis and the database can be reached: 1 or 0."),
    _fleet("workers", "gauge", ("portal",), "Workers with a heartbeat."),
    _fleet("worker_processes", "gauge", (), "Worker processes with a heartbeat, of any portal."),
    _fleet("workers_wanted", "gauge", (), "Worker processes that the load needs now, as `realestate autoscale` says."),
    _fleet("queue_requests", "gauge", ("portal", "state"), "Seeds, and requests ready, delayed or in flight."),
    _fleet("queue_oldest_seconds", "gauge", ("portal",), "How long the oldest ready request has waited."),
    _fleet("dead_letters", "gauge", ("portal",), "Dead letters that are kept."),
    _fleet("rate_limit_per_second", "gauge", ("portal",), "Requests per second allowed now; 0 is no limit."),
    _fleet("rate_limit_factor", "gauge", ("portal",), "Below 1 after the site refused us."),
    _fleet("portal_paused", "gauge", ("portal", "by"), "1 if the portal is paused, by a worker or a person."),
    _fleet("proxies", "gauge", ("portal", "condition"), "Proxies by their health at the site."),
    _fleet("proxies_usable_ratio", "gauge", ("portal",), "The share of proxies that can be used at the site."),
    _fleet("fleet_pages", "counter", ("portal", "outcome"), "Pages of all workers by outcome, also of dead ones."),
    _fleet("fleet_responses", "counter", ("portal",), "Responses to all workers, also to dead ones."),
    _fleet("fleet_listings_new", "counter", ("portal",), "New listings stored by all workers."),
    _fleet("fleet_dead_letters", "counter", ("portal",), "Requests given up by all workers."),
    _fleet("stored_listings", "gauge", ("portal",), "Items in the database; read every ten minutes."),
    _fleet("stored_quarantined", "gauge", ("portal",), "Entries in quarantine; read every ten minutes."),
    _fleet("store_bytes", "gauge", (), "Size of the database; read every ten minutes."),
    _fleet("jobs_open", "gauge", ("portal",), "Submitted jobs that have not ended."),
    _fleet("job_incomplete", "gauge", ("portal",), "1 if the newest finished job did not read every search page."),
    _fleet("delisting_withheld", "gauge", ("portal",), "1 if the newest job would have delisted too much."),
    _fleet("searches_empty", "gauge", ("portal",), "Searches without results that had some in the job before."),
    _fleet("field_coverage_ratio", "gauge", ("portal", "field"), "The usual share of listings with a value of it."),
    _fleet("field_vanished", "gauge", ("portal", "field"), "1 if far fewer listings than usual have a value of it."),
    _fleet("occurrences_skipped", "gauge", ("entry",), "Occurrences that the timetable skipped in the last hour."),
    _fleet("occurrences_failed", "gauge", ("entry",), "Occurrences whose task or job failed in the last hour."),
    _fleet("timetable_broken", "gauge", (), "1 if the changed timetable file cannot be used, and the last one runs."),
    _fleet("notifications", "gauge", ("state",), "Messages in the outbox that wait, or failed in the last day."),
    _fleet("disk_free_ratio", "gauge", (), "Free share of the disk with our folder."),
    _fleet("memory_available_ratio", "gauge", (), "Share of this machine's memory that is available."),
    _fleet("load_per_cpu", "gauge", (), "Load of the last five minutes for each CPU."),
)

ALL = (*WORKER, *FLEET)
BY_NAME = {metric.name: metric for metric in ALL}


def exported_name(metric: Metric) -> str:
    """The name in Prometheus' text format, where a counter ends in _total."""
    return f"{metric.name}_total" if metric.kind == "counter" else metric.name
