"""Converts pages to WARC records and back. Each record is compressed separately, so that one can be read alone."""

import gzip
import json
import logging
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from warcio.archiveiterator import WARCIterator
from warcio.exceptions import ArchiveLoadFailed
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from realestate.storage.snapshots.page import DamagedSnapshot, Page, digest_of

logger = logging.getLogger(__name__)

#: Level 9 takes longer, and the file is only 0.5 % smaller.
_LEVEL = 6
_CHUNK = 64 * 1024
_MAGIC = b"\x1f\x8b\x08"
#: The field in which Webrecorder's tools keep metadata for which WARC has no field.
_METADATA = "WARC-JSON-Metadata"
_METADATA_FIELDS = ("portal", "kind", "stage", "ref", "job", "hints")


class _Exact(StatusAndHeaders):  # type: ignore[misc]
    """Headers as the site sent them. warcio would %-encode what is not ASCII."""

    def compute_headers_buffer(self, header_filter: Any = None) -> None:
        self.headers_buff = self.to_bytes(header_filter, encoding="latin-1")


def encode(page: Page) -> bytes:
    """Return a gzip member with the record of the page."""
    metadata = json.dumps({name: getattr(page, name) for name in _METADATA_FIELDS}, default=str, separators=(",", ":"))
    buffer = BytesIO()
    writer = WARCWriter(buffer, gzip=False, warc_version="1.1")
    record = writer.create_warc_record(
        page.url,
        "response",
        payload=BytesIO(page.body),
        length=len(page.body),
        http_headers=_Exact(f"{page.status} -", list(page.headers), protocol="HTTP/1.1"),
        warc_headers_dict={
            "WARC-Date": page.fetched_at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "WARC-Payload-Digest": digest_of(page.body),
            _METADATA: metadata,
        },
    )
    writer.write_record(record)
    return gzip.compress(buffer.getvalue(), _LEVEL, mtime=0)


def decode(member: bytes) -> Page:
    """Return the page of a gzip member. Raises DamagedSnapshot if it is not exactly one record."""
    record, length = _inflated(member, 0)
    if length != len(member):
        raise DamagedSnapshot("not exactly one record")
    return _read(record)


def members(data: bytes, name: str) -> Iterator[tuple[int, int, Page]]:
    """Yield offset, length and page of every complete record. Damaged parts are skipped. A killed worker leaves an
    incomplete record at the end of its file."""
    offset = 0
    while 0 <= offset < len(data):
        try:
            record, length = _inflated(data, offset)
            page = _read(record)
        except DamagedSnapshot as damage:
            following = data.find(_MAGIC, offset + 1)
            level = logging.DEBUG if following < 0 else logging.WARNING
            logger.log(level, "snapshot/damaged: %s at byte %d: %s", name, offset, damage)
            offset = following
        else:
            yield offset, length, page
            offset += length


def _inflated(data: bytes, offset: int) -> tuple[bytes, int]:
    """Return the decompressed content of the gzip member at the offset, and the member's length."""
    reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
    position = offset
    held = []
    try:
        while not reader.eof and position < len(data):
            held.append(reader.decompress(data[position : position + _CHUNK]))
            position += _CHUNK
    except zlib.error as error:
        raise DamagedSnapshot(str(error)) from error
    if not reader.eof:
        raise DamagedSnapshot("incomplete record")
    return b"".join(held), min(position, len(data)) - len(reader.unused_data) - offset


def _read(record: bytes) -> Page:
    try:
        found = next(iter(WARCIterator(BytesIO(record), no_record_parse=True)))
        return _page(found.rec_headers, found.raw_stream.read())
    except (ArchiveLoadFailed, EOFError, StopIteration, LookupError, TypeError, ValueError) as error:
        raise DamagedSnapshot(f"not a record of this project: {type(error).__name__}: {error}") from error


def _page(fields: Any, block: bytes) -> Page:
    head, _, body = block.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    if fields.get_header("WARC-Payload-Digest") != digest_of(body):
        raise ValueError("the body does not match its digest")
    return Page(
        url=fields.get_header("WARC-Target-URI"),
        status=int(status.split(" ")[1]),
        headers=tuple((name, value) for name, _, value in (line.partition(": ") for line in lines)),
        body=body,
        fetched_at=datetime.fromisoformat(fields.get_header("WARC-Date")),
        **{name: value for name, value in json.loads(fields.get_header(_METADATA)).items() if name in _METADATA_FIELDS},
    )
