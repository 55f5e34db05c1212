"""`realestate doctor`: checks the configuration of this machine."""

from dataclasses import asdict

import typer

from realestate.cli.options import JsonFlag


def doctor(json: JsonFlag = False) -> None:
    """Check what is configured, reachable or missing. Each fault is shown with what to do."""
    from realestate import doctor as room
    from realestate.cli import terminal

    findings = room.examine()
    if json:
        terminal.print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            print(f"{'ok ' if finding.ok else 'BAD'}  {finding.what:<8} {finding.found}")
            if finding.remedy:
                print(f"     {'':<8} -> {finding.remedy}")
    raise typer.Exit(0 if all(finding.ok for finding in findings) else 1)
