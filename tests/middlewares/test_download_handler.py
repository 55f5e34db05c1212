"""The download handler: requests are sent byte for byte as they are; a response is complete, or an error."""

import asyncio
import codecs
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
    StopDownload,
)
from scrapy.http import HtmlResponse, JsonResponse, Response, TextResponse, XmlResponse
from scrapy.utils.misc import load_object

from realestate.middlewares.decompression import TooLarge
from realestate.queue.feedback import GATEWAY_URL
from realestate.spiders.immoweb import ImmowebSpider
from realestate.storage.clock import SENT_STEADY, steady
from tests.middlewares.conftest import MAX_SECONDS
from tests.middlewares.raw_server import RawServer, Respond, Writer, page, resetting, responding, silence
from tests.middlewares.test_decompression import COMPRESS

MAKE = Callable[..., Crawler]


@pytest.fixture
def handling(handling: Any) -> Callable[..., Any]:
    """A handler that may fetch from this machine."""
    return partial(handling, ALLOW_PRIVATE_ADDRESSES=True)


@pytest.fixture
def fetched(run: Any, handling: Any) -> Callable[..., Any]:
    """The response to one request to a server that responds like this."""

    def fetched(
        respond: Respond, path: str = "/homes/5", settings: dict[str, Any] | None = None, **request: Any
    ) -> Any:
        async def work() -> Response:
            async with RawServer(respond).listening() as server, handling(**settings or {}) as handler:
                response: Response = await handler.download_request(Request(server.url + path, **request))
                return response

        return run(work())

    return fetched


# ----- what is sent


def test_headers_are_sent_in_their_order_and_spelling(run: Any, handling: Any) -> None:
    headers = {
        "Sec-CH-UA": '"Chromium";v="130"',
        "Upgrade-Insecure-Requests": "1",
        "User-Agent": "Mozilla/5.0",
        "Accept": "text/html",
        "Sec-Fetch-Site": "none",
        "Accept-Encoding": "gzip, br",
        "Accept-Language": "nl-BE",
        "X-Own": ["1", "2"],
        "Cookie": "a=1; b=\u00e9",
    }

    async def work() -> bytes:
        async with RawServer(responding(page())).listening() as server, handling() as handler:
            await handler.download_request(
                Request(f"{server.url}/a%20b/%c3%A9/./x%2Fy?q=a+b%2F&x=1,(2);&&=#part", headers=headers)
            )
            return server.heads[0].replace(str(server.port).encode(), b"PORT")

    assert (
        run(work())
        == (
            "GET /a%20b/%c3%A9/./x%2Fy?q=a+b%2F&x=1,(2);&&= HTTP/1.1\r\n"
            "Host: 127.0.0.1:PORT\r\n"
            'sec-ch-ua: "Chromium";v="130"\r\n'
            "Upgrade-Insecure-Requests: 1\r\n"
            "User-Agent: Mozilla/5.0\r\n"
            "Accept: text/html\r\n"
            "Sec-Fetch-Site: none\r\n"
            "Accept-Encoding: gzip, br\r\n"
            "Accept-Language: nl-BE\r\n"
            "X-Own: 1\r\n"
            "X-Own: 2\r\n"
            "Cookie: a=1; b=\u00e9\r\n\r\n"
        ).encode()
    )


def test_no_headers_are_added(run: Any, handling: Any) -> None:
    async def work() -> tuple[list[bytes], list[bytes]]:
        async with RawServer(responding(page())).listening() as server, handling() as handler:
            await handler.download_request(Request(server.url, headers={"Proxy-Authorization": "Basic c2VjcmV0"}))
            await handler.download_request(Request(server.url + "?q=1", method="POST", body=b'{"a": 1}'))
            await handler.download_request(Request(server.url, method="POST"))
            return [head.partition(b"Host: ")[0] + head.partition(b"\r\n")[2] for head in server.heads], server.bodies

    heads, bodies = run(work())
    assert [head.count(b": ") for head in heads] == [1, 2, 2], "the host, and a body's length"
    assert [head.partition(b" HTTP")[0] for head in heads] == [b"GET /", b"POST /?q=1", b"POST /"]
    assert bodies == [b"", b'{"a": 1}', b""]


