"""Metrics: what is exported is what docs/metrics.md lists, bounded, and gone when a worker is."""

import json
import re
import socket
import struct
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families
from redis import Redis
from scrapy.crawler import Crawler
from scrapy.http import Request, Response

from realestate.crawling.job_completion import CANCELLED
from realestate.crawling.seed_reader import partial_reason
from realestate.jobs.fleet import look
from realestate.jobs.load import load_of
from realestate.jobs.manage import new_order
from realestate.jobs.order import JobOrder
from realestate.jobs.submit import submit
from realestate.jobs.work import all_portals
from realestate.monitoring import worker_metrics
from realestate.monitoring.catalogue import ALL, FLEET, MOST_COUNTED, MOST_SERIES, WORKER, exported_name
from realestate.monitoring.drift import DRIFT, observed
from realestate.monitoring.endpoint import Endpoint, Ready
from realestate.monitoring.fleet_metrics import FleetMetrics, FleetReader, QueueAges, Samples, Totals, exported
from realestate.monitoring.rules import Evaluator, rules
from realestate.monitoring.stats import Stats
from realestate.monitoring.worker_metrics import Metrics, StatsMetrics, WorkerMetrics, bounded, metric_of
from realestate.queue import keys
from realestate.queue.workers import HeartbeatData
from realestate.spiders.immoweb import ImmowebSpider
from realestate.storage import Batch, FullStore, Quarantined, open_store
from realestate.storage.occurrences import Occurrence
from realestate.storage.orders import DEADLINE, Outcome
from tests.examples import a_listing

DOC = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text("utf-8")


def test_docs_list_every_metric_with_its_labels_and_meaning() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", DOC, re.MULTILINE)
    expected = [
        (exported_name(each), ", ".join(f"`{label}`" for label in each.labels) or "–", each.help) for each in ALL
    ]
    assert rows == expected


def reader_of(store_url: str, redis_url: str, tmp_path: Path, portals: list[str] | None = None) -> FleetReader:
    return FleetReader(
        lambda: portals or all_portals(),
        look,
        lambda: Redis.from_url(redis_url),
        lambda: open_store(store_url),
        tmp_path / "not there yet",
        wanted=lambda states: load_of(states)[1],
    )


def names_of(registry: CollectorRegistry) -> dict[str, set[tuple[str, ...]]]:
    found: dict[str, set[tuple[str, ...]]] = {}
    for each in registry.collect():
        labels = {tuple(sorted(sample.labels.keys() - {"le"})) for sample in each.samples}
        found.setdefault(each.name, set()).update(labels)
    return found


def test_the_fleet_exports_what_the_docs_list(
    store: FullStore, store_url: str, redis_url: str, server: Redis, tmp_path: Path
) -> None:
    """A fleet with a worker, a queue, proxies, finished jobs and messages has every metric, and no other."""
    submit(server, "bina", ["https://bina.az/1"])
    server.set(keys.arrivals("bina"), 5)
    server.zadd(keys.ready("bina"), {"r": 3})
    beat = b'{"pages": 7, "new": 2, "dead": 1, "outcomes": {"ok": 6}}'
    server.hset(keys.heartbeats("bina"), "host:1:a", beat)
    server.hset(keys.proxies("bina"), mapping={"p": b'{"condition": "healthy"}', "q": b'{"condition": "banned"}'})
    store.write(Batch(quarantined=[Quarantined.of(a_listing(portal="bina"), "price: bad")]))
    store.begin_job("j", "bina", "full", "all")
    store.end_sweep("j", "bina", complete=False, reason="a page failed")
    now = datetime.now(UTC)
    store.add_occurrences([Occurrence(entry="nightly", due_at=now, decision="skipped", reason="late")])
    store.add_occurrences([Occurrence(entry="backup", due_at=now - timedelta(hours=5), decision="start")])
    store.occurrence_done("backup", now - timedelta(hours=5), error="the disk is full")
    store.change_state(
        DRIFT + "bina", lambda _: observed(None, [a_listing(portal="bina", floor=None)], "2026-11-18", 0)
    )
    reader = reader_of(store_url, redis_url, tmp_path)
    reader.read()
    server.hset(keys.heartbeats("bina"), "host:1:a", b'{"pages": 13, "new": 2, "dead": 1, "outcomes": {"ok": 12}}')
    registry = CollectorRegistry()
    registry.register(FleetMetrics(reader.read))
    found = names_of(registry)
    expected = {each.name: tuple(sorted(each.labels)) for each in FLEET}
    assert found.keys() == expected.keys()
    assert all(found[name] == {labels} for name, labels in expected.items())
    samples = reader.read()
    assert samples["realestate_job_incomplete"]["bina",] == 1
    assert samples["realestate_proxies_usable_ratio"]["bina",] == 0.5
    assert samples["realestate_fleet_pages"]["bina", "ok"] == 6
    assert samples["realestate_workers_wanted"][()] == 1
    assert samples["realestate_timetable_broken"][()] == 0
    assert samples["realestate_field_coverage_ratio"]["bina", "area_m2"] == 1
    reader.close()


