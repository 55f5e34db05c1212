"""The metrics of one worker process, on METRICS_PORT.

Most are the statistics that Scrapy counts anyway: they are read when somebody asks for the metrics, in the thread of
the HTTP server, and cost a page nothing. Only the times of responses and of the event loop are measured while it runs.
"""

import asyncio
import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any, Self

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.statscollectors import StatsCollector

from realestate.monitoring.catalogue import BY_NAME, MOST_COUNTED, WORKER
from realestate.monitoring.endpoint import Endpoint, Ready
from realestate.queue.fleet import fleet_of

logger = logging.getLogger(__name__)

Family = CounterMetricFamily | GaugeMetricFamily

#: How often the event loop's lag is measured.
LAG_SECONDS = 1.0
_RESPONSE_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_LAG_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)

#: The statistic -> its metric. The groups of the pattern are the label values after the portal.
_COUNTED: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"page/([^/]+)/([^/]+)"), "realestate_pages"),
    (re.compile(r"listing/(made|stored|new|seen|quarantined|late)"), "realestate_listings"),
    (re.compile(r"event/([^/]+)"), "realestate_events"),
    (re.compile(r"listing/field/([^/]+)/missing"), "realestate_field_missing"),
    (re.compile(r"ban/[^/]+/([^/]+)"), "realestate_ban_pages"),
    (re.compile(r"retry/count"), "realestate_retries"),
    (re.compile(r"queue/lease/expired"), "realestate_leases_expired"),
    (re.compile(r"queue/dead/([^/]+)"), "realestate_dead_letters_made"),
    (re.compile(r"store/batches"), "realestate_store_batches"),
    (re.compile(r"store/seconds"), "realestate_store_seconds"),
    (re.compile(r"store/waiting"), "realestate_store_waiting"),
    (re.compile(r"queue/round_trips"), "realestate_redis_round_trips"),
    (re.compile(r"responses/([^/]+)/([^/]+)"), "realestate_responses"),
)


def metric_of(stat: str) -> tuple[str, tuple[str, ...]] | None:
    """The metric of a statistic, and its label values after the portal; None if it is not exported."""
    for pattern, name in _COUNTED:
        if found := pattern.fullmatch(stat):
            return name, found.groups()
    return None


class StatsMetrics(Collector):
    """Reads the statistics of all portals of this process."""

    def __init__(self) -> None:
        self._portals: dict[str, StatsCollector] = {}
        self._closed: dict[str, dict[str, float]] = {}
        self._known: dict[str, tuple[str, tuple[str, ...]] | None] = {}

    def add(self, portal: str, stats: StatsCollector) -> None:
        self._portals[portal] = stats

    def remove(self, portal: str) -> None:
        """The portal's crawl ended. Its counts stay: a counter must not fall when the crawl starts again."""
        stats = self._portals.pop(portal, None)
        if stats is not None:
            closed = self._closed.setdefault(portal, {})
            for name, value in _numbers(stats).items():
                closed[name] = closed.get(name, 0) + value

    def describe(self) -> Iterable[Family]:
        """Nothing: the names are in the catalogue."""
        return []

    def collect(self) -> Iterable[Family]:
        values: dict[str, Series] = {}
        for portal in {**self._closed, **self._portals}:
            for stat, value in self._of(portal).items():
                if stat not in self._known:
                    self._known[stat] = metric_of(stat)
                if (found := self._known[stat]) is not None:
                    name, labels = found
                    _add(values.setdefault(name, {}), (portal, *labels), value)
        for name, series in bounded(values, MOST_COUNTED).items():
            yield family(name, series)

    def _of(self, portal: str) -> Mapping[str, float]:
        numbers = _numbers(self._portals[portal]) if portal in self._portals else {}
        for name, value in self._closed.get(portal, {}).items():
            if name != "store/waiting":
                numbers[name] = numbers.get(name, 0) + value
        return numbers


def _numbers(stats: StatsCollector) -> dict[str, float]:
    """A copy, made in one step: the event loop counts meanwhile."""
    return {name: value for name, value in stats.get_stats().copy().items() if isinstance(value, int | float)}


Series = dict[tuple[str, ...], float]
"""Label values -> value."""


def _add(series: Series, labels: tuple[str, ...], value: float) -> None:
    series[labels] = series.get(labels, 0) + value


def bounded(metrics: Mapping[str, Series], most: int) -> dict[str, Series]:
    """At most this many series in all: the metrics with the most are shortened. What is beyond is summed as `other`: of
    its portal, and where the portals are too many, of all."""
    each = most
    left = len(metrics)
    for size in sorted(map(len, metrics.values())):
        each = most // left
        if size > each:
            break
        most -= size
        left -= 1
    else:
        return dict(metrics)
    return {name: _shortened(series, each) for name, series in metrics.items()}


