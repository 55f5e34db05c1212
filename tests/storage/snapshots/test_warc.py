"""Every page is read back as it was written, and other tools can read the files."""

import gzip
from datetime import datetime, timedelta, timezone
from io import BytesIO
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from realestate.storage.snapshots import DamagedSnapshot, Page, warc
from tests.storage.snapshots.examples import NOON, a_page

HOSTILE = {
    "nothing": b"",
    "binary": bytes(range(256)) * 100,
    "16 MB": Random(1).randbytes(16 * 1024 * 1024),
    "16 MB of one letter": b"a" * (16 * 1024 * 1024),
    "UTF-16": "ə window.classified = {".encode("utf-16"),
    "half of UTF-8": "ə".encode()[:1],
    "gzip": gzip.compress(b"a page in a page"),
    "a record": warc.encode(a_page()),
    "the end of a record": b"\r\n\r\n\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\n\r\n",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_any_body_is_read_back(body: bytes) -> None:
    page = a_page(body=body)
    assert warc.decode(warc.encode(page)) == page


@given(
    body=st.binary(max_size=500),
    headers=st.lists(st.tuples(st.binary(max_size=8), st.binary(max_size=30)), max_size=5),
    url=st.text(max_size=40),
    hints=st.dictionaries(st.text(max_size=9), st.none() | st.integers() | st.text(max_size=9) | st.booleans()),
    status=st.integers(100, 999),
)
def test_any_response_is_one_record(
    body: bytes, headers: list[tuple[bytes, bytes]], url: str, hints: dict[str, Any], status: int
) -> None:
    sent = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
    page = a_page(body=body, headers=sent, url=f"https://x.example/{url}", hints=hints, status=status).fit_to_keep()
    ((offset, _, read),) = warc.members(warc.encode(page), "test")
    assert offset == 0
    assert read == page
    assert page.fit_to_keep() == page


def test_a_good_page_is_stored_as_it_was_sent() -> None:
    odd = (("Content-Disposition", "attachment; filename=\xe9v.html"), ("X-Utf8", "\xc3\xa9"), ("x-empty", ""))
    page = a_page(headers=odd)
    assert warc.decode(warc.encode(page.fit_to_keep())).headers == odd


def test_a_header_cannot_add_lines() -> None:
    evil = (
        ("X-A", "1\r\nSet-Cookie: id=1\r\n\r\n<html>"),
        ("X-B\r\nSet-Cookie", "id=2"),
        ("X-C: d\nX-E", "1"),
        ("", "nameless"),
    )
    page = a_page(headers=evil, url="https://x.example/\r\nWARC-Type: request\r\n\r\n").fit_to_keep()
    read = warc.decode(warc.encode(page))
    assert [name for name, _ in read.headers] == ["X-A"]
    assert read.url == "https://x.example/%0D%0AWARC-Type:%20request%0D%0A%0D%0A"
    assert read.body == page.body


@pytest.mark.parametrize(
    "name",
    ["Set-Cookie", "set-cookie2", "Authorization", "WWW-Authenticate", "X-CSRF-Token", "X-Session-Id", "X-Api-Key"],
)
def test_no_secret_is_stored(name: str) -> None:
    record = gzip.decompress(warc.encode(a_page(headers=((name, "s3cr3t"), ("Server", "x"))).fit_to_keep()))
    assert b"s3cr3t" not in record
    assert b"Server: x" in record


def test_a_login_in_an_address_is_not_stored() -> None:
    page = a_page(url="https://me:s3cr3t@x.example:8080/a?b=c@d#e").fit_to_keep()
    assert page.url == "https://x.example:8080/a?b=c@d#e"


def test_a_time_keeps_its_microseconds_in_any_time_zone() -> None:
    baku = timezone(timedelta(hours=4))
    fetched_at = datetime(2026, 11, 4, 16, 0, 0, 123456, tzinfo=baku)
    assert warc.decode(warc.encode(a_page(fetched_at=fetched_at))).fetched_at == NOON


def test_hints_may_be_as_long_as_a_request() -> None:
    page = a_page(hints={"text": "ə" * 200_000})
    assert warc.decode(warc.encode(page)) == page


def test_other_tools_read_the_files_and_agree_about_the_digests() -> None:
    first, second = a_page(), a_page(body=b"", status=404)
    data = warc.encode(first) + warc.encode(second)
    found = []
    for record in (records := ArchiveIterator(BytesIO(data), check_digests="raise")):
        body = record.content_stream().read()
        found.append((record.rec_headers["WARC-Target-URI"], record.http_headers.get_statuscode(), body))
        assert record.http_headers["Content-Type"] == "text/html; charset=utf-8"
        assert record.rec_headers["WARC-Date"] == "2026-11-04T12:00:00.123456Z"
    assert records.err_count == 0
    assert found == [(first.url, "200", first.body), (second.url, "404", b"")]


def test_the_check_of_digests_can_fail() -> None:
    plain = gzip.decompress(warc.encode(a_page())).replace(b"</html>", b"</HTML>")
    with pytest.raises(ArchiveLoadFailed):
        [record.raw_stream.read() for record in ArchiveIterator(BytesIO(plain), check_digests="raise")]
    with pytest.raises(DamagedSnapshot, match="does not match its digest"):
        warc.decode(gzip.compress(plain))


def pages_of(data: bytes) -> list[tuple[int, int, Page]]:
    return list(warc.members(data, "test"))


def test_a_file_cut_anywhere_gives_every_record_before_the_cut() -> None:
    records = [warc.encode(a_page(ref=str(number), body=bytes([number]) * 40)) for number in range(3)]
    whole = b"".join(records)
    for cut in range(len(whole) + 1):
        found = pages_of(whole[:cut])
        wanted = sum(cut >= len(b"".join(records[: number + 1])) for number in range(3))
        assert [page.ref for _, _, page in found] == [str(number) for number in range(wanted)], cut
        assert [whole[offset : offset + length] for offset, length, _ in found] == records[:wanted]


def test_damage_in_the_middle_costs_the_damaged_record_only(caplog: pytest.LogCaptureFixture) -> None:
    records = [warc.encode(a_page(ref=str(number))) for number in range(3)]
    for position in range(len(records[1])):
        spoilt = bytearray(records[1])
        spoilt[position] ^= 0xFF
        found = [page for _, _, page in pages_of(records[0] + spoilt + records[2])]
        assert [page.ref for page in found if page != a_page(ref="1")] == ["0", "2"], position
    assert "snapshot/damaged: test at byte" in caplog.text


NOT_OURS = {
    "nothing": b"",
    "not gzip": b"not gzip",
    "nothing, compressed": gzip.compress(b""),
    "not WARC": gzip.compress(b"not WARC"),
    "no fields": gzip.compress(b"WARC/1.1\r\n\r\n"),
    "half a record": warc.encode(a_page())[:-1],
    "a record and a half": warc.encode(a_page()) + b"x",
    "two records": warc.encode(a_page()) * 2,
}


@pytest.mark.parametrize("data", NOT_OURS.values(), ids=NOT_OURS)
def test_bytes_that_are_not_one_record_of_ours_are_damage(data: bytes) -> None:
    with pytest.raises(DamagedSnapshot):
        warc.decode(data)