def end_a_job(store: FullStore, job: str, reason: str | None, outcome: Outcome = "finished") -> None:
    """A submitted job of bina that a worker opened, and that ended like this."""
    store.add_order(new_order(job, JobOrder(portal="bina"), ["{}"]))
    store.begin_job(job, "bina", "full", "")
    store.end_sweep(job, "bina", complete=reason is None, reason=reason)
    if outcome == "cancelled":
        store.order_cancelled(job, "wrong city")
    store.order_ended(job, outcome, None, {})


@pytest.mark.parametrize(
    ("reason", "is_alarming"),
    [
        ("3 search pages given up", True),
        (partial_reason(20, "", ""), False),
        (partial_reason(0, "city=baku", ""), False),
        (partial_reason(0, "", "1-5"), False),
        (CANCELLED, False),
    ],
)
def test_a_job_that_read_less_because_somebody_wanted_that_is_not_incomplete(
    reason: str, is_alarming: bool, store: FullStore, store_url: str, redis_url: str, server: Redis, tmp_path: Path
) -> None:
    reader = reader_of(store_url, redis_url, tmp_path, ["bina"])
    end_a_job(store, "before", None)
    assert reader.read()["realestate_job_incomplete"]["bina",] == 0
    end_a_job(store, "now", reason, "cancelled" if reason == CANCELLED else "finished")
    assert reader.read()["realestate_job_incomplete"]["bina",] == is_alarming
    reader.close()


def test_a_job_that_failed_or_whose_deadline_was_over_is_incomplete_until_the_next(
    store: FullStore, store_url: str, redis_url: str, server: Redis, tmp_path: Path
) -> None:
    reader = reader_of(store_url, redis_url, tmp_path, ["bina"])
    store.add_order(new_order("never opened", JobOrder(portal="bina"), ["{}"]))
    store.order_ended("never opened", "failed", "its seeds were refused", {})
    assert reader.read()["realestate_job_incomplete"]["bina",] == 1
    end_a_job(store, "fine", None)
    assert reader.read()["realestate_job_incomplete"]["bina",] == 0
    store.add_order(new_order("late", JobOrder(portal="bina"), ["{}"]))
    store.order_cancelled("late", DEADLINE)
    end_a_job(store, "late", CANCELLED)
    assert reader.read()["realestate_job_incomplete"]["bina",] == 1
    reader.close()


def test_a_fleet_of_all_portals_has_few_series(
    store: FullStore, store_url: str, redis_url: str, server: Redis, tmp_path: Path
) -> None:
    for portal in all_portals():
        outcomes = {str(number): number for number in range(12)}
        server.hset(keys.heartbeats(portal), "host:1:a", json.dumps({"pages": 7, "outcomes": outcomes}))
    reader = reader_of(store_url, redis_url, tmp_path)
    assert len(all_portals()) >= 10
    assert sum(map(len, reader.read().values())) <= MOST_SERIES
    reader.close()


