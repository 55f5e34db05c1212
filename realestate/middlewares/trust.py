"""Whose certificates are believed: the usual authorities', and those of a proxy that shows its own for each site."""

import ssl
from functools import cache
from pathlib import Path


def trust(ca: Path | None, *, verifies: bool) -> ssl.SSLContext | bool:
    """In aiohttp's words: True for the usual, False for anybody."""
    if not verifies:
        return False
    return True if ca is None else _beside_the_usual(ca)


@cache
def _beside_the_usual(ca: Path) -> ssl.SSLContext:
    """Once: reading all authorities takes a while, and connections are kept by what they trust."""
    context = ssl.create_default_context()
    context.load_verify_locations(ca)
    return context
