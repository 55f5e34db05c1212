"""A private Redis that writes every change to disk."""

import secrets
import signal
import socket
import subprocess
from pathlib import Path

from realestate.embedded.binaries import redis_install_advice, redis_server_binary
from realestate.embedded.server import HOST, Server
from realestate.embedded.services_file import EmbeddedError

CONFIGURATION = """
bind {host}
port {port}
requirepass {password}
daemonize no
appendonly yes
appendfsync everysec
save ""
"""


class RedisServer(Server):
    """Its data is in the folder ``redis``. Each object makes a new password."""

    name = "redis"
    title = "Redis"
    stop_signals = (signal.SIGTERM, signal.SIGKILL)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.password = secrets.token_hex(16)

    def prepare(self) -> None:
        self.home.mkdir(mode=0o700, exist_ok=True)

    def run(self, port: int) -> subprocess.Popen[bytes]:
        binary = redis_server_binary()
        if binary is None:
            raise EmbeddedError(f"no redis-server was found: {redis_install_advice()}")
        # by stdin, since every user of the machine can read a command line
        configuration = CONFIGURATION.format(host=HOST, port=port, password=self.password)
        return self.launch([str(binary), "-"], stdin=configuration.encode())

    def is_ready(self, port: int) -> bool:
        try:
            with socket.create_connection((HOST, port), timeout=1) as connection:
                connection.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
                with connection.makefile("rb") as reply:
                    # while it still loads its file, the reply to PING is an error
                    return reply.read(12) == b"+OK\r\n+PONG\r\n"
        except OSError:
            return False

    def url(self, port: int) -> str:
        return f"redis://:{self.password}@{HOST}:{port}/0"
