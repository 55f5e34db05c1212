"""`realestate notifications`: the outbox. List, send, retry and test."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from realestate.cli.help_page import command_group
from realestate.cli.options import JsonFlag, NewestOption

if TYPE_CHECKING:
    from realestate.monitoring.channels import Channels
    from realestate.storage import FullStore
    from realestate.storage.outbox import Notification

app = command_group("The outbox of alerts, reports and webhooks: list, send, retry, test.")

StateOption = Annotated[
    Literal["waiting", "sent", "failed"] | None, typer.Option("--state", help="Only in this state.")
]
TopicOption = Annotated[
    str | None, typer.Option("--topic", help="Only topics that begin so: alert, report, self-test …")
]


def operator_channels() -> "Channels":
    """The channels of the settings. A UsageError if an address of NOTIFY_URLS cannot be used."""
    from realestate import settings
    from realestate.cli.errors import UsageError
    from realestate.monitoring.addresses import BadAddress
    from realestate.monitoring.channels import Channels

    channels = Channels(
        settings.NOTIFY_URLS,
        webhook_secret=settings.WEBHOOK_SECRET,
        allow_private=settings.ALLOW_PRIVATE_ADDRESSES,
    )
    try:
        channels.check()
    except BadAddress as error:
        raise UsageError(str(error)) from error
    return channels


@app.command("list", epilog="Example: realestate notifications list --state failed")
def list_notifications(
    state: StateOption = None, topic: TopicOption = None, limit: NewestOption = 20, json: JsonFlag = False
) -> None:
    """List the newest messages: what they said, whether they were sent, and why not."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store

    with opened_store() as store:
        found = store.notifications(state=state, topic=topic, limit=limit)
    if json:
        terminal.print_json([asdict(each) for each in found])
    else:
        _print_table(found)


@app.command(epilog="Example: realestate notifications send")
def send(json: JsonFlag = False) -> None:
    """Send what is due now, once. `realestate watch` does so all the time."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store
    from realestate.monitoring.delivery import Sender

    channels = operator_channels()
    with opened_store() as store:
        done = Sender(store, channels).send_due()
    if json:
        terminal.print_json(asdict(done))
    else:
        print(f"{done.sent} sent, {done.postponed} not accepted now, {done.failed} refused for good")
    raise typer.Exit(1 if done.postponed or done.failed else 0)


@app.command(epilog="Example: realestate notifications retry 1f2e3d4c")
def retry(
    ids: Annotated[
        list[str] | None,
        typer.Argument(help="Ids, as `list` shows them, or their beginnings; by default all that failed."),
    ] = None,
) -> None:
    """Send messages again that failed."""
    from realestate.cli.connections import opened_store
    from realestate.cli.options import whole_id

    with opened_store() as store:
        failed = {each.id: each for each in store.notifications(state="failed", limit=10_000)}
        chosen = [whole_id(id, failed, "failed message") for id in ids] if ids else list(failed)
        count = store.retry_notifications(chosen)
    print(f"{count} will be sent again")


@app.command(epilog="Example: realestate notifications report")
def report() -> None:
    """Send a report to the operators now: what is new, changed and gone since the last daily one."""
    from datetime import UTC, datetime

    from realestate.cli.connections import connected
    from realestate.cli.errors import UsageError
    from realestate.cli.exporter import fleet_reader
    from realestate.monitoring.delivery import Sender
    from realestate.monitoring.reports import report_now
    from realestate.storage import open_store

    channels = operator_channels()
    if not channels.operators:
        raise UsageError("NOTIFY_URLS is not set: there is no receiver (docs/monitoring.md has examples)")
    with connected() as addresses, fleet_reader(addresses) as reader, closing(open_store(addresses.store_url)) as store:
        count = report_now(store, channels, reader.read(), datetime.now(UTC))
        Sender(store, channels).send_due()
    print(f"reported to {count} addresses")


@app.command("test", epilog="Example: realestate notifications test")
def send_a_test(json: JsonFlag = False) -> None:
    """Send a test message to each address of NOTIFY_URLS now, and say which accepted it."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store
    from realestate.cli.errors import UsageError

    channels = operator_channels()
    if not channels.operators:
        raise UsageError("NOTIFY_URLS is not set: there is no receiver (docs/monitoring.md has examples)")
    with opened_store() as store:
        found = send_test(store, channels)
    names = channels.names()
    if json:
        terminal.print_json([asdict(each) | {"address": names[each.target]} for each in found])
    else:
        for each in found:
            why = f": {each.error}" if each.error else ""
            print(f"{names[each.target]}: {'accepted' if each.state == 'sent' else 'not accepted'}{why}")
    raise typer.Exit(0 if all(each.state == "sent" for each in found) else 1)


def send_test(store: "FullStore", channels: "Channels") -> "Sequence[Notification]":
    """Send a test message through the outbox, and return it as it is afterwards, once for each address."""
    from uuid import uuid4

    from realestate.monitoring.delivery import Sender, notify_operators

    topic = f"test:{uuid4().hex}"
    notify_operators(
        store,
        channels,
        topic=topic,
        dedupe_key=topic,
        title="realestate: a test",
        body="Somebody ran `realestate notifications test`. If you read this, alerts reach you.",
    )
    Sender(store, channels).send_due()
    return store.notifications(topic=topic, limit=len(channels.operators))


def _print_table(found: "Sequence[Notification]") -> None:
    from realestate.cli import terminal

    rows = [
        [
            each.id[:8],
            each.created_at.isoformat(sep=" ", timespec="seconds").removesuffix("+00:00"),
            each.state,
            str(each.attempts),
            each.topic,
            " ".join(each.title.split()) + (f" ({each.error})" if each.error else ""),
        ]
        for each in found
    ]
    header = ["id", "at", "state", "attempts", "topic", "title"]
    terminal.print_columns(header, rows, left=3, empty="no notification was written yet")
