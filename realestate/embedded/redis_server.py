"""A private Redis that writes down every change."""

import secrets
import signal
import socket
import subprocess
from pathlib import Path

from realestate.embedded.binaries import redis_server_binary
from realestate.embedded.errors import EmbeddedError
from realestate.embedded.server import HOST, Server

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
            raise EmbeddedError("there is no redis-server 6.2 or newer: install Redis, or set REDIS_URL")
        # by stdin, since a command line is there for every user of the machine to read
        configuration = CONFIGURATION.format(host=HOST, port=port, password=self.password)
        return self.launch([str(binary), "-"], stdin=configuration.encode())

    def is_ready(self, port: int) -> bool:
        try:
            with socket.create_connection((HOST, port), timeout=1) as connection:
                connection.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
                with connection.makefile("rb") as answer:
                    # while it still reads its file, it answers the second with an error
                    return answer.read(12) == b"+OK\r\n+PONG\r\n"
        except OSError:
            return False

    def url(self, port: int) -> str:
        return f"redis://:{self.password}@{HOST}:{port}/0"
