"""`realestate search`: saved searches, and their receivers."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from realestate.cli.help_page import command_group
from realestate.cli.options import JsonFlag

if TYPE_CHECKING:
    from realestate.storage import FullStore
    from realestate.storage.searches import Search, SearchStore

app = command_group("Saved searches: messages about new listings, prices and what is gone.")

NameArgument = Annotated[str, typer.Argument(help="The name of the search, or the beginning of its id.")]
#: How long `watch` waits for events before it looks for messages that are to be sent again.
_WAIT_SECONDS = 1.0


@app.command(
    epilog='Example: realestate search save "cheap 2 rooms" --where "rooms=2 price<150000" --notify tgram://token/chat'
)
def save(
    name: Annotated[str, typer.Argument(help="A name of your choice.")],
    where: Annotated[str, typer.Option("--where", help="A filter, as docs/query.md describes it.")],
    notify: Annotated[
        list[str] | None,
        typer.Option("--notify", help="The receiver: an address of apprise, or a webhook. May be repeated."),
    ] = None,
    on: Annotated[
        str, typer.Option("--on", help="Which events, separated by commas.")
    ] = "listed,price_changed,delisted,relisted",
    json: JsonFlag = False,
) -> None:
    """Save a search. Its receivers get what happens from now on, by `realestate search watch`."""
    from realestate import settings
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store
    from realestate.cli.errors import UsageError
    from realestate.searches.check import BadSearch, Receivers, check_search

    wanted = tuple(dict.fromkeys(each.strip() for each in on.split(",") if each.strip()))
    receivers = Receivers(settings.WEBHOOK_SECRET, settings.ALLOW_PRIVATE_ADDRESSES)
    try:
        search = check_search(name, where, notify or (), receivers, wanted)
    except BadSearch as error:
        raise UsageError(_said_by(error.field) + str(error)) from error
    with opened_store() as store:
        saved = search.save(store)
    if json:
        terminal.print_json(_record(saved))
    else:
        whom = ", ".join(_shown(saved)) or "nobody: only its feed shows it"
        print(f"saved {saved.name!r} ({saved.id[:8]}), notifies {whom}")


@app.command("list", epilog="Example: realestate search list")
def list_searches(json: JsonFlag = False) -> None:
    """List the saved searches."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store

    with opened_store() as store:
        found = store.searches()
    if json:
        terminal.print_json([_record(each) for each in found])
        return
    rows = [
        [
            each.id[:8],
            "paused" if each.is_paused else "on",
            each.name,
            ",".join(each.on),
            " ".join(_shown(each)) or "-",
            each.filter,
        ]
        for each in found
    ]
    header = ["id", "state", "name", "events", "notifies", "filter"]
    terminal.print_columns(header, rows, left=5, empty="no saved search; `realestate search save --help` shows how")


@app.command(epilog='Example: realestate search show "cheap 2 rooms"')
def show(name: NameArgument, json: JsonFlag = False) -> None:
    """Show one search, and how many listings match it now. Addresses are never shown in full."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store
    from realestate.storage.query import parse_filter

    with opened_store() as store:
        search = _found(store, name)
        count = store.count(parse_filter(search.filter))
    if json:
        terminal.print_json({**_record(search), "matches": count.number, "matches_exactly": count.is_exact})
        return
    print(f"{search.name} ({search.id})")
    print(f"  filter    {search.filter}")
    print(f"  events    {', '.join(search.on)}")
    print(f"  notifies  {', '.join(_shown(search)) or 'nobody'}")
    print(f"  state     {'paused' if search.is_paused else 'on'}, saved {search.created_at:%Y-%m-%d %H:%M} UTC")
    print(f"  matches   {count} listings on the market")
    print(f"  feed      /feeds/{search.id}.atom on the server of `realestate serve`")


@app.command("test", epilog='Example: realestate search test "cheap 2 rooms" --events 5000')
def preview(
    name: NameArgument,
    events: Annotated[
        int, typer.Option("--events", min=1, max=100_000, help="How many of the last events to look at.")
    ] = 1000,
    show: Annotated[int, typer.Option("--show", min=0, help="How many of the last messages to print.")] = 10,
    json: JsonFlag = False,
) -> None:
    """Say which of the last events it would have sent. Send nothing. With --json all messages are printed."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store
    from realestate.searches.follow import would_send

    with opened_store() as store:
        search = _found(store, name)
        messages = would_send(store, search, events)
    if json:
        terminal.print_json([asdict(each) for each in messages])
        return
    shown = messages[max(0, len(messages) - show) :]
    for each in shown:
        print(f"{each.title}\n  " + each.body.replace("\n", "\n  "))
    left_out = f"; the last {len(shown):,} are shown (--show)" if len(shown) < len(messages) else ""
    print(f"{len(messages):,} of the last {events:,} events{left_out}; nothing was sent")