def test_a_header_value_cannot_add_another_header(fetched: Any) -> None:
    with pytest.raises(ValueError, match=r"[Nn]ewline|[Hh]eader|control"):
        fetched(responding(page()), headers={"X-Own": "1\r\nX-Other: 2"})


def test_connections_are_reused(run: Any, handling: Any) -> None:
    async def work() -> tuple[int, int]:
        async with RawServer(responding(page())).listening() as server, handling() as handler:
            for number in range(5):
                await handler.download_request(Request(f"{server.url}/{number}"))
            alone = server.connections
            await asyncio.gather(*(handler.download_request(Request(f"{server.url}/{n}")) for n in range(4)))
            return alone, server.connections

    assert run(work()) == (1, 4)


def test_the_number_of_connections_is_limited(run: Any, handling: Any) -> None:
    async def slowly(writer: Writer) -> None:
        await asyncio.sleep(0.01)
        writer.write(page())

    async def work() -> int:
        async with RawServer(slowly).listening() as server, handling(CONCURRENT_REQUESTS=3) as handler:
            await asyncio.gather(*(handler.download_request(Request(f"{server.url}/{n}")) for n in range(20)))
            return server.connections

    assert run(work()) == 3


def test_the_gateway_url_is_fetched_instead_of_the_site(run: Any, handling: Any) -> None:
    async def work() -> tuple[Response, bytes]:
        async with RawServer(responding(page())).listening() as server, handling() as handler:
            url = "https://www.immoweb.be/en/classified/1"
            response = await handler.download_request(Request(url, meta={GATEWAY_URL: f"{server.url}/site/en/1"}))
            return response, server.heads[0]

    response, head = run(work())
    assert response.url == "https://www.immoweb.be/en/classified/1"
    assert head.startswith(b"GET /site/en/1 HTTP/1.1\r\nHost: 127.0.0.1:")


# ----- what is received


def test_a_response_has_its_headers_and_body(fetched: Any) -> None:
    request_headers = {"Accept": "*/*"}
    response = fetched(responding(page(b"<p>x</p>", b"Set-Cookie: a=1", b"Set-Cookie: b=2")), headers=request_headers)
    assert isinstance(response, HtmlResponse)
    assert (response.status, response.body, response.protocol) == (200, b"<p>x</p>", "HTTP/1.1")
    assert response.headers.getlist("Set-Cookie") == [b"a=1", b"b=2"]
    assert str(response.ip_address) == "127.0.0.1"
    assert response.url.endswith("/homes/5")


def test_the_download_latency_is_recorded(run: Any, handling: Any) -> None:
    async def work() -> Request:
        async with RawServer(responding(page())).listening() as server, handling() as handler:
            request = Request(server.url)
            await handler.download_request(request)
            return request

    before = steady()
    meta = run(work()).meta
    assert 0 < meta["download_latency"] < MAX_SECONDS
    assert before <= meta[SENT_STEADY] <= steady() - meta["download_latency"], "when it was sent"


