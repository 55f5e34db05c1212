"""`realestate mcp`: the data for language models."""

from contextlib import closing
from typing import Annotated

import typer


def mcp(
    demo: Annotated[bool, typer.Option("--demo", help="Serve what `realestate demo` collected.")] = False,
) -> None:
    """Let a language model on this machine read the data: a server of the Model Context Protocol on standard input
    and output. It cannot change anything.

    The program that talks to the model starts this command; it needs `pip install 'realestate[mcp]'`. docs/api.md
    shows its configuration.
    """
    from realestate.cli.connections import connected
    from realestate.cli.errors import UsageError
    from realestate.cli.serve import demo_home
    from realestate.storage import open_store
    from realestate.web.stores import Stores

    try:
        from realestate.web.mcp import mcp_server
    except ModuleNotFoundError as error:
        if error.name != "mcp":
            raise
        raise UsageError("`realestate mcp` needs a library: pip install 'realestate[mcp]'") from error
    with connected(demo_home() if demo else None) as addresses:
        with closing(open_store(addresses.store_url)) as store:
            store.migrate()
        stores = Stores(lambda: open_store(addresses.store_url))
        try:
            mcp_server(stores).run()
        finally:
            stores.close()
