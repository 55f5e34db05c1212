"""`realestate serve`: the API and the web app."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from realestate.web.keys import Key
    from realestate.web.pages.web import Tiles

PORT = 8080


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0: any free one.")] = PORT,
    demo: Annotated[bool, typer.Option("--demo", help="Serve what `realestate demo` collected.")] = False,
    new_key: Annotated[
        str | None, typer.Option("--new-key", metavar="NAME", help="Print a new API key and its entry, and exit.")
    ] = None,
    operate: Annotated[bool, typer.Option("--operate", help="The new key may also operate, not only read.")] = False,
) -> None:
    """Serve the API and the web app, on this machine only unless API_KEYS is set and --host says otherwise."""
    import uvicorn

    from realestate import settings
    from realestate.cli.connections import connected
    from realestate.cli.errors import print_note
    from realestate.searches.check import Receivers
    from realestate.storage import FullStore, open_store
    from realestate.web.app import create_app

    if new_key is not None:
        _print_new_key(new_key, may_operate=operate)
        return
    keys = _keys(host)
    with connected(demo_home() if demo else None) as addresses:

        def open_one() -> FullStore:
            return open_store(addresses.store_url)

        store = open_one()
        try:
            store.migrate()
        finally:
            store.close()
        app = create_app(
            open_one,
            addresses.redis_url,
            api_keys=keys,
            rate_limit=settings.API_RATE_LIMIT,
            tiles=_tiles(),
            simulator=settings.SIMULATOR_URL,
            timetable=settings.TIMETABLE,
            receivers=Receivers(settings.WEBHOOK_SECRET, settings.ALLOW_PRIVATE_ADDRESSES),
        )
        config = uvicorn.Config(
            app, host=host, port=port, log_config=None, server_header=False, timeout_graceful_shutdown=2
        )
        with _listening(host, port) as listening:
            shown = f"[{host}]" if ":" in host else host
            print_note(f"look at http://{shown}:{listening.getsockname()[1]}; Ctrl-C stops it")
            uvicorn.Server(config).run(sockets=[listening])


def _keys(host: str) -> "Mapping[str, Key]":
    """The keys of API_KEYS. A UsageError if they are wrong, or if there are none and others could reach the server."""
    from realestate import settings
    from realestate.cli.errors import UsageError
    from realestate.web.keys import BadKeys, read_keys

    try:
        keys = read_keys(settings.API_KEYS)
    except BadKeys as error:
        raise UsageError(str(error)) from error
    if not keys and not _is_this_machine(host):
        raise UsageError(
            f"without API_KEYS everybody who reaches {host} could operate the fleet: make a key with"
            " `realestate serve --new-key NAME`, or listen on 127.0.0.1"
        )
    return keys


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens there. A UsageError if that is not possible."""
    from realestate.cli.errors import UsageError

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            raise UsageError(f"cannot listen on {host} port {port}: {error.strerror}; choose another --port") from error
        yield listening


def _tiles() -> "Tiles | None":
    from realestate import settings
    from realestate.web.pages.web import Tiles

    return Tiles(settings.MAP_TILES_URL, settings.MAP_TILES_ATTRIBUTION) if settings.MAP_TILES_URL else None


def demo_home() -> Path:
    """The folder of the demo's services. A UsageError where the demo was never run."""
    from realestate import embedded, settings
    from realestate.cli.errors import UsageError

    home = settings.REALESTATE_HOME / "demo"
    if not embedded.is_used(home):
        raise UsageError(f"nothing is in {home}: run `realestate demo` first")
    return home


def _print_new_key(name: str, *, may_operate: bool) -> None:
    from realestate.cli.errors import UsageError
    from realestate.web.keys import BadKeys, new_key

    try:
        key, entry = new_key(name, "operate" if may_operate else "read")
    except BadKeys as error:
        raise UsageError(str(error)) from error
    print(f"the key, shown only now: {key}")
    print(f"add to API_KEYS:         {entry}")
