"""What a person reads when something fails: one line, no traceback."""

import signal
import sys
from types import FrameType

import typer

#: Typer's code after Ctrl-C.
INTERRUPTED = 130
#: An interrupt that was lost is not lost so long.
AGAIN_SECONDS = 0.05


class UsageError(Exception):
    """A wrong argument that only a room could recognise."""


def run(app: typer.Typer) -> int:
    """The command's exit code."""
    signal.signal(signal.SIGTERM, _interrupt)
    if sys.platform != "win32":
        signal.signal(signal.SIGALRM, _interrupt)
        sys.unraisablehook = _interrupt_again
    try:
        code = int(app(standalone_mode=False) or 0)
        return _say("stopped; what is left waits for the next run", code) if code == INTERRUPTED else code
    except typer.TyperException as error:
        message = str(error.format_message() if hasattr(error, "format_message") else error)
        if message.startswith("Usage:"):
            print(message)  # a command without arguments: its help is the answer
            return 2
        return _say(message.partition("\n")[0], getattr(error, "exit_code", 1))
    except UsageError as error:
        return _say(str(error), 2)
    except Exception as error:
        if (line := _line(error)) is None:
            raise
        return _say(line, 1)


def _line(error: Exception) -> str | None:
    """For what was to be expected. The rooms are asked only now: importing them all takes longer than `--help` may."""
    from redis.exceptions import RedisError

    from realestate.authoring import Unfit
    from realestate.embedded import EmbeddedError
    from realestate.jobs.local import WorkerDied
    from realestate.storage.errors import StoreError

    if isinstance(error, RedisError):
        return f"Redis: {error}"
    return str(error) if isinstance(error, (EmbeddedError, StoreError, Unfit, WorkerDied, OSError)) else None


def _interrupt(number: int, frame: FrameType | None) -> None:
    """SIGTERM is a polite Ctrl-C: children and services are stopped on the way out."""
    raise KeyboardInterrupt


def _interrupt_again(lost: "sys.UnraisableHookArgs") -> None:
    """An interrupt may come where Python lets no exception through, as in the locks of modules that are being imported:
    it comes again in a moment, or the command would go on for ever."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
    else:
        sys.__unraisablehook__(lost)


def _say(text: str, code: int) -> int:
    print(f"realestate: {text}", file=sys.stderr)
    return code
