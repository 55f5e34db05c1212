"""The sockets of the simulator and its addresses."""

import socket
from collections.abc import Sequence

#: Compared with what the user asked for, and not bound.
ANYWHERE = frozenset({"", "0.0.0.0", "::"})  # nosec B104
_WAITING = 1024


def sockets(host: str, port: int, served: Sequence[str], proxies: int) -> dict[str, socket.socket]:
    """One listening socket per site, and one per proxy that does not listen yet. If one fails, all are closed.

    The ports are `port` and those after it, or any free ones if `port` is 0.
    """
    made: dict[str, socket.socket] = {}
    names = (*served, *(f"proxy{number}" for number in range(1, proxies + 1)))
    try:
        for number in range(proxies):
            _check_proxy_address(proxy_address(number))
        for offset, name in enumerate(names):
            made[name] = _bound(host, port and port + offset, is_listening=name in served)
    except OSError:
        for each in made.values():
            each.close()
        raise
    return made


def proxy_address(number: int) -> str:
    """The client address of the proxy with this number, counted from 0. 127.0.0.1 is that of direct connections."""
    return f"127.0.0.{number + 2}"


def base(host: str, bound: socket.socket) -> str:
    """The URL for others. A server that listens on all addresses has the name of the machine."""
    name = socket.gethostname() if host in ANYWHERE else host
    return f"http://{name}:{bound.getsockname()[1]}"


def reached_at(host: str) -> str:
    """The host for connections from this machine."""
    return "127.0.0.1" if host in ANYWHERE else host


def _bound(host: str, port: int, *, is_listening: bool) -> socket.socket:
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        if is_listening:
            bound.listen(_WAITING)
    except OSError as error:
        bound.close()
        raise OSError(error.errno, f"cannot listen on {host}:{port}: {error.strerror}") from error
    return bound


def _check_proxy_address(address: str) -> None:
    try:
        _bound(address, 0, is_listening=False).close()
    except OSError as error:
        raise OSError(error.errno, f"proxies need the address {address} on this machine: {error.strerror}") from error
