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
from realestate.storage.errors import StoreAway
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


def evaluated(evaluator: Evaluator, at: float, **metrics: float) -> list[str]:
    """The rules that fire for these samples; `up` is 1 unless it is among them."""
    samples: Samples = {"realestate_up": {("redis",): metrics.pop("redis_up", 1.0)}}
    for name, value in metrics.items():
        labels = ("tap",) if BY_NAME[f"realestate_{name}"].labels == ("portal",) else ("tap", "ready")
        samples[f"realestate_{name}"] = {labels: value}
    return [match.rule.name for match in evaluator.evaluate(samples, at)]


def test_that_nothing_happened_in_a_day_is_not_said_after_an_hour() -> None:
    evaluator = Evaluator([RULES["no_new_listings"]])
    hour = 3600.0
    fired = [
        at for at in range(30) if evaluated(evaluator, at * hour, fleet_listings_new=7.0, fleet_responses=500.0 * at)
    ]
    assert fired == list(range(25, 30)), "after a day, and the ten minutes that the rule waits"


def test_a_long_window_keeps_few_points_and_loses_nothing() -> None:
    evaluator = Evaluator([RULES["no_new_listings"], RULES["ban_pages"]])
    looks = 2 * 5760
    for look in range(looks):
        evaluated(evaluator, look * 15.0, fleet_listings_new=0.0, fleet_responses=float(look))
    name = "realestate_fleet_responses"
    assert 280 <= len(evaluator._history[name, ("tap",)]) <= 310
    assert evaluator._increase(name, ("tap",), (looks - 1) * 15.0 - 86_400) == pytest.approx(5760, rel=0.01)


def test_an_alert_that_another_process_saw_is_over_only_when_that_is_certain() -> None:
    """`watch` was started again: the rule has held for long, this process has seen it for a moment."""
    rule = RULES["workers_missing"]
    evaluator = Evaluator([rule])
    assert evaluated(evaluator, 0.0, workers=0, queue_requests=5) == []
    assert not evaluator.is_over(rule.name, ("tap",)), "it holds, and is within its `for`"
    assert evaluated(evaluator, 15.0, redis_up=0.0) == []
    assert not evaluator.is_over(rule.name, ("tap",)), "Redis is away: nobody knows"
    assert evaluated(evaluator, 30.0, workers=2, queue_requests=5) == []
    assert evaluator.is_over(rule.name, ("tap",))
    assert evaluator.is_over("a_rule_of_another_version", ())


def test_an_alert_with_a_window_is_not_over_before_the_window_was_seen() -> None:
    name = "dead_letters_up"
    evaluator = Evaluator([RULES[name], RULES["portal_stopped"], RULES["no_new_listings"]])
    paused: Samples = {"realestate_portal_paused": {("tap", "worker"): 0.0}}
    over = []
    for minute in range(70):
        counted: Samples = {"realestate_fleet_listings_new": {("tap",): float(minute)}}
        evaluator.evaluate({"realestate_fleet_dead_letters": {("tap",): 900.0}, **paused, **counted}, minute * 60.0)
        over.append([each for each in (name, "portal_stopped", "no_new_listings") if evaluator.is_over(each, ("tap",))])
    assert over[0] == []
    assert over[1] == ["no_new_listings"], "one new listing is enough to know"
    first = {each: next(minute for minute, names in enumerate(over) if each in names) for each in over[-1]}
    assert first == {"no_new_listings": 1, "portal_stopped": 40, name: 60}


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


def _minutes(rule: Rule) -> int:
    """How often the rule is evaluated: days of minutes would take long."""
    return max(1, int(windows(rule) / 3600))


