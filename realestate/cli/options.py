"""Arguments and options that several commands share."""

from collections.abc import Iterable
from typing import Annotated

import typer

from realestate.cli.errors import UsageError

PortalArgument = Annotated[str, typer.Argument(help="The portal's name; `realestate portals` shows all.")]
PortalOption = Annotated[str | None, typer.Option("--portal", help="Only this portal.")]
DryRunFlag = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
NewestOption = Annotated[int, typer.Option("--limit", min=1, help="At most this many, the newest first.")]


#: At most this many ids are shown when a beginning fits several.
SHOWN = 5


def whole_id(beginning: str, ids: Iterable[str], what: str) -> str:
    """The only id with this beginning. A UsageError if there is none, or more than one. `what` names the thing, such as
    `a job`."""
    found = sorted({id for id in ids if id.startswith(beginning)})
    if beginning in found:
        return beginning
    if not found:
        raise UsageError(f"there is no {what} with the id {beginning!r}")
    if len(found) > 1:
        shown = ", ".join(found[:SHOWN]) + (" …" if len(found) > SHOWN else "")
        raise UsageError(f"{beginning!r} fits {len(found)} ids of {what}s: {shown}; type more of it")
    return found[0]
