"""Each alert rule fires, stays silent and resolves: in our evaluator, and in promtool where it is installed."""

import json
import re
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from realestate.jobs.manage import new_order
from realestate.jobs.order import JobOrder
from realestate.monitoring.alerts import Alerts, end_silence, open_alerts, silence, silences
from realestate.monitoring.catalogue import BY_NAME, exported_name
from realestate.monitoring.channels import Channels
from realestate.monitoring.delivery import Sender
from realestate.monitoring.fleet_metrics import Samples
from realestate.monitoring.reports import report_day, report_jobs, report_now
from realestate.monitoring.rules import (
    Condition,
    Evaluator,
    Match,
    Rule,
    prometheus_rules,
    prometheus_rules_file,
    rules,
    seconds,
)
from realestate.storage import FullStore, open_store
from realestate.storage.orders import Outcome
from realestate.storage.postgres import PostgresStore
from tests.monitoring.receiver import Receiver

ROOT = Path(__file__).parents[2]
RULES_FILE = ROOT / "deploy" / "prometheus" / "alerts.yml"
DOC = (ROOT / "docs" / "runbook.md").read_text("utf-8")
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
RULES = {rule.name: rule for rule in rules()}
STEP = 60.0


def test_the_rules_file_of_the_repository_is_made_from_these_rules() -> None:
    """`make alerts` writes it."""
    assert RULES_FILE.read_text("utf-8") == prometheus_rules_file()
    assert yaml.safe_load(RULES_FILE.read_text("utf-8")) == prometheus_rules()


def test_every_rule_is_in_the_docs() -> None:
    assert len(RULES) == len(rules()) >= 15
    assert [name for name in RULES if f"### {name}\n" not in DOC] == []


# ----- a course of each metric: quiet, then as the rule wants it, then quiet again

_TICKS = 30


