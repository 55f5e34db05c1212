"""`realestate serve`: the API and the web app."""

from typing import Annotated

import typer


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0: any free one.")] = 8080,
) -> None:
    """Serve the API and the web app, on this machine only unless --host says otherwise."""
    import uvicorn

    from realestate.cli.connections import connected
    from realestate.cli.errors import print_note
    from realestate.storage import FullStore, open_store
    from realestate.web.app import create_app

    with connected() as addresses:

        def open_one() -> FullStore:
            return open_store(addresses.store_url)

        store = open_one()
        try:
            store.migrate()
        finally:
            store.close()
        print_note(f"listening on http://{host}:{port}; Ctrl-C stops it")
        app = create_app(open_one, addresses.redis_url)
        uvicorn.run(app, host=host, port=port, log_level="warning", server_header=False)
