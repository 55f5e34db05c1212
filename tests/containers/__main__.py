"""`make containers-check`: a real Docker engine, the real Dockerfile and docker-compose.yaml, compared with the truth.

For root on a Debian machine with docker.io, debootstrap and go. Everything it starts, it ends; the cache stays.
"""

import argparse
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from tests.containers.commands import CheckFailed, NoEngine, fail, missing_programs, say
from tests.containers.engine import Engine, provide_compose
from tests.containers.images import provide
from tests.containers.story import Story, play

CACHE = Path.home() / ".cache" / "realestate" / "containers"
PROGRAMS = ("dockerd", "docker", "containerd", "debootstrap", "iptables")


def why_not(*, quick: bool) -> str | None:
    """Why no engine can be had here; None if it can."""
    if os.geteuid() != 0:
        return "it needs root"
    if not Path("/etc/debian_version").exists():
        return "it needs a Debian machine"
    if missing := missing_programs(PROGRAMS if quick else (*PROGRAMS, "go")):
        return (
            f"it needs {', '.join(missing)}: apt-get install docker.io debootstrap iptables; Go builds Docker Compose"
        )
    return None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.containers", description=__doc__.partition("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--minutes", type=float, default=25, help="end with an error after this time (default 25)")
    parser.add_argument(
        "--prepare-minutes", type=float, default=15, help="time for the engine and its base images (default 15)"
    )
    parser.add_argument("--listings", type=int, default=400, help="listings of the simulator (default 400)")
    parser.add_argument("--short", action="store_true", help="only the image and the demo")
    parser.add_argument(
        "--where-possible", action="store_true", help="end with 0, and say why, where no engine can be had"
    )
    parser.add_argument("--mirror", default="http://deb.debian.org/debian", help="a mirror of Debian")
    return parser.parse_args()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _within(minutes: float, error: type[Exception], what: str) -> None:
    """From now on: after this many minutes, the error."""

    def too_long(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise error(f"{what} was not done after {minutes:g} minutes")

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(max(1, int(minutes * 60)))


def main() -> int:
    arguments = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        if reason := why_not(quick=arguments.short):
            raise NoEngine(reason)
        _within(arguments.prepare_minutes, NoEngine, "the engine with its base images")
        with tempfile.TemporaryDirectory(prefix="containers-check-") as name:
            folder = Path(name)
            with _engine(folder / "docker", arguments.mirror, quick=arguments.short) as engine:
                _within(arguments.minutes, CheckFailed, "the check")
                story = Story(engine, folder / "project", _free_port(), _free_port(), arguments.listings)
                story.prepare()
                play(story, short=arguments.short)
                signal.alarm(0)
    except NoEngine as error:
        if not arguments.where_possible:
            return fail(str(error))
        print(f"containers-check: NOT RUN: {error}", file=sys.stderr)
        return 0
    except CheckFailed as error:
        return fail(str(error))
    say("containers-check: all of it is as expected")
    return 0


@contextmanager
def _engine(folder: Path, mirror: str, *, quick: bool) -> Iterator[Engine]:
    """The engine with Compose and the base images. NoEngine if that fails; not for what fails inside of it."""
    try:
        config = provide_compose(CACHE, mirror, quick=quick)
    except CheckFailed as error:
        raise NoEngine(str(error)) from error
    with Engine(folder, config) as engine:
        try:
            provide(engine, CACHE, mirror)
        except (CheckFailed, OSError) as error:
            raise NoEngine(str(error)) from error
        yield engine


if __name__ == "__main__":
    sys.exit(main())