def test_what_cannot_be_reached_is_said(tmp_path: Path) -> None:
    reader = reader_of("postgresql://127.0.0.1:1/x", "redis://127.0.0.1:1/0", tmp_path)
    samples = reader.read()
    assert samples["realestate_up"] == {("redis",): 0, ("store",): 0}
    assert set(reader.errors) == {"redis", "store"}
    assert samples["realestate_disk_free_ratio"][()] > 0


def responses(totals: Totals) -> float:
    samples: Samples = {}
    totals.samples(samples)
    return samples["realestate_fleet_responses"]["tap",]


def test_a_dead_worker_is_gone_and_its_counts_stay() -> None:
    totals = Totals()
    totals.update("tap", {})
    totals.update("tap", {"a": HeartbeatData(pages=10), "b": HeartbeatData(pages=5)})
    totals.update("tap", {"b": HeartbeatData(pages=7)})
    totals.update("tap", {"a2": HeartbeatData(pages=1), "b": HeartbeatData(pages=7)})
    assert responses(totals) == 18


def test_a_worker_that_was_silent_for_a_while_counts_on() -> None:
    totals = Totals()
    totals.update("tap", {})
    totals.update("tap", {"a": HeartbeatData(pages=1000)})
    totals.update("tap", {})
    totals.update("tap", {"a": HeartbeatData(pages=1002)})
    assert responses(totals) == 1002


def test_workers_that_are_gone_are_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("realestate.monitoring.fleet_metrics._GONE_KEPT", 2)
    totals = Totals()
    totals.update("tap", {})
    for number in range(5):
        totals.update("tap", {f"w{number}": HeartbeatData(pages=1), "always": HeartbeatData(pages=number)})
    totals.update("tap", {"w4": HeartbeatData(pages=1), "always": HeartbeatData(pages=4)})
    assert responses(totals) == 5 + 4
    totals.update("tap", {"w0": HeartbeatData(pages=1)})
    assert responses(totals) == 5 + 4 + 1, "w0 was forgotten"


def test_a_restart_of_the_exporter_raises_no_alert_and_the_first_ban_pages_do() -> None:
    """What workers counted long ago is not new. An outcome that comes for the first time has an increase."""
    totals = Totals()
    evaluator = Evaluator([rule for rule in rules() if rule.name in ("ban_pages", "dead_letters_up")])
    before = HeartbeatData(pages=9000, dead=400, outcomes={"ok": 8000, "banned": 600})
    fresh = HeartbeatData(pages=100, outcomes={"ok": 93, "banned": 7})
    fired = []
    for at, workers in enumerate([{"a": before}, {"a": before}, {}, {"a": before}, {"a": before, "b": fresh}]):
        totals.update("tap", workers)
        samples: Samples = {}
        totals.samples(samples)
        fired.append([match.rule.name for match in evaluator.evaluate(samples, at * 15.0)])
    assert fired == [[], [], [], [], ["ban_pages"]]


def test_the_age_of_the_oldest_request_is_that_of_its_arrival() -> None:
    ages = QueueAges()
    assert ages.age("tap", 10, None, 0.0) == 0
    assert ages.age("tap", 10, 4, 100.0) == 100
    assert ages.age("tap", 30, 25, 200.0) == 0
    assert ages.age("tap", 30, 25, 260.0) == 60
    assert ages.age("tap", 30, 8, 260.0) == 260


def test_the_oldest_request_of_the_lowest_priority_counts(
    store_url: str, store: FullStore, redis_url: str, server: Redis, tmp_path: Path
) -> None:
    now = [0.0]
    reader = FleetReader(
        lambda: ["tap"],
        look,
        lambda: Redis.from_url(redis_url),
        lambda: open_store(store_url),
        tmp_path,
        lambda: now[0],
    )
    server.set(keys.arrivals("tap"), 2)
    server.zadd(keys.ready("tap"), {"low": 1, "low2": 2})
    reader.read()
    now[0] = 60.0
    server.set(keys.arrivals("tap"), 3)
    server.zadd(keys.ready("tap"), {"high": 3 - 5 * 2**42})
    assert reader.read()["realestate_queue_oldest_seconds"]["tap",] == 60
    reader.close()


# ----- of a worker