def bad_ticks(rule: Rule) -> int:
    """So long the rule must hold to fire, and for its windows to be full."""
    return int(seconds(rule.for_) // STEP) + 5


def course(rule: Rule, is_bad: bool) -> dict[tuple[str, tuple[str, ...]], float]:
    """What each series of the rule has, or grows by in a minute."""
    values: dict[tuple[str, tuple[str, ...]], float] = {}
    for condition in rule.when:
        names = BY_NAME[condition.metric].labels
        labels = tuple(condition.where.get(name, "x") for name in names)
        if condition.over is not None:
            values[condition.over, tuple("ok" if name == "outcome" else "x" for name in names)] = 10.0
        beyond = {"==": condition.than, ">": condition.than + 5, "<": condition.than / 2}[condition.is_]
        fine = {"==": condition.than + 1, ">": 0.0, "<": 1.0}[condition.is_]
        if condition.window is not None and condition.is_ == ">":
            beyond = 60.0
        values[condition.metric, labels] = beyond if is_bad else fine
    return values


def is_counter(metric: str) -> bool:
    return BY_NAME[metric].kind == "counter"


def windows(rule: Rule) -> float:
    return max((seconds(each.window) for each in rule.when if each.window), default=0.0)


@pytest.mark.parametrize("name", RULES)
def test_each_rule_fires_stays_silent_and_resolves(name: str) -> None:
    rule = RULES[name]
    evaluator = Evaluator([rule])
    totals: dict[tuple[str, tuple[str, ...]], float] = {}
    step = max(STEP, windows(rule) / 20)
    fired = []
    phases = [(False, 5), (True, bad_ticks(rule) + 25), (False, 30 + int(seconds(rule.keep) // step))]
    now = 0.0
    for is_bad, ticks in phases:
        for _ in range(ticks):
            now += step
            samples: Samples = {}
            for (metric, labels), value in course(rule, is_bad).items():
                total = totals[metric, labels] = totals.get((metric, labels), 0.0) + value
                samples.setdefault(metric, {})[labels] = total if is_counter(metric) else value
            matches = evaluator.evaluate(samples, now)
        fired.append(bool(matches))
        for match in matches:
            assert "{" not in match.filled(rule.text) + match.filled(rule.remedy)
    assert fired == [False, True, False]


def test_the_time_that_a_rule_waits_begins_anew() -> None:
    evaluator = Evaluator([RULES["disk_full"]])
    for at, free, fires in (
        (0, 0.05, False),
        (200, 0.05, False),
        (250, 0.5, False),
        (300, 0.05, False),
        (600, 0.05, True),
    ):
        found = evaluator.evaluate({"realestate_disk_free_ratio": {(): free}}, float(at))
        assert bool(found) == fires


def test_a_rule_goes_on_as_long_as_it_says_after_it_last_held() -> None:
    evaluator = Evaluator([RULES["portal_stopped"]])
    minutes = 60.0
    course = [(0, 1, True), (30, 0, True), (35, 1, True), (74, 0, True), (76, 0, False), (80, 0, False)]
    for at, paused, fires in course:
        found = evaluator.evaluate({"realestate_portal_paused": {("tap", "worker"): float(paused)}}, at * minutes)
        assert bool(found) == fires, at


def test_the_expression_for_prometheus() -> None:
    condition = Condition(
        metric="realestate_fleet_pages",
        is_=">",
        than=0.2,
        where={"outcome": "failed"},
        by=("portal",),
        window="15m",
        over="realestate_fleet_pages",
    )
    assert condition.promql() == (
        'sum by (portal) (increase(realestate_fleet_pages_total{outcome="failed"}[15m]))'
        " / (sum by (portal) (increase(realestate_fleet_pages_total[15m])) > 0) > 0.2"
    )


def _series(metric: str, labels: tuple[str, ...]) -> str:
    pairs = zip(BY_NAME[metric].labels, labels, strict=True)
    shown = ", ".join(f'{name}="{value}"' for name, value in pairs)
    return f"{exported_name(BY_NAME[metric])}{{{shown}}}"


def _prometheus_test(rule: Rule) -> dict[str, Any]:
    """Quiet, bad, quiet again; each phase longer than the windows of the rule."""
    length = int(max(windows(rule) / 60, seconds(rule.keep) / 60, 20) * 1.2) + bad_ticks(rule)
    series = []
    good, bad = course(rule, False), course(rule, True)
    for metric, labels in bad:
        values = (good[metric, labels], bad[metric, labels])
        if is_counter(metric):
            points = f"0+{values[0]:g}x{length} {values[0] * length + values[1]:g}+{values[1]:g}x{length}"
            end = values[0] * length + values[1] * (length + 1)
            points += f" {end + values[0]:g}+{values[0]:g}x{length}"
        else:
            points = " ".join(f"{value:g}x{length}" for value in (values[0], values[1], values[0]))
        series.append({"series": _series(metric, labels), "values": points})
    firing = {"exp_labels": {"severity": rule.severity, **dict.fromkeys(rule.when[0].by, "x")}}
    tests = [(length - 2, []), (2 * length - 1, [firing]), (3 * length, [])]
    return {
        "interval": "1m",
        "input_series": series,
        "alert_rule_test": [
            {"eval_time": f"{at}m", "alertname": rule.name, "exp_alerts": found} for at, found in tests
        ],
    }


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_prometheus_accepts_the_rules_and_agrees(tmp_path: Path) -> None:
    """Each rule fires, stays silent and resolves in Prometheus' own engine. The texts are not compared."""
    generated = prometheus_rules()
    for rule in generated["groups"][0]["rules"]:
        rule["annotations"] = {}
    (tmp_path / "rules.json").write_text(json.dumps(generated))
    tests = [_prometheus_test(rule) for rule in rules()]
    (tmp_path / "tests.json").write_text(json.dumps({"rule_files": ["rules.json"], "tests": tests}))
    (tmp_path / "full.json").write_text(json.dumps(prometheus_rules()))
    for arguments in (["check", "rules", "full.json"], ["test", "rules", "tests.json"]):
        done = subprocess.run(["promtool", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr


# ----- alerts


def match(portal: str = "tap", rule: str = "ban_pages") -> Match:
    return Match(RULES[rule], {"portal": portal}, 7.0)


def titles(receiver: Receiver) -> list[str]:
    return [each["title"] for each in receiver.accepted]


def test_an_alert_is_told_once_and_once_when_it_is_over(any_store: FullStore, receiver: Receiver) -> None:
    channels = Channels([receiver.url])
    for minute in range(3):
        Alerts(any_store, channels).update([match()], NOW + timedelta(minutes=minute))
        Sender(any_store, channels).send_due()
    assert titles(receiver) == ["critical: tap: 7 ban pages in 15 minutes."]
    assert [each.key for each in open_alerts(any_store)] == ["ban_pages/tap"]
    for minute in range(3, 5):
        Alerts(any_store, channels).update([], NOW + timedelta(minutes=minute))
        Sender(any_store, channels).send_due()
    assert titles(receiver)[1:] == ["over: critical: tap: 7 ban pages in 15 minutes."]
    Alerts(any_store, channels).update([match()], NOW + timedelta(minutes=9))
    Sender(any_store, channels).send_due()
    assert len(titles(receiver)) == 3, "it is another alert"


def test_two_watchers_tell_it_once(store: PostgresStore, store_url: str, receiver: Receiver) -> None:
    channels = Channels([receiver.url])
    other = open_store(store_url)
    for each in (store, other):
        Alerts(each, channels).update([match()], NOW)
    Sender(store, channels).send_due()
    other.close()
    assert len(titles(receiver)) == 1


def test_nobody_is_told_of_a_silenced_alert_until_the_silence_ends(store: PostgresStore, receiver: Receiver) -> None:
    channels = Channels([receiver.url])
    silence(store, "ban_pages", NOW + timedelta(hours=1), "known")
    assert list(silences(store, NOW)) == ["ban_pages"]
    Alerts(store, channels).update([match()], NOW)
    assert [each.notified for each in open_alerts(store)] == [False]
    Alerts(store, channels).update([match()], NOW + timedelta(hours=2))
    Sender(store, channels).send_due()
    assert len(titles(receiver)) == 1
    assert end_silence(store, "ban_pages")
    assert not end_silence(store, "ban_pages")


def test_an_alert_arrives_while_the_database_is_away(receiver: Receiver) -> None:
    store = open_store("postgresql://127.0.0.1:1/x")
    alerts = Alerts(store, Channels([receiver.url]))
    away = Match(RULES["database_unreachable"], {}, 0.0)
    for _ in range(3):
        alerts.update([away], NOW)
    assert titles(receiver) == ["critical: The database cannot be reached: workers keep what they fetched and wait."]


# ----- reports


def test_each_job_is_reported_once(store: PostgresStore, receiver: Receiver) -> None:
    channels = Channels([receiver.url])
    before = datetime.now(UTC) - timedelta(hours=1)
    assert report_jobs(store, channels, before) == 0
    store.begin_job("nightly", "tap", "full", "all")
    store.end_sweep("nightly", "tap", complete=False, reason="a page failed")
    store.conclude("nightly", "tap")
    assert [report_jobs(store, channels, before) for _ in range(3)] == [1, 0, 0]
    Sender(store, channels).send_due()
    assert "not complete: a page failed" in receiver.accepted[0]["body"]


def test_a_report_can_be_asked_for(store: PostgresStore, receiver: Receiver) -> None:
    channels = Channels([receiver.url])
    samples: Samples = {"realestate_stored_listings": {("tap",): 12}}
    assert [report_now(store, channels, samples, NOW) for _ in range(2)] == [1, 0], "a repetition is the same report"
    Sender(store, channels).send_due()
    (message,) = receiver.accepted
    assert message["body"].startswith("tap: 0 new, 0 back")


def test_the_day_is_reported_once(store: PostgresStore, receiver: Receiver) -> None:
    channels = Channels([receiver.url])
    samples: Samples = {"realestate_stored_listings": {("tap",): 12}}
    early = NOW.replace(hour=3)
    assert [report_day(store, channels, samples, at) for at in (early, NOW, NOW, NOW + timedelta(days=1))] == [
        0,
        1,
        0,
        1,
    ]
    Sender(store, channels).send_due()
    assert "tap: 0 new" in receiver.accepted[0]["body"]
    assert "12 stored" in receiver.accepted[0]["body"]


def an_order(store: FullStore, job: str, outcome: Outcome, done: int, failed: int, rate: float | None) -> None:
    """A submitted job that has ended."""
    store.add_order(new_order(job, JobOrder(portal="tap"), ["{}"]))
    pages = {"discover": {"found": 1, "done": 1, "failed": 0}, "extract": {"found": 9, "done": done, "failed": failed}}
    store.order_ended(job, outcome, None, {"pages": pages, "rate": rate})


def test_the_day_has_jobs_errors_rate_and_the_size_of_the_database(any_store: FullStore, receiver: Receiver) -> None:
    channels = Channels([receiver.url])
    samples: Samples = {"realestate_store_bytes": {(): any_store.size()}}
    an_order(any_store, "early", "finished", 5, 0, 1.0)
    report_day(any_store, channels, samples, NOW)
    an_order(any_store, "a", "finished", 89, 10, 2.0)
    an_order(any_store, "b", "failed", 0, 0, None)
    report_day(any_store, channels, samples, NOW + timedelta(days=1))
    Sender(any_store, channels).send_due()
    first, second = (each["body"] for each in receiver.accepted)
    assert "1 jobs" not in first
    assert "1 job, 6 pages, 0.0% errors, 1.00 pages/s; 0 stored" in first
    assert "2 jobs (1 failed or cancelled), 101 pages, 9.9% errors, 2.00 pages/s; 0 stored" in second
    assert re.search(r"^database: \d+\.\d MB$", second, re.MULTILINE)
