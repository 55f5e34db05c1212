"""`realestate watch` and `realestate alerts`: evaluates the alert rules, sends messages and reports."""

import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from realestate.cli.help_page import command_group
from realestate.cli.options import JsonFlag

if TYPE_CHECKING:
    from realestate.cli.connections import Addresses
    from realestate.monitoring.channels import Channels

app = command_group("Alerts that fire: list, silence.")

#: Alerts are evaluated again although a receiver is slow.
_SEND_SECONDS = 10.0
#: How long settled messages stay is checked this often.
_CLEAN_SECONDS = 3600.0


def watch(
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 15.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, send what is due, and end.")] = False,
) -> None:
    """Evaluate the alert rules, send alerts, reports and webhooks, until Ctrl-C. Needs no Prometheus."""
    from realestate.cli.connections import connected
    from realestate.cli.errors import print_note
    from realestate.cli.notifications import operator_channels

    channels = operator_channels()
    if not channels.operators:
        print_note("NOTIFY_URLS is not set: alerts are only printed here (docs/monitoring.md has examples)")
    with connected() as addresses:
        _watch(addresses, channels, every, once=once)


def _watch(addresses: "Addresses", channels: "Channels", every: float, *, once: bool) -> None:
    from realestate.cli.exporter import fleet_reader
    from realestate.monitoring.alerts import Alerts
    from realestate.monitoring.delivery import Sender
    from realestate.monitoring.reports import report_day, report_jobs
    from realestate.monitoring.rules import Evaluator
    from realestate.storage import StoreError, open_store

    store = open_store(addresses.store_url)
    evaluator = Evaluator()
    alerts = Alerts(store, channels, evaluator.is_over)
    sender = Sender(store, channels)
    cleaned_at = 0.0
    try:
        with fleet_reader(addresses) as reader:
            while True:
                began = time.monotonic()
                samples = reader.read()
                now = datetime.now(UTC)
                for line in alerts.update(evaluator.evaluate(samples, began), now):
                    print(f"{now:%Y-%m-%d %H:%M:%S} {line}", flush=True)
                try:
                    report_jobs(store, channels, now)
                    report_day(store, channels, samples, now)
                    sender.send_due(seconds=_SEND_SECONDS)
                    if began - cleaned_at > _CLEAN_SECONDS:
                        cleaned_at = began
                        store.drop_notifications()
                except StoreError as error:
                    print(f"realestate: the store is away: {error}", file=sys.stderr, flush=True)
                if once:
                    return
                time.sleep(max(0.0, every - (time.monotonic() - began)))
    except KeyboardInterrupt:
        return
    finally:
        store.close()


@app.command("list", epilog="Example: realestate alerts list --json")
def list_alerts(json: JsonFlag = False) -> None:
    """List the alerts that fire now, and the silences."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store
    from realestate.monitoring.alerts import open_alerts, silences

    with opened_store() as store:
        alerts = open_alerts(store)
        quiet = silences(store, datetime.now(UTC))
    if json:
        terminal.print_json({"alerts": [asdict(each) for each in alerts], "silences": quiet})
        return
    rows = [
        [each.key, each.since[:16].replace("T", " "), "sent" if each.notified else "not sent", each.title]
        for each in alerts
    ]
    if rows:
        terminal.print_columns(["alert", "since (UTC)", "operators", "text"], rows, left=4)
    else:
        print("no alert fires")
    for beginning, state in quiet.items():
        until = datetime.fromtimestamp(state["until"], UTC)
        print(f"silenced until {until:%Y-%m-%d %H:%M} UTC: {beginning}* {state['reason']}".rstrip())


@app.command(epilog="Example: realestate alerts silence queue_too_old/immoweb --hours 12 --reason 'the site is slow'")
def silence(
    alert: Annotated[
        str, typer.Argument(help="An alert as `list` shows it, or its beginning; a rule's name for all of it.")
    ],
    hours: Annotated[float, typer.Option(min=0.0, help="For how long; 0 ends the silence.")] = 8.0,
    reason: Annotated[str, typer.Option(help="Why; `list` shows it.")] = "",
) -> None:
    """Send no messages about an alert for some hours. It stays in the list."""
    from realestate.cli.connections import opened_store
    from realestate.cli.errors import UsageError
    from realestate.monitoring import alerts
    from realestate.monitoring.rules import rules

    names = [rule.name for rule in rules()]
    if alert.partition("/")[0] not in names:
        raise UsageError(f"there is no alert {alert!r}; the rules are: {', '.join(names)}")
    with opened_store() as store:
        if hours == 0:
            print(
                f"not silenced any more: {alert}" if alerts.end_silence(store, alert) else f"{alert} was not silenced"
            )
            return
        until = datetime.now(UTC) + timedelta(hours=hours)
        alerts.silence(store, alert, until, reason)
    print(f"silenced until {until:%Y-%m-%d %H:%M} UTC: {alert}")


@app.command(epilog="Example: realestate alerts accept bina floors_total")
def accept(
    portal: Annotated[str, typer.Argument(help="The portal's name; `realestate portals` shows all.")],
    field: Annotated[str, typer.Argument(help="The field, as the alert names it.")],
) -> None:
    """End the alert of a vanished field: the portal does not show it any more. Its values are then deleted when their
    pages are read again."""
    from realestate.cli.connections import check_portals, opened_store
    from realestate.cli.errors import UsageError
    from realestate.monitoring.drift import WATCHED, accept_field

    check_portals([portal])
    if field not in WATCHED:
        raise UsageError(f"there is no field {field!r} to watch; the fields are: {', '.join(WATCHED)}")
    with opened_store() as store:
        had_vanished = accept_field(store, portal, field)
    print(f"accepted: {portal} has no {field}" if had_vanished else f"{portal}: {field} had not vanished")


@app.command(epilog="Example: realestate alerts rules > deploy/prometheus/alerts.yml")
def rules() -> None:
    """Print the alert rules as a rules file of Prometheus."""
    from realestate.monitoring.rules import prometheus_rules_file

    print(prometheus_rules_file(), end="")
