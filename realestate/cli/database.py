"""`realestate db`: opens the database that the commands use."""

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer


def db(
    url: Annotated[bool, typer.Option("--url", help="Print the address, with its password, instead.")] = False,
    arguments: Annotated[list[str] | None, typer.Argument(help="Arguments of psql, after `--`.")] = None,
) -> None:
    """Open psql (or mongosh) on the database: the configured one, or the embedded one, which runs meanwhile."""
    from realestate import settings
    from realestate.cli.connections import kept

    with kept() as addresses:
        if url:
            _print_url(addresses.store_url, is_embedded=not settings.STORE_URL)
            return
        code = _open_client(addresses.store_url, arguments or [])
    raise typer.Exit(code)


def _print_url(address: str, *, is_embedded: bool) -> None:
    print(address, flush=True)
    if is_embedded and sys.stderr.isatty():  # also if the address itself goes into a pipe
        print("the embedded server runs until Ctrl-C; use the address from another terminal", file=sys.stderr)
    while is_embedded:  # the address works only as long as this command runs
        time.sleep(3600)


def _open_client(address: str, arguments: list[str]) -> int:
    name = "mongosh" if urlsplit(address).scheme.startswith("mongodb") else "psql"
    program = _program(name)
    if program is None:
        from realestate.cli.errors import UsageError

        raise UsageError(f"{name} is not installed; `realestate db --url` prints the address for another client")
    return subprocess.run([program, address, *arguments]).returncode


def _program(name: str) -> Path | None:
    """The program on the PATH; for psql also that of the embedded PostgreSQL."""
    from realestate.embedded.binaries import postgres_binaries

    if found := shutil.which(name):
        return Path(found)
    folder = postgres_binaries() if name == "psql" else None
    own = folder / name if folder else None
    return own if own is not None and own.is_file() else None