@pytest.fixture
def worker(make_crawler: Callable[..., Crawler], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The metrics of a process with one portal."""
    process = WorkerMetrics()
    monkeypatch.setattr(worker_metrics, "WORKER_METRICS", process)
    crawler = make_crawler(ImmowebSpider)
    crawler.stats = Stats(crawler)
    extension = Metrics(crawler, process)
    process.stats.add("immoweb", crawler.stats)
    return SimpleNamespace(process=process, stats=crawler.stats, extension=extension)


_STATS = {
    "page/detail/ok": 5,
    "listing/made": 5,
    "event/listed": 5,
    "listing/field/price/missing": 1,
    "ban/immoweb/captcha": 1,
    "retry/count": 2,
    "queue/lease/expired": 1,
    "queue/dead/http": 1,
    "store/batches": 3,
    "store/seconds": 0.5,
    "store/waiting": 4,
    "queue/round_trips": 9,
    "finish_reason": "finished",
    "something/else": 3,
}


def test_a_worker_exports_what_the_docs_list(worker: Any) -> None:
    for name, value in _STATS.items():
        worker.stats.set_value(name, value)
    request = Request("https://h/1", meta={"stage": "detail", "download_latency": 0.3})
    worker.extension.response_received(Response("https://h/1", status=404), request)
    worker.process.loop_lag.observe(0.1)
    found = names_of(worker.process.registry)
    assert {name for name in found if not name.startswith("process_")} == {each.name for each in WORKER}
    assert all(found[each.name] == {tuple(sorted(each.labels))} for each in WORKER)
    get = worker.process.registry.get_sample_value
    assert get("realestate_responses_total", {"portal": "immoweb", "stage": "detail", "status_class": "4xx"}) == 1
    assert get("realestate_response_seconds_count", {"stage": "detail"}) == 1
    assert get("process_resident_memory_bytes") > 1e6


def test_a_crawl_that_starts_again_counts_on(worker: Any, make_crawler: Callable[..., Crawler]) -> None:
    metrics = StatsMetrics()
    worker.stats.set_value("retry/count", 5)
    metrics.add("immoweb", worker.stats)
    metrics.remove("immoweb")
    worker.stats.set_value("retry/count", 2)
    metrics.add("immoweb", worker.stats)
    (retries,) = metrics.collect()
    assert retries.samples[0].value == 7


def test_series_are_bounded_whatever_is_counted(worker: Any) -> None:
    for number in range(5000):
        worker.stats.set_value(f"queue/dead/reason{number}", 1)
    series = [sample for each in worker.process.registry.collect() for sample in each.samples]
    assert len(series) <= MOST_SERIES
    dead = [each for each in series if each.name == "realestate_dead_letters_made_total"]
    assert sum(each.value for each in dead) == 5000, "nothing is lost"


def test_a_worker_of_two_hundred_portals_has_few_series_too(worker: Any, make_crawler: Callable[..., Crawler]) -> None:
    metrics = StatsMetrics()
    crawler = make_crawler(ImmowebSpider)
    for number in range(200):
        stats = Stats(crawler)
        for name in _STATS:
            stats.set_value(name, 2)
        for kind in range(40):
            stats.set_value(f"listing/field/f{kind}/missing", 1)
        metrics.add(f"p{number}", stats)
    found = {each.name: each for each in metrics.collect()}
    assert sum(len(each.samples) for each in found.values()) <= MOST_COUNTED
    missing = found["realestate_field_missing"].samples
    in_stats = sum(name.startswith("listing/field/") for name in _STATS)
    assert sum(each.value for each in missing) == 200 * (40 + 2 * in_stats), "nothing is lost"
    assert len({each.labels["portal"] for each in missing}) == 200
    assert len(found["realestate_retries"].samples) == 200


def test_metrics_are_shortened_from_the_largest() -> None:
    portals: dict[tuple[str, ...], float] = {(f"p{number}",): 1.0 for number in range(30)}
    fields: dict[tuple[str, ...], float] = {(f"p{number % 3}", f"f{number}"): 1.0 for number in range(100)}
    few: dict[tuple[str, ...], float] = {("p0",): 7.0}
    found = bounded({"portals": portals, "fields": fields, "few": few}, 41)
    assert {name: len(series) for name, series in found.items()} == {"portals": 20, "fields": 20, "few": 1}
    assert found["portals"]["other",] == 11
    assert sum(found["fields"].values()) == 100
    assert found["fields"]["p1", "other"] > 20
    assert bounded({"portals": portals, "few": few}, 31) == {"portals": portals, "few": few}


def test_a_large_fleet_leaves_out_what_no_alert_needs() -> None:
    fields = [(f"p{portal}", f"f{field}") for portal in range(100) for field in range(20)]
    samples: Samples = {
        "realestate_field_coverage_ratio": dict.fromkeys(fields, 0.9),
        "realestate_field_vanished": {each: float(each == ("p7", "f7")) for each in fields},
        "realestate_workers": {("p1",): 2.0},
    }
    assert exported(samples) == {
        "realestate_field_vanished": {("p7", "f7"): 1.0},
        "realestate_workers": {("p1",): 2.0},
    }
    small: Samples = {"realestate_field_coverage_ratio": {("p1", "f1"): 0.9}}
    assert exported(small) == small


def test_other_statistics_are_not_exported() -> None:
    assert metric_of("downloader/request_bytes") is None
    assert metric_of("page/detail/ok") == ("realestate_pages", ("detail", "ok"))


# ----- the endpoint


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_the_endpoint_answers(worker: Any) -> None:
    state = [Ready(False, {"portals": "0 of 1"})]
    served = Endpoint.start(0, "127.0.0.1", worker.process.registry, lambda: state[0])
    assert served is not None
    base = f"http://127.0.0.1:{served.port}"
    try:
        status, text = get(f"{base}/metrics")
        assert status == 200
        assert "process_resident_memory_bytes" in {each.name for each in text_string_to_metric_families(text)}
        assert get(f"{base}/healthz") == (200, "alive\n")
        assert get(f"{base}/readyz") == (503, '{"ready":false,"parts":{"portals":"0 of 1"}}')
        state[0] = Ready(True)
        assert get(f"{base}/readyz")[0] == 200
        assert get(f"{base}/other")[0] == 404
    finally:
        served.stop()


def test_a_client_that_does_not_wait_is_no_error(capfd: pytest.CaptureFixture[str]) -> None:
    asked, may_answer = threading.Event(), threading.Event()

    def ready() -> Ready:
        asked.set()
        may_answer.wait(30)
        return Ready(True, {"portals": "x" * 10_000_000})

    served = Endpoint.start(0, "127.0.0.1", CollectorRegistry(), ready)
    assert served is not None
    try:
        with socket.create_connection(("127.0.0.1", served.port)) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close with a reset
            client.sendall(b"GET /readyz HTTP/1.0\r\n\r\n")
            assert asked.wait(30)
        may_answer.set()
        answering = [each for each in threading.enumerate() if "process_request_thread" in each.name]
        for each in answering:
            each.join(30)
    finally:
        served.stop()
    assert "Error" not in capfd.readouterr().err


def test_workers_of_one_machine_take_the_next_free_ports(worker: Any) -> None:
    registry = worker.process.registry
    first = Endpoint.start(0, "127.0.0.1", registry, lambda: Ready(True))
    assert first is not None
    second = Endpoint.start(first.port, "127.0.0.1", registry, lambda: Ready(True), ports=500)
    none = Endpoint.start(first.port, "127.0.0.1", registry, lambda: Ready(True), ports=1)
    assert second is not None
    assert second.port > first.port
    assert none is None
    first.stop()
    second.stop()


def test_nobody_reads_more_often_than_allowed() -> None:
    now = [0.0]
    reads: list[float] = []

    def read() -> Samples:
        reads.append(now[0])
        return {}

    metrics = FleetMetrics(read, lambda: now[0])
    for seconds in (0.0, 1.0, 4.9, 5.0, 6.0):
        now[0] = seconds
        metrics.samples()
    assert reads == [0.0, 5.0]