def _prometheus_test(rule: Rule) -> dict[str, Any]:
    """Quiet, bad, quiet again; each phase longer than the windows of the rule."""
    step = 60 * _minutes(rule)
    length = int(max(windows(rule) / step, seconds(rule.keep) / step, 20) * 1.2) + bad_ticks(rule)
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
        "interval": f"{step}s",
        "input_series": series,
        "alert_rule_test": [
            {"eval_time": f"{at * step}s", "alertname": rule.name, "exp_alerts": found} for at, found in tests
        ],
    }


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_prometheus_accepts_the_rules_and_agrees(tmp_path: Path) -> None:
    """Each rule fires, stays silent and resolves in Prometheus' own engine. The texts are not compared."""
    generated = prometheus_rules()
    for rule in generated["groups"][0]["rules"]:
        rule["annotations"] = {}
    (tmp_path / "rules.json").write_text(json.dumps(generated))
    (tmp_path / "full.json").write_text(json.dumps(prometheus_rules()))
    files = []
    for minutes in sorted({_minutes(rule) for rule in rules()}):
        tests = [_prometheus_test(rule) for rule in rules() if _minutes(rule) == minutes]
        files.append(f"tests-{minutes}.json")
        content = {"rule_files": ["rules.json"], "evaluation_interval": f"{minutes}m", "tests": tests}
        (tmp_path / files[-1]).write_text(json.dumps(content))
    for arguments in (["check", "rules", "full.json"], ["test", "rules", *files]):
        done = subprocess.run(["promtool", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=250)
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


def test_a_watcher_that_starts_again_does_not_say_that_an_alert_is_over(
    any_store: FullStore, receiver: Receiver
) -> None:
    channels = Channels([receiver.url])
    samples: Samples = {"realestate_workers": {("tap",): 0.0}, "realestate_queue_requests": {("tap", "ready"): 5.0}}
    at = 0.0
    for _ in range(3):
        evaluator = Evaluator([RULES["workers_missing"]])
        alerts = Alerts(any_store, channels, evaluator.is_over)
        for _ in range(22):  # five and a half minutes
            alerts.update(evaluator.evaluate(samples, at), NOW + timedelta(seconds=at))
            at += 15
    samples["realestate_workers"] = {("tap",): 1.0}
    alerts.update(evaluator.evaluate(samples, at), NOW + timedelta(seconds=at))
    Sender(any_store, channels).send_due()
    fired = "critical: tap: requests wait and no worker runs."
    assert titles(receiver) == [fired, f"over: {fired}"]


def test_a_watcher_that_is_killed_after_it_wrote_the_message_writes_it_once(
    store: PostgresStore, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(*arguments: Any) -> None:
        raise Killed

    channels = Channels([receiver.url])
    with monkeypatch.context() as patch:
        patch.setattr(Alerts, "_save", die)
        with pytest.raises(Killed):
            Alerts(store, channels).update([match()], NOW)
    Alerts(store, channels).update([match()], NOW + timedelta(minutes=1))
    Sender(store, channels).send_due()
    assert len(titles(receiver)) == 1


def test_an_alert_that_another_watcher_has_ended_is_not_told_again_by_a_late_one(
    store: PostgresStore, receiver: Receiver
) -> None:
    channels = Channels([receiver.url])
    late, other = Alerts(store, channels), Alerts(store, channels)
    late.update([match()], NOW)
    other.update([], NOW + timedelta(seconds=14))
    late.update([match()], NOW + timedelta(seconds=15))  # what it read is older
    late.update([], NOW + timedelta(seconds=30))
    Sender(store, channels).send_due()
    assert len(titles(receiver)) == 2


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


class Away:
    """A store that can be away."""

    def __init__(self, store: FullStore) -> None:
        self._store = store
        self.is_away = False

    def __getattr__(self, name: str) -> Any:
        if self.is_away:
            raise StoreAway("the database is away")
        return getattr(self._store, name)


def test_while_the_database_is_away_each_new_alert_arrives_once_and_no_old_one(
    store: PostgresStore, receiver: Receiver
) -> None:
    away: Any = Away(store)
    channels = Channels([receiver.url])
    alerts = Alerts(away, channels)
    alerts.update([match()], NOW)
    silence(store, "queue_too_old", NOW + timedelta(hours=9), "known")
    alerts.update([match()], NOW)
    Sender(store, channels).send_due()
    away.is_away = True
    unreachable = Match(RULES["database_unreachable"], {}, 0.0)
    for minute in range(1, 4):
        alerts.update([match(), match(rule="queue_too_old"), unreachable], NOW + timedelta(minutes=minute))
    title = "critical: The database cannot be reached: workers keep what they fetched and wait."
    assert titles(receiver)[1:] == [title]
    away.is_away = False
    for minute in range(4, 6):
        alerts.update([match()], NOW + timedelta(minutes=minute))
        Sender(store, channels).send_due()
    assert titles(receiver)[1:] == [title, f"over: {title}"]


def test_a_receiver_that_refuses_while_the_database_is_away_gets_the_alert_later_and_once(
    store: PostgresStore, receiver: Receiver
) -> None:
    away: Any = Away(store)
    channels = Channels([receiver.url, f"{receiver.url}/refuses"])
    alerts = Alerts(away, channels)
    unreachable = Match(RULES["database_unreachable"], {}, 0.0)
    away.is_away = True
    receiver.answers = [200] + [500] * 10
    for minute in range(10):
        alerts.update([unreachable], NOW + timedelta(minutes=minute))
    assert (receiver.requests, len(titles(receiver))) == (11, 1)
    away.is_away = False
    alerts.update([unreachable], NOW + timedelta(minutes=11))
    for _ in range(2):
        Sender(store, channels).send_due()
    assert len(titles(receiver)) == 2, "one for each address"


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


def test_a_long_job_is_reported_although_many_short_ones_began_later(any_store: FullStore) -> None:
    """And none is reported again when the outbox has forgotten it, after 90 days."""
    channels = Channels(["https://example.org/hook"])
    before = datetime.now(UTC) - timedelta(hours=1)
    report_jobs(any_store, channels, before)
    any_store.begin_job("long", "tap", "full", "all")
    jobs = ["long", *(f"short-{number}" for number in range(101))]
    for job in jobs[1:]:
        any_store.begin_job(job, "tap", "incremental", "all")
    for job in reversed(jobs):
        any_store.end_sweep(job, "tap", complete=True)
        any_store.conclude(job, "tap")
    an_order(any_store, "refused", "failed", 0, 0, None)
    assert report_jobs(any_store, channels, before) == 103
    again = Channels(["https://example.org/another"])  # nothing is in the outbox for this address
    assert report_jobs(any_store, again, before) == 0
    any_store.begin_job("next", "tap", "full", "all")
    any_store.end_sweep("next", "tap", complete=True)
    any_store.conclude("next", "tap")
    assert report_jobs(any_store, again, before) == 1


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
