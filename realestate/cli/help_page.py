"""The help page of `realestate`: commands in groups, the first ones for newcomers, no sentence cut."""

from typing import Any

from typer.core import TyperGroup

START = "Start here"
DATA = "Look at the data"
FLEET = "Run a fleet"
KEEP = "Maintain the data"
AUTHOR = "Write a portal"
PANELS = (START, DATA, FLEET, KEEP, AUTHOR)


class GroupedCommands(TyperGroup):
    """Prints the commands of each panel under its title, with the whole first sentence of their help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        for panel in PANELS:
            rows = [
                (name, _first_sentence(command.help or ""))
                for name, command in found
                if command is not None and not command.hidden and getattr(command, "rich_help_panel", None) == panel
            ]
            if rows:
                with formatter.section(panel):
                    formatter.write_dl(rows)


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".") + "."
