"""Runs a command and turns each expected error into one line on stderr and an exit code. No traceback."""

import signal
import sys
from types import FrameType

import typer

from realestate.queue.credentials import without_credentials

#: The exit code of Typer after Ctrl-C.
INTERRUPTED = 130
#: How soon an interrupt that Python swallowed is raised again.
INTERRUPT_AGAIN_SECONDS = 0.05


class UsageError(Exception):
    """A wrong argument that Typer could not recognise. The exit code is 2."""


def run(app: typer.Typer) -> int:
    """Run the command that is in sys.argv and return its exit code."""
    signal.signal(signal.SIGTERM, _interrupt)
    if sys.platform != "win32":
        signal.signal(signal.SIGALRM, _interrupt)
        sys.unraisablehook = _interrupt_again
    try:
        code = int(app(standalone_mode=False) or 0)
        if code == INTERRUPTED:
            return _print_error("stopped; run the command again to continue", code)
        return code
    except typer.TyperException as error:
        message = str(error.format_message() if hasattr(error, "format_message") else error)
        if message.startswith("Usage:"):
            print(message)  # a command group without a command: print its help
            return 2
        message = message.replace("Value error, ", "")  # what the library for options puts before each of its reasons
        return _print_error(
            message.partition("\n")[0].rstrip(".") + _where_to_look(error), getattr(error, "exit_code", 1)
        )
    except UsageError as error:
        return _print_error(str(error), 2)
    except Exception as error:
        line = _expected(error)
        if line is None:
            raise
        return _print_error(line, 1)


def _where_to_look(error: typer.TyperException) -> str:
    """The help of the command whose arguments are wrong."""
    context = getattr(error, "ctx", None)
    if context is None:
        return ""
    command = context.command_path.removeprefix(context.find_root().command_path)
    return f"; see `realestate{command} --help`"


def print_warning(text: str) -> None:
    print(f"realestate: warning: {without_credentials(text)}", file=sys.stderr)


def print_note(text: str) -> None:
    print(f"realestate: {text}", file=sys.stderr)


def _expected(error: Exception) -> str | None:
    """The line for an expected error; None for a bug, which keeps its traceback.

    The exception classes are imported only now: importing them takes longer than `--help` may take."""
    from realestate.authoring import AuthoringError
    from realestate.demo import DemoRuns
    from realestate.embedded import EmbeddedError
    from realestate.exports import ExportError
    from realestate.jobs.local import WorkerDied
    from realestate.queue.redis_client import REDIS_ERRORS, error_text, is_wrong_type
    from realestate.queue.redis_url import BadRedisUrl
    from realestate.storage.errors import StoreError

    if is_wrong_type(error):
        return f"Redis: {error_text(error)}; another program has written to our keys (docs/architecture.md lists them)"
    if isinstance(error, REDIS_ERRORS) and not isinstance(error, OSError):
        return f"Redis: {error_text(error)}; is REDIS_URL right? `realestate doctor` checks it"
    if isinstance(error, BadRedisUrl):
        return f"REDIS_URL is not an address of Redis: {error}"
    if isinstance(error, (EmbeddedError, StoreError, ExportError, AuthoringError, DemoRuns, WorkerDied)):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
    return None


def _interrupt(number: int, frame: FrameType | None) -> None:
    """SIGTERM is handled like Ctrl-C: child processes and services are stopped on the way out."""
    raise KeyboardInterrupt


def _interrupt_again(unraisable: "sys.UnraisableHookArgs") -> None:
    """Raise a swallowed interrupt again a little later.

    Python swallows exceptions in destructors and in the locks of modules that are being imported. Without this, a
    command that is interrupted there would never end."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, INTERRUPT_AGAIN_SECONDS)
    else:
        sys.__unraisablehook__(unraisable)


def _print_error(text: str, code: int) -> int:
    print(f"realestate: {without_credentials(text)}", file=sys.stderr)
    return code
