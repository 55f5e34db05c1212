"""The alert rules of rules.toml: as data, as Prometheus' rules, and evaluated on samples without Prometheus."""

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from math import inf
from operator import eq, gt, lt
from typing import Any, Literal

import msgspec
import yaml

from realestate.monitoring.catalogue import BY_NAME, exported_name
from realestate.monitoring.fleet_metrics import Samples

Severity = Literal["critical", "warning"]
Labels = tuple[str, ...]

#: Where each rule has a section.
RUNBOOK = "docs/runbook.md"
_HEAD = """\
# The alert rules for Prometheus, made from realestate/monitoring/rules.toml: change them there, then run `make alerts`.
# They use the metrics of `realestate exporter` (docs/metrics.md).
"""
_COMPARE: dict[str, Callable[[float, float], bool]] = {"==": eq, ">": gt, "<": lt}
_AGGREGATE: dict[str, Callable[[Sequence[float]], float]] = {"sum": sum, "max": max, "min": min}
_UNITS = {"s": 1, "m": 60, "h": 3600}
#: A window has at most this many points, give or take a few: a day of looks every 15 seconds would be 5,760.
_POINTS = 300


def seconds(text: str) -> float:
    """The seconds of a duration such as 15m."""
    found = re.fullmatch(r"(\d+)([smh])", text)
    if found is None:
        raise ValueError(f"{text!r} is not a duration such as 15m")
    return float(found[1]) * _UNITS[found[2]]


class Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"is_": "is"}):
    """Compares one metric."""

    metric: str
    is_: Literal["==", ">", "<"]
    than: float
    where: dict[str, str] = {}
    by: tuple[str, ...] = ()
    window: str | None = None
    over: str | None = None
    aggregate: Literal["sum", "max", "min"] = "sum"

    @property
    def needs_the_whole_window(self) -> bool:
        """That something did not happen in a day cannot be said after an hour."""
        return self.window is not None and self.is_ == "=="

    def promql(self) -> str:
        value = self._promql_of(self.metric, self.where)
        if self.over is not None:
            value = f"{value} / ({self._promql_of(self.over, {})} > 0)"
        compared = f"{value} {self.is_} {self.than:g}"
        if not self.needs_the_whole_window:
            return compared
        existed = self._grouped(f"count_over_time({_series(self.metric, self.where)}[1h] offset {self.window})")
        return f"{compared} and on ({', '.join(self.by)}) {existed}"

    def _promql_of(self, metric: str, where: Mapping[str, str]) -> str:
        series = _series(metric, where)
        return self._grouped(series if self.window is None else f"increase({series}[{self.window}])")

    def _grouped(self, series: str) -> str:
        grouped = f" by ({', '.join(self.by)})" if self.by else ""
        return f"{self.aggregate}{grouped} ({series})"


def _series(metric: str, where: Mapping[str, str]) -> str:
    matchers = ", ".join(f'{label}="{value}"' for label, value in where.items())
    return exported_name(BY_NAME[metric]) + (f"{{{matchers}}}" if matchers else "")


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"for_": "for"}):
    name: str
    severity: Severity
    for_: str
    text: str
    remedy: str
    when: tuple[Condition, ...]
    keep: str = "0m"
    """It goes on firing for this long after its conditions last held."""

    @property
    def link(self) -> str:
        return f"{RUNBOOK}#{self.name}"


@dataclass(frozen=True, slots=True)
class Match:
    """A rule holds for these labels now."""

    rule: Rule
    labels: Mapping[str, str]
    value: float

    def filled(self, text: str) -> str:
        """The text with the labels and the value in it."""
        shown = f"{self.value:,.2f}".rstrip("0").rstrip(".")
        return text.format(**self.labels, value=shown)


@cache
def rules() -> tuple[Rule, ...]:
    """The rules of rules.toml. Raises ValueError if one of them uses a metric or a label that does not exist."""
    text = (files("realestate.monitoring") / "rules.toml").read_text("utf-8")
    found: list[Rule] = msgspec.convert(msgspec.toml.decode(text)["rule"], list[Rule])
    for rule in found:
        for condition in rule.when:
            known = BY_NAME[condition.metric].labels
            if unknown := {*condition.by, *condition.where} - {*known}:
                raise ValueError(f"{rule.name}: {condition.metric} has no label {', '.join(unknown)}")
        seconds(rule.for_)
        seconds(rule.keep)
    return tuple(found)


def prometheus_rules() -> dict[str, Any]:
    """The rules as Prometheus reads them."""
    return {"groups": [{"name": "realestate", "rules": [_prometheus_rule(rule) for rule in rules()]}]}


def prometheus_rules_file() -> str:
    """The rules file of Prometheus, as YAML."""
    return _HEAD + yaml.safe_dump(prometheus_rules(), sort_keys=False, allow_unicode=True, width=120)


def _prometheus_rule(rule: Rule) -> dict[str, Any]:
    by = rule.when[0].by
    joined = f" and on ({', '.join(by)}) "
    value = re.compile(r"\{(\w+)\}")
    text = value.sub(
        lambda found: "{{ $value }}" if found[1] == "value" else f"{{{{ $labels.{found[1]} }}}}", rule.text
    )
    remedy = value.sub(lambda found: f"{{{{ $labels.{found[1]} }}}}", rule.remedy)
    kept = {"keep_firing_for": rule.keep} if seconds(rule.keep) else {}
    return {
        "alert": rule.name,
        "expr": joined.join(condition.promql() for condition in rule.when),
        "for": rule.for_,
        **kept,
        "labels": {"severity": rule.severity},
        "annotations": {"summary": text, "remedy": remedy, "runbook": rule.link},
    }


