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
            word = "BAD" if finding.is_fault else "ok" if finding.ok else "WARN"
            print(f"{word:<4} {finding.what:<8} {finding.found}")
            if finding.remedy:
                print(f"     {'':<8} -> {finding.remedy}")
    raise typer.Exit(1 if any(finding.is_fault for finding in findings) else 0)
