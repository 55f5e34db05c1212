"""The address of Redis: one server, a master that sentinels watch, or a cluster; each with or without TLS.

redis://, rediss://, unix://                          one server, as redis-py reads it
sentinel://, sentinels://                             user:password@host:port,host:port/service/db
redis+cluster://, rediss+cluster://                   user:password@host:port,host:port

`redis+sentinel://` and `rediss+sentinel://` are other names of `sentinel://` and `sentinels://`. The second of each
pair uses TLS. An error message never contains the address: it may hold a password.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

Kind = Literal["single", "sentinel", "cluster"]

#: Scheme -> kind of address, TLS, default port.
SCHEMES: Mapping[str, tuple[Kind, bool, int]] = {
    "redis": ("single", False, 6379),
    "rediss": ("single", True, 6379),
    "unix": ("single", False, 0),
    "sentinel": ("sentinel", False, 26379),
    "sentinels": ("sentinel", True, 26379),
    "redis+sentinel": ("sentinel", False, 26379),
    "rediss+sentinel": ("sentinel", True, 26379),
    "redis+cluster": ("cluster", False, 6379),
    "rediss+cluster": ("cluster", True, 6379),
}
#: Options of sentinels and clusters after the `?`. They have redis-py's names.
TLS_OPTIONS = frozenset(
    {"ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_keyfile_password", "ssl_cert_reqs"}
    | {"ssl_check_hostname"}
)
SENTINEL_OPTIONS = frozenset({"sentinel_username", "sentinel_password"})
_NO = frozenset({"0", "f", "false", "n", "no", "off"})


class BadRedisUrl(ValueError):
    """An address that no Redis can have. The text says why, without the address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisAddress:
    """An address, in parts. `url` is used as it is if it names a single server."""

    kind: Kind
    url: str
    hosts: tuple[tuple[str, int], ...] = ()
    username: str | None = None
    password: str | None = None
    service: str = ""
    """The name by which the sentinels know the master."""
    database: int = 0
    tls: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of redis-py; empty without TLS."""
    sentinel_login: Mapping[str, str] = field(default_factory=dict)
    """`username` and `password` of the sentinels themselves."""

    @property
    def login(self) -> dict[str, str | None]:
        """User name and password of the servers that hold the data."""
        return {"username": self.username, "password": self.password}


def parse_redis_url(url: str) -> RedisAddress:
    """Read an address. Raises BadRedisUrl."""
    scheme = url.partition("://")[0].lower() if "://" in url else ""
    if scheme not in SCHEMES:
        raise BadRedisUrl(f"it must begin with one of {', '.join(f'{name}://' for name in SCHEMES)}")
    kind, is_tls, port = SCHEMES[scheme]
    try:
        parts = urlsplit(url)
    except ValueError:
        raise BadRedisUrl("it is not a URL; encode special characters of the password, such as %5B for [") from None
    if scheme == "unix":
        return RedisAddress(kind=kind, url=url)
    login, _, hosts = parts.netloc.rpartition("@")
    addresses = tuple(_host(each, port) for each in hosts.split(","))
    if kind == "single":
        return RedisAddress(kind=kind, url=_checked_single(url, addresses, parts.path))
    username, _, password = login.rpartition(":")
    service, database = _service_and_database(kind, parts.path)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    _check_options(options, kind, is_tls)
    return RedisAddress(
        kind=kind,
        url=url,
        hosts=addresses,
        username=unquote(username) or None,
        password=unquote(password) or None,
        service=service,
        database=database,
        tls=_tls(options) if is_tls else {},
        sentinel_login={
            name.removeprefix("sentinel_"): value for name, value in options.items() if name in SENTINEL_OPTIONS
        },
    )


def _host(text: str, default_port: int) -> tuple[str, int]:
    """The name or address of a host, and its port. An IPv6 address is written in brackets."""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        host, _, port = text.partition(":")
    if not host:
        raise BadRedisUrl("the name of the host is missing")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
        raise BadRedisUrl("the port is not a number from 1 to 65535")
    return host, int(port) if port else default_port


def _checked_single(url: str, addresses: tuple[tuple[str, int], ...], path: str) -> str:
    if len(addresses) > 1:
        raise BadRedisUrl("several hosts need sentinel:// or redis+cluster://")
    if path.strip("/") and not path.strip("/").isdigit():
        raise BadRedisUrl("the database after the / is not a number")
    return url


def _service_and_database(kind: Kind, path: str) -> tuple[str, int]:
    service, _, database = path.strip("/").partition("/")
    if kind == "cluster":
        if service and service != "0":
            raise BadRedisUrl("a cluster has only database 0")
        return "", 0
    if not service:
        raise BadRedisUrl("the name of the service is missing: sentinel://host:port/service")
    if database and not database.isdigit():
        raise BadRedisUrl("the database after the service is not a number")
    return unquote(service), int(database or 0)


def _check_options(options: Mapping[str, str], kind: Kind, is_tls: bool) -> None:
    allowed = (TLS_OPTIONS if is_tls else frozenset()) | (SENTINEL_OPTIONS if kind == "sentinel" else frozenset())
    for name in options:
        if name not in allowed:
            hint = "; it needs a scheme with TLS" if name in TLS_OPTIONS else ""
            raise BadRedisUrl(f"there is no option {name!r}{hint}")


def _tls(options: Mapping[str, str]) -> dict[str, Any]:
    chosen: dict[str, Any] = {name: value for name, value in options.items() if name in TLS_OPTIONS}
    if "ssl_check_hostname" in chosen:
        chosen["ssl_check_hostname"] = chosen["ssl_check_hostname"].lower() not in _NO
    return {"ssl": True, **chosen}