@pytest.mark.parametrize(
    ("content_type", "body", "kind"),
    [
        (b"text/html; charset=utf-8", b"x", HtmlResponse),
        (b"application/json", b"{}", JsonResponse),
        (b"text/xml", b"<a/>", XmlResponse),
        (b"text/plain", b"x", TextResponse),
        (b"image/png", b"\x89PNG\r\n\x1a\n", Response),
        (b"application/octet-stream", b"<html></html>", HtmlResponse),
    ],
)
def test_the_response_class_follows_the_content(
    fetched: Any, content_type: bytes, body: bytes, kind: type[Response]
) -> None:
    text = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (content_type, len(body)) + body
    response = fetched(responding(text))
    assert type(response) is kind
    assert response.body == body


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (b"text/html; charset=iso-8859-9", "<p>ş</p>".encode("iso-8859-9")),
        (b"text/html; charset=iso-8859-9", codecs.BOM_UTF8 + "<p>ş</p>".encode()),
        (b"text/html", b"<meta charset='windows-1254'>" + "<p>ş</p>".encode("windows-1254")),
        (b"text/html; charset=nonsense", "<p>ş</p>".encode()),
        (b"text/html; charset=latin1", codecs.BOM_UTF16_LE + "<p>ş</p>".encode("utf-16-le")),
    ],
    ids=["header", "byte order mark", "meta element", "unknown charset", "utf-16"],
)
def test_a_page_is_decoded_as_scrapy_would(fetched: Any, content_type: bytes, body: bytes) -> None:
    text = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (content_type, len(body)) + body
    response = fetched(responding(text))
    expected = HtmlResponse("http://x.example/", body=body, headers={"Content-Type": content_type})
    assert (response.encoding, response.text) == (expected.encoding, expected.text)
    assert "<p>ş</p>" in response.text


@pytest.mark.parametrize("name", COMPRESS)
def test_a_compressed_page_is_decompressed(fetched: Any, name: str) -> None:
    body = COMPRESS[name](b"<html>" + b"home " * 1000)
    response = fetched(responding(page(body, b"Content-Encoding: " + name.encode())))
    assert type(response) is HtmlResponse
    assert response.body == b"<html>" + b"home " * 1000
    assert "Content-Encoding" not in response.headers


def test_an_unknown_encoding_is_passed_on(fetched: Any) -> None:
    response = fetched(responding(page(b"<html>", b"Content-Encoding: x-unknown")))
    assert response.body == b"<html>"
    assert response.headers["Content-Encoding"] == b"x-unknown"


