"""Scripts, styles and outlines of countries: files of this package, compressed once and cached for ever by browsers."""

import gzip
import hashlib
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request, Response

FOLDER = Path(__file__).parents[1] / "static"
#: A browser runs a module only if it is served as JavaScript.
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
#: The address changes with the content, so a copy never grows old.
FOR_EVER = "public, max-age=31536000, immutable"

router = APIRouter(include_in_schema=False)


@cache
def files() -> dict[str, Path]:
    """The files by their path below the folder. Nothing else is served."""
    found = (path for path in FOLDER.rglob("*") if path.suffix in TYPES and path.is_file())
    return {path.relative_to(FOLDER).as_posix(): path for path in sorted(found)}


@cache
def version() -> str:
    """Changes when any of the files does."""
    digest = hashlib.sha256()
    for name, path in files().items():
        digest.update(name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def static(name: str) -> str:
    """The address of a file. Raises KeyError if there is none."""
    files()[name]
    return f"/static/{version()}/{name}"


@cache
def _compressed(name: str) -> bytes:
    return gzip.compress(files()[name].read_bytes(), 9, mtime=0)


@router.get("/static/{wanted}/{name:path}")
def serve(request: Request, wanted: str, name: str) -> Response:
    """The file, compressed if the browser takes that. An address of an older version gets today's file, uncached."""
    if name not in files():
        return Response(f"no file {name!r}", 404, media_type="text/plain")
    headers = {
        "Content-Type": TYPES[files()[name].suffix],
        "Cache-Control": FOR_EVER if wanted == version() else "no-cache",
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
        # A worker has the policy of its own file, not that of the page.
        "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; worker-src 'self'",
    }
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(files()[name].read_bytes(), headers=headers)
    return Response(_compressed(name), headers={**headers, "Content-Encoding": "gzip"})
