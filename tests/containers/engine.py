"""A private Docker engine, with a folder and a socket of its own, and Docker Compose beside it."""

import os
import platform
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self
from urllib.request import urlopen

from tests.containers.commands import CheckFailed, NoEngine, run, say, until

COMPOSE = "v2.40.3"
COMPOSE_MODULE = "github.com/docker/compose/v2"
COMPOSE_PACKAGE = "pool/main/d/docker-compose/docker-compose_2.26.1-4_amd64.deb"
COMPOSE_SHA256 = "47681197cb2b1ab88206b42a1a92fc75f50d9530a6322d03494a473eed0408ea"


class Engine:
    """Starts dockerd, and stops it with everything that it started."""

    def __init__(self, folder: Path, config: Path) -> None:
        self.folder = folder
        self.socket = folder / "docker.sock"
        self.config = config
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            for driver in ("overlay2", "vfs"):
                if self._start(driver):
                    say(f"dockerd runs, storage driver {driver}")
                    return self
            raise NoEngine(f"dockerd does not start:\n{self._last_lines()}")
        except CheckFailed as error:
            self._stop()
            raise NoEngine(str(error)) from error
        except BaseException:
            self._stop()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    @property
    def env(self) -> dict[str, str]:
        return {
            "DOCKER_HOST": f"unix://{self.socket}",
            "DOCKER_CONFIG": str(self.config),
            # Debian's engine has no BuildKit.
            "DOCKER_BUILDKIT": "0",
            "COMPOSE_PROGRESS": "plain",
        }

    def docker(
        self,
        *words: str | Path,
        timeout: float = 600,
        check: bool = True,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> str:
        command = ["docker", *words]
        return run(command, env={**self.env, **(env or {})}, timeout=timeout, check=check, cwd=cwd)

    def _start(self, driver: str) -> bool:
        self._clean()
        self.folder.mkdir(parents=True)
        command = [
            shutil.which("dockerd", path=f"{os.environ['PATH']}:/usr/sbin") or "dockerd",
            f"--storage-driver={driver}",
            f"--data-root={self.folder / 'data'}",
            f"--exec-root={self.folder / 'exec'}",
            f"--host=unix://{self.socket}",
            f"--pidfile={self.folder / 'pid'}",
        ]
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        process = self._process

        def is_up() -> bool:
            return process.poll() is not None or not run(["docker", "version"], env=self.env, check=False).count(
                "Cannot connect"
            )

        until(is_up, "dockerd", 60)
        if process.poll() is None:
            return True
        self._process = None
        return False

    def _stop(self) -> None:
        """End every container, then the engine, by the ids that belong to it."""
        if self._process is not None:
            ids = self.docker("ps", "--all", "--quiet", check=False).split()
            if ids:
                self.docker("rm", "--force", "--volumes", *ids, check=False)
            networks = self.docker("network", "ls", "--quiet", "--filter", "type=custom", check=False).split()
            if networks:
                self.docker("network", "rm", *networks, check=False)
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)
            self._process = None
        self._clean()
        say("dockerd is stopped, its data is removed")

    def _clean(self) -> None:
        """Remove the folder. What is still mounted below it is unmounted first."""
        mounts = Path("/proc/mounts").read_text("utf-8").splitlines()
        for mount in reversed([line.split()[1] for line in mounts]):
            if mount.startswith(f"{self.folder}/"):
                run(["umount", "--lazy", mount], check=False)
        for _ in range(5):
            shutil.rmtree(self.folder, ignore_errors=True)
            if not self.folder.exists():
                return
            time.sleep(1)

    def _last_lines(self) -> str:
        log = self.folder / "log"
        return "\n".join(log.read_text("utf-8", "replace").splitlines()[-10:]) if log.exists() else ""


def provide_compose(cache: Path, mirror: str, *, quick: bool) -> Path:
    """Docker Compose as a plugin of the `docker` command: the folder of the client's configuration that has it.

    It is built once from the Go module proxy, which takes minutes. `quick`: unless that was done, the older one of the
    next Debian, in seconds; this Debian has none that understands our file."""
    plugin = _plugin_in(cache)
    if plugin.exists():
        return cache
    if quick and _unpacked_compose(_plugin_in(cache / "quick"), mirror):
        return cache / "quick"
    say(f"building Docker Compose {COMPOSE} (once, some minutes; kept in {cache})")
    folder = cache / "compose-build"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "go.mod").exists():
        run(["go", "mod", "init", "compose"], cwd=folder)
    run(["go", "get", f"{COMPOSE_MODULE}/cmd@{COMPOSE}"], cwd=folder, timeout=600)
    plugin.parent.mkdir(exist_ok=True)
    version = f"-s -w -X {COMPOSE_MODULE}/internal.Version={COMPOSE}"
    part = plugin.with_suffix(".part")
    run(["go", "build", "-mod=mod", "-ldflags", version, "-o", part, f"{COMPOSE_MODULE}/cmd"], cwd=folder, timeout=1800)
    part.rename(plugin)
    shutil.rmtree(folder)
    return cache


def _plugin_in(folder: Path) -> Path:
    return folder / "cli-plugins" / "docker-compose"


def _unpacked_compose(plugin: Path, mirror: str) -> bool:
    """Whether it could be had from the package of the next Debian. It is not installed."""
    if plugin.exists():
        return True
    if platform.machine() != "x86_64":
        return False
    try:
        with urlopen(f"{mirror}/{COMPOSE_PACKAGE}", timeout=60) as response:
            package = response.read()
    except OSError:
        return False
    if sha256(package).hexdigest() != COMPOSE_SHA256:
        return False
    plugin.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=plugin.parent) as name:
        folder = Path(name)
        (folder / "package.deb").write_bytes(package)
        run(["dpkg", "-x", folder / "package.deb", folder / "unpacked"])
        (folder / "unpacked/usr/libexec/docker/cli-plugins/docker-compose").rename(plugin)
    say(f"Docker Compose is that of {COMPOSE_PACKAGE.rpartition('/')[2]}")
    return True
