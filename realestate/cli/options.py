"""Arguments and options that several commands share."""

from typing import Annotated

import typer

PortalArgument = Annotated[str, typer.Argument(help="The portal's name; `realestate portals` shows all.")]
PortalOption = Annotated[str | None, typer.Option("--portal", help="Only this portal.")]
DryRunFlag = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
NewestOption = Annotated[int, typer.Option("--limit", min=1, help="At most this many, the newest first.")]
