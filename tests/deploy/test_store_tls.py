"""TLS to the databases: their certificates are checked. The servers here end the connection after the handshake."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
import trustme

from realestate.storage import StoreError, open_store

#: What a client of PostgreSQL sends before the handshake has this length; the answer S says yes.
SSL_REQUEST = 8


class TlsServer:
    """Accepts connections and counts the handshakes that succeed."""

    def __init__(self, authority: trustme.CA, name: str) -> None:
        self.handshakes = 0
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(name).configure_cert(self._context)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.is_postgresql = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(10)

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                connection.settimeout(10)
                with connection, suppress(OSError):
                    if self.is_postgresql:
                        connection.recv(SSL_REQUEST)
                        connection.sendall(b"S")
                    with self._context.wrap_socket(connection, server_side=True) as encrypted:
                        # The client sends something only if it accepts the certificate.
                        self.handshakes += bool(encrypted.recv(1))


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path) -> Path:
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


def served(authority: trustme.CA, name: str) -> Iterator[TlsServer]:
    server = TlsServer(authority, name)
    yield server
    server.stop()


@pytest.fixture
def good(authority: trustme.CA) -> Iterator[TlsServer]:
    yield from served(authority, "localhost")


@pytest.fixture
def of_another_host(authority: trustme.CA) -> Iterator[TlsServer]:
    yield from served(authority, "db.example.org")


@pytest.fixture
def untrusted() -> Iterator[TlsServer]:
    yield from served(trustme.CA(), "localhost")


def address(scheme: str, server: TlsServer, trusted: Path) -> str:
    server.is_postgresql = scheme == "postgresql"
    options = {
        "postgresql": f"sslmode=verify-full&sslrootcert={trusted}&connect_timeout=10",
        "mongodb": f"tls=true&tlsCAFile={trusted}&serverSelectionTimeoutMS=1000",
    }
    return f"{scheme}://fleet:secret@localhost:{server.port}/realestate?{options[scheme]}"


def speak(url: str) -> str:
    """The error of an attempt to use the store."""
    with closing(open_store(url)) as store, pytest.raises(StoreError) as raised:
        store.counts()
    return str(raised.value)


@pytest.mark.parametrize("scheme", ["postgresql", "mongodb"])
def test_a_certificate_that_is_right_is_accepted(scheme: str, good: TlsServer, trusted: Path) -> None:
    assert "certificate" not in speak(address(scheme, good, trusted))
    assert good.handshakes > 0


@pytest.mark.parametrize("scheme", ["postgresql", "mongodb"])
def test_a_certificate_of_an_unknown_authority_is_refused(scheme: str, untrusted: TlsServer, trusted: Path) -> None:
    error = speak(address(scheme, untrusted, trusted))
    assert "certificate verify failed" in error
    assert "secret" not in error
    assert untrusted.handshakes == 0, "the password would be the next thing that is sent"


@pytest.mark.parametrize("scheme", ["postgresql", "mongodb"])
def test_a_certificate_of_another_host_is_refused(scheme: str, of_another_host: TlsServer, trusted: Path) -> None:
    error = speak(address(scheme, of_another_host, trusted))
    assert "localhost" in error
    assert of_another_host.handshakes == 0