@app.command(epilog='Example: realestate search pause "cheap 2 rooms"')
def pause(
    name: NameArgument,
    off: Annotated[bool, typer.Option("--off", help="End the pause.")] = False,
) -> None:
    """Pause a search, or end its pause with --off. What happens during a pause is not sent later."""
    from realestate.cli.connections import opened_store

    with opened_store() as store:
        search = _found(store, name)
        store.pause_search(search.id, paused=not off)
    print(f"{search.name}: {'on again' if off else 'paused'}")


@app.command(epilog='Example: realestate search delete "cheap 2 rooms"')
def delete(name: NameArgument) -> None:
    """Delete a search. Messages of it that wait in the outbox are not sent, unless another search has the address."""
    from realestate.cli.connections import opened_store

    with opened_store() as store:
        search = _found(store, name)
        store.delete_search(search.id)
    print(f"deleted {search.name!r}")


@app.command(epilog="Example: realestate search watch")
def watch(
    once: Annotated[bool, typer.Option("--once", help="End when nothing is left to do now.")] = False,
) -> None:
    """Send the messages of all saved searches, until SIGTERM. Any number of these processes may run."""
    from realestate import settings
    from realestate.cli.connections import connected
    from realestate.searches.watch import watch as watch_searches
    from realestate.storage import open_store

    with connected() as addresses:
        watch_searches(
            lambda: open_store(addresses.store_url),
            message_seconds=settings.SEARCH_MESSAGE_SECONDS,
            notify_urls=settings.NOTIFY_URLS,
            webhook_secret=settings.WEBHOOK_SECRET,
            may_be_private=settings.ALLOW_PRIVATE_ADDRESSES,
            link=_link,
            once=once,
        )


def _link(store: "FullStore") -> None:
    """Find out of which homes new adverts are, if homes are built at all: then each home is sent once."""
    from realestate.cli.homes import is_analysis_installed

    if store.homes_run() is not None and is_analysis_installed():
        from realestate.homes.build import build

        build(store)


def _said_by(field: str) -> str:
    """What an error about this field begins with: the option that is wrong."""
    return "" if field == "name" else f"--{field}{' ' if field == 'on' else ': '}"


def _found(store: "SearchStore", name: str) -> "Search":
    """The search of this name, or whose id begins so. A UsageError if there is none, or are several."""
    from realestate.cli.errors import UsageError

    searches = store.searches()
    exact = [each for each in searches if each.name == name]
    found = exact or [each for each in searches if len(name) >= 4 and each.id.startswith(name)]
    if len(found) != 1:
        raise UsageError(f"there is no search {name!r}; `realestate search list` shows all")
    return found[0]


def _shown(search: "Search") -> Sequence[str]:
    from realestate.monitoring.addresses import shown

    return [shown(each) for each in search.notify]


def _record(search: "Search") -> dict[str, Any]:
    return {**asdict(search), "notify": _shown(search)}
