"""`realestate serve` and `realestate key`: the API, the web app, and who may use them."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from realestate.cli.options import JsonFlag

if TYPE_CHECKING:
    import socket


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on; any but loopback needs API_KEYS.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0: any free one.")] = 8080,
) -> None:
    """Serve the API and the web app, on this machine only unless --host says otherwise."""
    import socket

    import uvicorn

    from realestate import settings
    from realestate.cli.connections import connected
    from realestate.cli.errors import UsageError, print_note
    from realestate.storage import FullStore, open_store
    from realestate.web.app import create_app
    from realestate.web.security import LOOPBACK

    if host not in LOOPBACK and not settings.API_KEYS:
        raise UsageError(f"--host {host} lets others in: make a key with `realestate key` and set API_KEYS first")
    with connected() as addresses:

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
            api_keys=settings.API_KEYS,
            rate_limit=settings.API_RATE_LIMIT,
            simulator_url=settings.SIMULATOR_URL,
        )
        config = uvicorn.Config(
            app, host=host, port=port, log_level="warning", server_header=False, timeout_graceful_shutdown=5
        )
        line = _bound(socket.AF_INET6 if ":" in host else socket.AF_INET, host, port)
        shown = f"[{host}]" if ":" in host else host
        print_note(f"listening on http://{shown}:{line.getsockname()[1]}; Ctrl-C stops it")
        uvicorn.Server(config).run([line])


def _bound(family: int, host: str, port: int) -> "socket.socket":
    """A socket that listens; OSError if the port is taken."""
    import socket

    line = socket.socket(family)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    line.bind((host, port))
    return line


def key(
    name: Annotated[str, typer.Argument(help="Whose key it is: letters, digits, dot, hyphen.")],
    scope: Annotated[str, typer.Option(help="read, or operate: may also submit and cancel jobs and replay.")] = "read",
    json: JsonFlag = False,
) -> None:
    """Make a key for the API. It is shown once; API_KEYS keeps its hash."""
    from realestate.cli import terminal
    from realestate.cli.errors import UsageError
    from realestate.web.security import PERMISSIONS, new_key

    if not re.fullmatch(r"[\w.-]{1,64}", name, re.ASCII):
        raise UsageError(f"{name!r} is no name of a key: letters, digits, dot and hyphen, at most 64")
    permission = next((each for each in PERMISSIONS if each == scope), None)
    if permission is None:
        raise UsageError(f"--scope is one of {', '.join(PERMISSIONS)}, not {scope!r}")
    secret, made = new_key(name, permission)
    if json:
        terminal.print_json({"key": secret, "entry": str(made)})
        return
    print(f"key, for the client, not shown again:  {secret}")
    print(f"entry, to be added to API_KEYS:        {made}")
