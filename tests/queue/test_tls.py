"""User names and TLS with one Redis, with sentinels and with a cluster."""

import asyncio
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import trustme
from redis import Redis

from realestate.queue.connection import connect_blocking, connect_to
from tests import redis_fleet
from tests.deploy.tools import redis_with_tls, skipped_without_tool
from tests.redis_fleet import BUS, HOST, SERVICE, SLOTS, free_port, wait

USER = "cra:wler"
PASSWORD = "p@ss/w:rd"
LOGIN = f"{quote(USER, safe='')}:{quote(PASSWORD, safe='')}"


def server_with_tls() -> str:
    """A redis-server with TLS."""
    with skipped_without_tool():
        binary = redis_with_tls()
    tried = subprocess.run([binary, "--port", "0", "--tls-port", "x"], capture_output=True, text=True, timeout=20)
    if "argument must be" not in tried.stdout + tried.stderr and "integer" not in tried.stdout + tried.stderr:
        pytest.skip(f"{binary} was built without TLS")
    return binary


class TlsServer:
    """A redis-server that speaks only TLS and knows only one user."""

    def __init__(
        self, binary: str, folder: Path, certificate: dict[str, Path], lines: list[str], sentinel: bool
    ) -> None:
        self.port = free_port()
        folder = folder / str(self.port)
        folder.mkdir()
        config = [
            "port 0",
            f"tls-port {self.port}",
            f"bind {HOST}",
            f"dir {folder}",
            f"tls-cert-file {certificate['cert']}",
            f"tls-key-file {certificate['key']}",
            f"tls-ca-cert-file {certificate['ca']}",
            "tls-auth-clients no",
            "tls-replication yes",
            *lines,
        ]
        (folder / "redis.conf").write_text("\n".join(config) + "\n")
        command = [binary, str(folder / "redis.conf"), *(["--sentinel"] if sentinel else [])]
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)


class Servers:
    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.binary = server_with_tls()
        self.folder = folder
        self.stack = stack
        authority = trustme.CA()
        issued = authority.issue_cert(HOST, "localhost")
        self.certificate = {name: folder / f"{name}.pem" for name in ("ca", "cert", "key")}
        authority.cert_pem.write_to_path(str(self.certificate["ca"]))
        issued.cert_chain_pems[0].write_to_path(str(self.certificate["cert"]))
        issued.private_key_pem.write_to_path(str(self.certificate["key"]))
        self.options = f"ssl_ca_certs={quote(str(self.certificate['ca']), safe='')}"

    def start(self, *lines: str, sentinel: bool = False) -> TlsServer:
        server = TlsServer(self.binary, self.folder, self.certificate, list(lines), sentinel)
        self.stack.callback(server.stop)
        wait(lambda: self._answers(server.port), "a Redis with TLS")
        return server

    def client(self, port: int, **login: str) -> Any:
        return Redis(HOST, port, ssl=True, ssl_ca_certs=str(self.certificate["ca"]), **login)  # type: ignore[arg-type]

    def _answers(self, port: int) -> bool:
        """Whether it accepts connections with TLS."""
        context = ssl.create_default_context(cafile=str(self.certificate["ca"]))
        try:
            with socket.create_connection((HOST, port), 5) as plain, context.wrap_socket(plain, server_hostname=HOST):
                return True
        except OSError:
            return False


DATA = ('save ""', "user default off", f"user {USER} on >{PASSWORD} ~* &* +@all")


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(tmp_path, stack)


def assert_usable(url: str) -> None:
    async def act() -> None:
        async with connect_to(url) as client:
            async with asyncio.timeout(30):
                await client.set("key", "value")
                assert await client.in_one_step(lambda commands: commands.get("key")) == [b"value"]

    asyncio.run(act())
    with connect_blocking(url) as client:
        assert client.get("key") == b"value"


def test_one_redis(servers: Servers) -> None:
    port = servers.start(*DATA).port
    assert_usable(f"rediss://{LOGIN}@{HOST}:{port}/0?{servers.options}")


@pytest.mark.parametrize("scheme", ["sentinels", "rediss+sentinel"])
def test_sentinels(servers: Servers, scheme: str) -> None:
    master = servers.start(*DATA)
    sentinel = servers.start(
        f"sentinel monitor {SERVICE} {HOST} {master.port} 1",
        f"sentinel auth-user {SERVICE} {USER}",
        f"sentinel auth-pass {SERVICE} {PASSWORD}",
        "requirepass watching",
        sentinel=True,
    )
    wait(lambda: _is_up(servers, sentinel.port), "the sentinel to see the master")
    options = f"{servers.options}&sentinel_password=watching"
    assert_usable(f"{scheme}://{LOGIN}@{HOST}:{sentinel.port}/{SERVICE}/0?{options}")


def _is_up(servers: Servers, port: int) -> bool:
    with servers.client(port, password="watching") as client:
        found = client.sentinel_master(SERVICE)
        return not found["is_sdown"]


def test_a_cluster(servers: Servers) -> None:
    node = servers.start(*DATA, "cluster-enabled yes", "tls-cluster yes", f"cluster-port {free_port() + BUS}")
    with servers.client(node.port, username=USER, password=PASSWORD) as client:
        client.execute_command("CLUSTER", "ADDSLOTS", *range(SLOTS))
        wait(lambda: b"cluster_state:ok" in _raw_info(client), "the cluster")
    assert_usable(f"rediss+cluster://{LOGIN}@{HOST}:{node.port}?{servers.options}")


def _raw_info(client: Any) -> bytes:
    reply = client.execute_command("CLUSTER INFO")
    return (
        reply if isinstance(reply, bytes) else "\r\n".join(f"{name}:{value}" for name, value in reply.items()).encode()
    )


def test_a_user_name_without_tls_reaches_a_cluster(tmp_path: Path) -> None:
    with redis_fleet.cluster(tmp_path) as nodes:
        for node in nodes:
            with node.client() as client:
                client.execute_command("ACL", "SETUSER", USER, "on", f">{PASSWORD}", "~*", "&*", "+@all")
                client.execute_command("ACL", "SETUSER", "default", "off")
        hosts = ",".join(f"{HOST}:{node.port}" for node in nodes)
        assert_usable(f"redis+cluster://{LOGIN}@{hosts}")