def _is_a_server_away(samples: Samples) -> bool:
    return any(value == 0 for value in samples.get("realestate_up", {}).values())


class Evaluator:
    """Evaluates the rules on samples, as Prometheus would. The times are those of the caller."""

    def __init__(self, wanted: Sequence[Rule] | None = None) -> None:
        self._rules = rules() if wanted is None else wanted
        self._by_name = {rule.name: rule for rule in self._rules}
        self._began: float | None = None
        self._now = 0.0
        self._watched = 0.0
        """For how many seconds this process has looked."""
        self._samples: Samples = {}
        self._held: dict[tuple[str, int], Mapping[Labels, float]] = {}
        """A rule's name and the number of a condition -> the labels for which it held at the last look."""
        self._windows: dict[str, float] = {}
        self._steps: dict[str, float] = {}
        """Points of a metric's history are at least this far apart."""
        for condition in (condition for rule in self._rules for condition in rule.when if condition.window):
            for metric in filter(None, (condition.metric, condition.over)):
                span = seconds(condition.window or "0s")
                self._windows[metric] = max(self._windows.get(metric, 0.0), span)
                self._steps[metric] = min(self._steps.get(metric, inf), span / _POINTS)
        self._history: dict[tuple[str, Labels], deque[tuple[float, float]]] = {}
        self._since: dict[tuple[str, Labels], float] = {}
        self._fired: dict[tuple[str, Labels], tuple[float, Match]] = {}

    def evaluate(self, samples: Samples, now: float) -> list[Match]:
        """The rules that fire now: all their conditions have held for as long as `for`, or did so within `keep`."""
        self._began = now if self._began is None else self._began
        self._now = now
        self._watched = now - self._began
        self._samples = samples
        self._remember(samples, now)
        matches = [match for rule in self._rules for match in self._matches(rule, samples, now)]
        holding = {(match.rule.name, tuple(match.labels.values())): match for match in matches}
        self._since = {key: self._since.get(key, now) for key in holding}
        for key, match in holding.items():
            if now - self._since[key] >= seconds(match.rule.for_):
                self._fired[key] = now, match
        self._fired = {
            key: (at, match)
            for key, (at, match) in self._fired.items()
            if at == now or now - at < seconds(match.rule.keep)
        }
        return [match for _, match in self._fired.values()]

    def is_over(self, rule_name: str, labels: Labels) -> bool:
        """Whether an alert is certainly over that does not fire here, and fired before: in another process, or in this
        one before a restart. It is not as long as its rule holds, while the server is away that its metric is read
        from, and until this process has looked for as long as the rule's window or `keep`."""
        rule = self._by_name.get(rule_name)
        if rule is None:
            return True
        if (rule_name, labels) in self._since or self._watched < seconds(rule.keep):
            return False
        return any(self._is_certainly_false(rule, number, labels) for number in range(len(rule.when)))

    def _is_certainly_false(self, rule: Rule, number: int, labels: Labels) -> bool:
        condition = rule.when[number]
        if labels in self._held.get((rule.name, number), {}):
            return False
        if condition.metric not in self._samples and _is_a_server_away(self._samples):
            return False
        if condition.window is None or self._watched >= seconds(condition.window):
            return True
        if not condition.needs_the_whole_window:
            return False
        counted = self._values(condition, condition.metric, condition.where, self._samples, self._now).get(labels)
        return counted is not None and counted > condition.than

    def _remember(self, samples: Samples, now: float) -> None:
        for metric, window in self._windows.items():
            for labels, value in samples.get(metric, {}).items():
                points = self._history.setdefault((metric, labels), deque())
                if len(points) > 1 and points[-1][0] - points[-2][0] < self._steps[metric]:
                    points.pop()  # the new one takes its place
                points.append((now, value))
                while points[0][0] < now - window:
                    points.popleft()

    def _matches(self, rule: Rule, samples: Samples, now: float) -> list[Match]:
        held = [self._holding(condition, samples, now) for condition in rule.when]
        self._held.update({(rule.name, number): each for number, each in enumerate(held)})
        first, *others = held
        return [
            Match(rule, dict(zip(rule.when[0].by, labels, strict=True)), value)
            for labels, value in first.items()
            if all(labels in other for other in others)
        ]

    def _holding(self, condition: Condition, samples: Samples, now: float) -> dict[Labels, float]:
        values = self._values(condition, condition.metric, condition.where, samples, now)
        if condition.over is not None:
            whole = self._values(condition, condition.over, {}, samples, now)
            values = {labels: value / whole[labels] for labels, value in values.items() if whole.get(labels, 0) > 0}
        if condition.needs_the_whole_window and self._watched < seconds(condition.window or "0s"):
            return {}
        compare = _COMPARE[condition.is_]
        return {labels: value for labels, value in values.items() if compare(value, condition.than)}

    def _values(
        self, condition: Condition, metric: str, where: Mapping[str, str], samples: Samples, now: float
    ) -> dict[Labels, float]:
        names = BY_NAME[metric].labels
        groups: dict[Labels, list[float]] = {}
        for labels, value in samples.get(metric, {}).items():
            named = dict(zip(names, labels, strict=True))
            if any(named[label] != wanted for label, wanted in where.items()):
                continue
            if condition.window is not None:
                value = self._increase(metric, labels, now - seconds(condition.window))
            groups.setdefault(tuple(named[label] for label in condition.by), []).append(value)
        aggregate = _AGGREGATE[condition.aggregate]
        return {labels: aggregate(values) for labels, values in groups.items()}

    def _increase(self, metric: str, labels: Labels, since: float) -> float:
        points = [value for at, value in self._history[metric, labels] if at >= since]
        return sum(max(0.0, after - before) for before, after in pairwise(points))
