"""The help pages of `realestate` and of its command groups: the commands in panels, no sentence cut."""

from typing import Any

import typer
from typer.core import TyperGroup

START = "Start here"
DATA = "Look at the data"
FLEET = "Run a fleet"
KEEP = "Maintain the data"
AUTHOR = "Write a portal"
PANELS = (START, DATA, FLEET, KEEP, AUTHOR)
#: The only panel of a command group.
COMMANDS = "Commands"


class GroupedCommands(TyperGroup):
    """Prints the commands of each panel under its title, with the whole first sentence of their help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {panel: [] for panel in PANELS}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                panel = getattr(command, "rich_help_panel", None) or COMMANDS
                panels.setdefault(panel, []).append((name, _first_sentence(command.help or "")))
        for panel, rows in panels.items():
            if rows:
                with formatter.section(panel):
                    formatter.write_dl(rows)


def command_group(help: str) -> typer.Typer:
    """A group of commands, such as `realestate jobs`."""
    return typer.Typer(cls=GroupedCommands, help=help, no_args_is_help=True, rich_markup_mode=None)


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".") + "."