def _shortened(series: Series, most: int) -> Series:
    if len(series) <= most:
        return series
    portals = len({labels[0] for labels in series})
    has_room = len(next(iter(series))) > 1 and portals < most
    whole = most - portals if has_room else most - 1
    shortened: Series = {}
    for number, (labels, value) in enumerate(series.items()):
        if number >= whole:
            labels = (labels[0] if has_room else "other", *("other" for _ in labels[1:]))
        _add(shortened, labels, value)
    return shortened


def family(name: str, series: Mapping[tuple[str, ...], float]) -> Family:
    """A metric of the catalogue with its values."""
    metric = BY_NAME[name]
    make = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    made = make(metric.name, metric.help, labels=metric.labels)
    for labels, value in series.items():
        made.add_metric(labels, value)
    return made


class WorkerMetrics:
    """The registry of this process, and its HTTP server if METRICS_PORT is set."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.stats = StatsMetrics()
        self.registry.register(self.stats)
        ProcessCollector(registry=self.registry)
        histograms = {metric.name: metric for metric in WORKER if metric.kind == "histogram"}
        response = histograms["realestate_response_seconds"]
        lag = histograms["realestate_event_loop_lag_seconds"]
        self.response_seconds = Histogram(
            response.name, response.help, response.labels, registry=self.registry, buckets=_RESPONSE_BUCKETS
        )
        self.loop_lag = Histogram(lag.name, lag.help, registry=self.registry, buckets=_LAG_BUCKETS)
        self._crawlers: dict[str, Crawler] = {}
        self._endpoint: Endpoint | None = None
        self._measuring: asyncio.Task[None] | None = None

    def opened(self, crawler: Crawler, portal: str) -> None:
        assert crawler.stats is not None
        self.stats.add(portal, crawler.stats)
        self._crawlers[portal] = crawler
        port = crawler.settings.getint("METRICS_PORT")
        if port and self._endpoint is None:
            self._endpoint = Endpoint.start(port, crawler.settings["METRICS_ADDRESS"], self.registry, self.ready)
        if self._measuring is None or self._measuring.done():
            self._measuring = asyncio.ensure_future(self._measure_lag())

    def closed(self, portal: str) -> None:
        self.stats.remove(portal)
        self._crawlers.pop(portal, None)
        if self._crawlers:
            return
        if self._measuring is not None:
            self._measuring.cancel()
        if self._endpoint is not None:
            self._endpoint.stop()
            self._endpoint = None

    def ready(self) -> Ready:
        """Ready while at least one portal takes requests from the queue."""
        fleets = [fleet_of(crawler) for crawler in list(self._crawlers.values())]
        serving = sum(fleet is not None and fleet.at_work for fleet in fleets)
        return Ready(serving > 0, {"portals": f"{serving} of {len(fleets)} portals are served"})

    async def _measure_lag(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + LAG_SECONDS
            await asyncio.sleep(LAG_SECONDS)
            self.loop_lag.observe(max(0.0, loop.time() - due))


#: A process has one registry.
WORKER_METRICS: WorkerMetrics | None = None


def _of_this_process() -> WorkerMetrics:
    global WORKER_METRICS
    if WORKER_METRICS is None:
        WORKER_METRICS = WorkerMetrics()
    return WORKER_METRICS


class Metrics:
    """The extension that adds a portal to the metrics of its process."""

    def __init__(self, crawler: Crawler, process: WorkerMetrics) -> None:
        assert crawler.stats is not None
        self.crawler = crawler
        self.process = process
        self._count = crawler.stats.inc_value
        self._names: dict[tuple[Any, int], str] = {}
        self._times: dict[Any, Any] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler, _of_this_process())
        crawler.signals.connect(extension.opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.closed, signal=signals.spider_closed)
        crawler.signals.connect(extension.response_received, signal=signals.response_received)
        return extension

    def opened(self, spider: Spider) -> None:
        self.process.opened(self.crawler, spider.name)

    def closed(self, spider: Spider) -> None:
        self.process.closed(spider.name)

    def response_received(self, response: Response, request: Any) -> None:
        meta = request.meta
        stage = meta.get("stage") or "other"
        key = (stage, response.status // 100)
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"responses/{stage}/{response.status // 100}xx"
            self._times[stage] = self.process.response_seconds.labels(stage)
        self._count(name)
        seconds = meta.get("download_latency")
        if seconds is not None:
            self._times[stage].observe(seconds)
