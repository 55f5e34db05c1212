"""Damage to the body of a response: broken encodings, bombs, no content, a new layout."""

import gzip
import re
import zlib
from dataclasses import replace
from functools import cache
from random import Random

from realestate.simulator.site import HTML, Response

#: The size of a decompressed bomb. Compressed it is a thousandth of that.
BOMB_BYTES = 128 * 1024 * 1024
_GZIP = {"Content-Encoding": "gzip"}
_EMPTY_HTML = (
    b"<!DOCTYPE html>\n<html><head><meta charset='utf-8'><title></title></head>\n<body><main></main></body></html>\n"
)

_BODY = re.compile(rb"<body[^>]*>")
_CLASS = re.compile(rb'(<[a-z][a-z0-9]*\b[^<>]*? class=")([\w-]+)')
_ASSIGNED = re.compile(rb"^(\s*window\.\w+) = ", re.MULTILINE)
_NOTICE = b'<div class="r2-notice" role="status">We have a new look.</div><div id="r2-app" data-release="2">'


def emptied(response: Response) -> Response:
    """Return the page without its content."""
    return replace(response, body=_EMPTY_HTML if response.content_type == HTML else b"{}")


def garbled(response: Response, dice: Random) -> Response:
    """Return a body whose encoding is not the one of its header, or ends in the middle."""
    match dice.choice(("not_gzip", "half_gzip", "damaged_gzip", "utf_16")):
        case "not_gzip":
            return replace(response, extra=_GZIP)
        case "half_gzip":
            packed = gzip.compress(response.body, 6, mtime=0)
            return replace(response, body=packed[: len(packed) // 2], extra=_GZIP)
        case "damaged_gzip":
            packed = gzip.compress(response.body, 6, mtime=0)
            middle = len(packed) // 2
            return replace(response, body=packed[:middle] + bytes(8) + packed[middle + 8 :], extra=_GZIP)
    media_type = response.content_type.partition(";")[0]
    return replace(response, content_type=f"{media_type}; charset=utf-16")


def bomb(response: Response) -> Response:
    return replace(response, body=_bomb(), extra=_GZIP)


@cache
def _bomb() -> bytes:
    """Return a bomb: a compressed page that is mostly blanks."""
    packer = zlib.compressobj(9, wbits=31)
    piece = b" " * (1024 * 1024)
    packed = [packer.compress(b"<!DOCTYPE html><html><body>")]
    packed += [packer.compress(piece) for _ in range(BOMB_BYTES // len(piece))]
    return b"".join((*packed, packer.flush()))


def relaid(response: Response) -> Response:
    """Return the page in a new layout: with the same data under the same names, but with other HTML."""
    if response.content_type != HTML or response.status != 200:
        return response
    body = _BODY.sub(rb"\g<0>" + _NOTICE, response.body, count=1).replace(b"</body>", b"</div></body>")
    body = _ASSIGNED.sub(rb"\1=", body, count=1)
    return replace(response, body=_CLASS.sub(rb"\1r2-\2 \2", body))