def test_a_response_of_http_1_0(fetched: Any) -> None:
    """Without a length, the body ends with the connection."""
    response = fetched(responding(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<html>old</html>", close=True))
    assert (response.body, response.protocol) == (b"<html>old</html>", "HTTP/1.0")


def test_a_chunked_response(fetched: Any) -> None:
    text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<html\r\n1\r\n>\r\n0\r\n\r\n"
    assert fetched(responding(text)).body == b"<html>"


@pytest.mark.parametrize(
    ("method", "status"), [("HEAD", b"200 OK"), ("GET", b"204 No Content"), ("GET", b"304 Not Modified")]
)
def test_responses_without_a_body(run: Any, handling: Any, method: str, status: bytes) -> None:
    """Whatever their Content-Length is; the connection can be used again."""
    head = b"HTTP/1.1 %s\r\nContent-Length: 500\r\nContent-Encoding: gzip\r\nETag: x\r\n\r\n" % status

    async def work() -> tuple[list[Response], int]:
        async with RawServer(responding(head)).listening() as server, handling() as handler:
            request = Request(server.url, method=method)
            return [await handler.download_request(request) for _ in range(2)], server.connections

    responses, connections = run(work())
    assert [(each.status, each.body) for each in responses] == [(int(status[:3]), b"")] * 2
    assert responses[0].headers["ETag"] == b"x"
    assert connections <= 2


def test_a_redirect_is_returned_as_a_response(fetched: Any) -> None:
    response = fetched(responding(page(b"", b"Location: http://169.254.169.254/", status=b"302 Found")))
    assert (response.status, response.headers["Location"]) == (302, b"http://169.254.169.254/")


def test_headers_may_contain_any_bytes(fetched: Any) -> None:
    headers = (b"Content-Encoding: \xff\xfe", b"Content-Type: \xe9/\xff; charset=\xff", b"X-Other: caf\xe9", b"X-None:")
    response = fetched(responding(b"\r\n".join([b"HTTP/1.1 200 \xff", *headers, b"Content-Length: 1", b"", b"x"])))
    assert response.body == b"x"
    assert response.headers["X-Other"] == b"caf\xe9"


def test_long_headers_are_read(fetched: Any) -> None:
    assert fetched(responding(page(b"x", b"Content-Security-Policy: " + b"x" * 30_000))).body == b"x"


# ----- bad responses

LENGTH = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
UNTIL_CLOSED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


async def endlessly(writer: Writer) -> None:
    while True:
        writer.write(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
        await writer.drain()


async def endless_chunks(writer: Writer) -> None:
    writer.write(CHUNKED)
    await endlessly(writer)


async def endless_stream(writer: Writer) -> None:
    writer.write(UNTIL_CLOSED)
    await endlessly(writer)


async def endless_headers(writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: " + b"x" * 1000 + b"\r\n")
        await writer.drain()


async def drip(writer: Writer) -> None:
    writer.write(LENGTH % (10_000, b""))
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


async def then_silence(writer: Writer) -> None:
    writer.write(LENGTH % (10_000, b"x" * 100))
    await silence(writer)


@pytest.mark.parametrize(
    ("respond", "error"),
    [
        pytest.param(responding(LENGTH % (500, b"x" * 499), close=True), ResponseDataLossError, id="too short"),
        pytest.param(resetting(LENGTH % (500, b"x" * 100)), ResponseDataLossError, id="reset"),
        pytest.param(responding(CHUNKED + b"5\r\n<html\r\n", close=True), ResponseDataLossError, id="no last chunk"),
        pytest.param(responding(CHUNKED + b"50\r\n<html", close=True), ResponseDataLossError, id="half a chunk"),
        pytest.param(resetting(CHUNKED + b"5\r\n<html\r\n"), ResponseDataLossError, id="reset between chunks"),
        pytest.param(resetting(UNTIL_CLOSED + b"<html"), ResponseDataLossError, id="reset, no length"),
        pytest.param(endless_chunks, TooLarge, id="endless chunks"),
        pytest.param(endless_stream, TooLarge, id="endless"),
        pytest.param(responding(LENGTH % (10**12, b"x")), TooLarge, id="a terabyte announced"),
        pytest.param(endless_headers, DownloadFailedError, id="endless headers"),
        pytest.param(responding(b"220 mail.example ESMTP\r\n\r\n", close=True), DownloadFailedError, id="no HTTP"),
        pytest.param(responding(LENGTH % (-5, b"")), DownloadFailedError, id="negative length"),
        pytest.param(responding(b"", close=True), DownloadFailedError, id="closed at once"),
        pytest.param(resetting(b""), DownloadFailedError, id="reset at once"),
        pytest.param(silence, DownloadTimeoutError, id="silent"),
        pytest.param(then_silence, DownloadTimeoutError, id="falls silent"),
        pytest.param(drip, DownloadTimeoutError, id="very slow"),
    ],
)
def test_a_bad_response_raises_an_error_that_is_retried(
    fetched: Any, make_crawler: MAKE, respond: Respond, error: type[Exception]
) -> None:
    limits = {"DOWNLOAD_MAXSIZE": 1_000_000, "DOWNLOAD_STALL_TIMEOUT": 0.3, "DOWNLOAD_TIMEOUT": 1.0}
    with pytest.raises(error) as raised:
        fetched(respond, settings=limits)
    settings = make_crawler(ImmowebSpider).settings
    retried = tuple(load_object(each) for each in settings.getlist("RETRY_EXCEPTIONS"))
    assert isinstance(raised.value, retried)


@pytest.mark.parametrize("name", COMPRESS)
def test_a_decompression_bomb_is_too_large(fetched: Any, name: str) -> None:
    bomb = COMPRESS[name](b" " * 8_000_000)
    with pytest.raises(TooLarge):
        fetched(responding(page(bomb, b"Content-Encoding: " + name.encode())), settings={"DOWNLOAD_MAXSIZE": 1_000_000})


@pytest.mark.parametrize("name", COMPRESS)
def test_an_incomplete_body_is_an_error(fetched: Any, name: str) -> None:
    body = COMPRESS[name](b"<html>" + bytes(range(256)) * 50)
    with pytest.raises(ResponseDataLossError):
        fetched(responding(page(body[:-5], b"Content-Encoding: " + name.encode())))


def test_a_request_can_set_its_own_limits(fetched: Any) -> None:
    with pytest.raises(TooLarge):
        fetched(responding(page(b"x" * 101)), meta={"download_maxsize": 100})
    with pytest.raises(DownloadTimeoutError):
        fetched(silence, meta={"download_timeout": 0.2})


def test_data_after_the_body_is_not_taken_for_the_next_response(run: Any, handling: Any) -> None:
    """The rest of a body that is longer than its Content-Length could be read as the response to another request."""
    lying = (LENGTH % (6, b"<html>")) + page(b"not yours")
    answers = iter([lying, page(b"one"), page(b"two"), page(b"three")])

    async def respond(writer: Writer) -> None:
        writer.write(next(answers))

    async def work() -> list[bytes]:
        found = []
        async with RawServer(respond).listening() as server, handling() as handler:
            for number in range(3):
                try:
                    response = await handler.download_request(Request(f"{server.url}/{number}"))
                    found.append(response.body)
                except DownloadFailedError:
                    found.append(b"failed")
        return found

    first, *others = run(work())
    assert first in (b"<html>", b"failed")
    assert others == [b"one", b"two"]


def test_a_closed_new_connection_is_not_tried_again(run: Any, handling: Any) -> None:
    """A retry needs another send slot."""

    async def work() -> int:
        async with RawServer(responding(b"", close=True)).listening() as server, handling() as handler:
            with pytest.raises(DownloadFailedError):
                await handler.download_request(Request(server.url))
            return len(server.heads)

    assert run(work()) == 1


def test_a_closed_reused_connection_is_tried_again(run: Any, handling: Any) -> None:
    """The server closes it just when the next request is sent."""
    answers = iter([responding(page(b"one")), responding(b"", close=True), responding(page(b"two"))])

    async def respond(writer: Writer) -> None:
        await next(answers)(writer)

    async def work() -> tuple[list[bytes], int]:
        async with RawServer(respond).listening() as server, handling() as handler:
            bodies = [(await handler.download_request(Request(server.url))).body for _ in range(2)]
            return bodies, server.connections

    assert run(work()) == ([b"one", b"two"], 2)


def test_no_server_and_no_such_host(run: Any, handling: Any) -> None:
    async def work() -> None:
        async with RawServer(silence).listening() as server:
            url = server.url
        async with handling() as handler:
            with pytest.raises(DownloadConnectionRefusedError):
                await handler.download_request(Request(url))
            with pytest.raises(CannotResolveHostError):
                await handler.download_request(Request("http://no-such-host.invalid/"))

    run(work())


# ----- signals


def test_a_handler_of_bytes_received_can_stop_the_download(run: Any, handling: Any) -> None:
    received: list[bytes] = []

    def stop(data: bytes, request: Request, spider: Any) -> None:
        received.append(data)
        raise StopDownload(fail=False)

    async def work() -> Response:
        listeners = {signals.bytes_received: stop}
        async with RawServer(endless_chunks).listening() as server, handling(listeners=listeners) as handler:
            response: Response = await handler.download_request(Request(server.url))
            return response

    response = run(work())
    assert response.body == received[0]
    assert response.flags == ["download_stopped"]


def test_a_handler_of_headers_received_can_fail_the_download(run: Any, handling: Any) -> None:
    def stop(headers: Any, body_length: int | None, request: Request, spider: Any) -> None:
        raise StopDownload

    async def work() -> None:
        listeners = {signals.headers_received: stop}
        async with RawServer(responding(page())).listening() as server, handling(listeners=listeners) as handler:
            with pytest.raises(StopDownload) as stopped:
                await handler.download_request(Request(server.url))
            assert stopped.value.response is not None
            assert stopped.value.response.body == b""

    run(work())
