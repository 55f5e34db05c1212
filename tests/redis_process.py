"""A Redis only for one test. It can be stopped and started again."""

import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from redis import Redis
from redis.backoff import ConstantBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry

from realestate.embedded import redis_server_binary


class RedisProcess:
    def __init__(self, folder: Path, options: Sequence[str] = (), login: str = "") -> None:
        """`options` are more arguments for Redis; `login` is user:password, if they ask for one."""
        self.options = options
        self.login = login
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder = folder
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        binary = redis_server_binary()
        assert binary is not None
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--appendonly", "yes", "--dir", str(self.folder)]
        self.process = subprocess.Popen([str(binary), *options, *self.options], stdout=subprocess.DEVNULL)
        patient = Retry(ConstantBackoff(0.05), 200, (RedisConnectionError,))
        url = self.url.replace("//", f"//{self.login}@") if self.login else self.url
        with Redis.from_url(url, retry=patient) as client:
            client.ping()

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(10)
            self.process = None
