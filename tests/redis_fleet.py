"""More than one Redis: three nodes of a cluster; a master, its replica and three sentinels."""

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from redis import Redis
from redis.backoff import ConstantBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.retry import Retry

from realestate.embedded import redis_server_binary

HOST = "127.0.0.1"
SLOTS = 16384
#: A cluster's nodes talk to each other on their port plus this.
BUS = 10_000
PATIENCE = 60.0
SERVICE = "mymaster"


class Node:
    """One redis-server process, or sentinel, in a folder of its own."""

    def __init__(self, folder: Path, *options: str, sentinel: bool = False) -> None:
        self.port = free_port()
        self.folder = folder / str(self.port)
        self.folder.mkdir(parents=True)
        self.url = f"redis://{HOST}:{self.port}/0"
        self.process: subprocess.Popen[bytes] | None = None
        self._options = list(options)
        self._sentinel = sentinel

    def start(self) -> None:
        binary = redis_server_binary()
        assert binary is not None
        where = ["--port", str(self.port), "--bind", HOST, "--dir", str(self.folder)]
        command = [str(binary)]
        if self._sentinel:
            # A sentinel writes into its file what it learns.
            lines = [f"port {self.port}", f"bind {HOST}", f"dir {self.folder}", *self._options]
            (self.folder / "sentinel.conf").write_text("\n".join(lines) + "\n")
            command += [str(self.folder / "sentinel.conf"), "--sentinel"]
        else:
            command += [*where, "--save", "", *self._options]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        patient = Retry(ConstantBackoff(0.05), 200, (RedisConnectionError,))
        with Redis.from_url(self.url, retry=patient) as client:
            client.ping()

    def client(self) -> "Redis":
        return Redis.from_url(self.url)

    def stop(self, *, kill: bool = False) -> None:
        if self.process is not None:
            self.process.kill() if kill else self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None


@contextmanager
def cluster(folder: Path) -> Iterator[list[Node]]:
    """Three masters that share the slots."""
    options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "5000", "--appendonly", "yes")
    with ExitStack() as stack:
        nodes = [_started(stack, Node(folder, *options)) for _ in range(3)]
        clients: list[Any] = [stack.enter_context(node.client()) for node in nodes]
        for number, client in enumerate(clients):
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            mine = range(number * SLOTS // 3, (number + 1) * SLOTS // 3)
            client.execute_command("CLUSTER", "ADDSLOTS", *mine)
        for node in nodes[1:]:
            clients[0].execute_command("CLUSTER", "MEET", HOST, node.port)
        wait(lambda: all(_knows_all(client) for client in clients), "the cluster to agree")
        yield nodes


def _knows_all(client: Any) -> bool:
    info = client.execute_command("CLUSTER", "INFO").decode()
    return "cluster_state:ok" in info and "cluster_known_nodes:3" in info


class Watched:
    """A master and a replica, watched by three sentinels."""

    def __init__(self, master: Node, replica: Node, sentinels: list[Node]) -> None:
        self.master = master
        self.replica = replica
        self.sentinels = sentinels
        hosts = ",".join(f"{HOST}:{node.port}" for node in sentinels)
        self.url = f"sentinel://{hosts}/{SERVICE}/0"

    def promoted(self) -> bool:
        """Whether every sentinel names the replica as the master and the replica says that it is."""
        with suppress(RedisError, OSError), self.replica.client() as client:
            return _role(client) == "master" and all(_master_port(node) == self.replica.port for node in self.sentinels)
        return False

    def cut_off_the_replica(self) -> None:
        """Stop the replication: the replica gets no further writes of the master."""
        with self.replica.client() as client:
            client.replicaof(HOST, free_port())


@contextmanager
def watched(folder: Path) -> Iterator[Watched]:
    with ExitStack() as stack:
        master = _started(stack, Node(folder, "--repl-diskless-sync-delay", "0"))
        replica = _started(stack, Node(folder, "--replicaof", HOST, str(master.port)))
        options = (
            f"sentinel monitor {SERVICE} {HOST} {master.port} 2",
            f"sentinel down-after-milliseconds {SERVICE} 1000",
            f"sentinel failover-timeout {SERVICE} 20000",
        )
        sentinels = [_started(stack, Node(folder, *options, sentinel=True)) for _ in range(3)]
        fleet = Watched(master, replica, sentinels)
        wait(lambda: _in_step(replica) and all(_sees_all(node) for node in sentinels), "the sentinels to see all")
        yield fleet


def _in_step(replica: Node) -> bool:
    with replica.client() as client:
        info: Any = client.info("replication")
        return bool(info.get("master_link_status") == "up")


def _sees_all(sentinel: Node) -> bool:
    with sentinel.client() as client:
        masters: Any = client.execute_command("SENTINEL", "MASTERS")
        flat = [_pairs(each) for each in (masters.values() if isinstance(masters, dict) else masters)]
        return any(int(each["num-slaves"]) == 1 and int(each["num-other-sentinels"]) == 2 for each in flat)


def _pairs(reply: Any) -> dict[str, Any]:
    if isinstance(reply, dict):
        return {_text(name): value for name, value in reply.items()}
    return {_text(name): value for name, value in zip(reply[::2], reply[1::2], strict=True)}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _role(client: Any) -> str:
    return str(client.info("replication")["role"])


def _master_port(sentinel: Node) -> int:
    with sentinel.client() as client:
        address: Any = client.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)
        return int(address[1])


def free_port() -> int:
    """A free port whose cluster bus port is free too."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind((HOST, 0))
            port = int(one.getsockname()[1])
            with suppress(OSError, OverflowError):
                other.bind((HOST, port + BUS))
                return port


def wait(true: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"still waiting for {what}"
        time.sleep(0.05)


def _started(stack: ExitStack, node: Node) -> Node:
    node.start()
    stack.callback(node.stop)
    return node
