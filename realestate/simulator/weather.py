"""Faults of a whole portal: what clients get instead of its pages.

    fine            no fault
    down            503 for everything, robots.txt too
    blocked         403 and a challenge for everything, robots.txt too
    error_page      200 and an error message instead of every search and every listing
    all_404         404 for every listing; searches are fine
    all_redirected  every listing redirects to the index; searches are fine
    half_empty      searches find only half of the adverts, always the same half, and count only those
    half_pages      searches count all adverts but show only the first half: later pages are empty
    slow_search     searches take SLOW_SECONDS
    new_layout      listings of emlak and immoweb have another class or key where the address or the area was

It lasts until it is changed. It changes neither the truth nor the day.
"""

from dataclasses import replace
from typing import Literal, get_args
from zlib import crc32

from realestate.simulator.adverts import Advert
from realestate.simulator.site import Found, Response, Showing, all_of_it

Weather = Literal[
    "fine",
    "down",
    "blocked",
    "error_page",
    "all_404",
    "all_redirected",
    "half_empty",
    "half_pages",
    "slow_search",
    "new_layout",
]
WEATHERS: tuple[Weather, ...] = get_args(Weather)
SLOW_SECONDS = 2.0

#: What a new layout calls differently: the class of the address on emlak, the key of the area on immoweb.
_RENAMED = ((b"map-address", b"place-box"), (b'"netHabitableSurface"', b'"livingSurface"'))

_CHALLENGE = b"""<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>
<h1>Security check</h1><p>Please show that you are not a robot.</p>
<script src="/cdn-cgi/challenge-platform/scripts/main.js"></script></body></html>"""
_UNAVAILABLE = b"<title>503</title><h1>Service unavailable</h1>"
_ERROR = b"<!DOCTYPE html><html><head><title>Oops</title></head><body><h1>Something went wrong</h1></body></html>"
_GONE = b"<title>404</title><h1>Not found</h1>"


def weathered(weather: Weather, response: Response, index: str) -> Response:
    """The response in this weather. `index` is the address for redirects."""
    is_listing = response.kind == "listing"
    is_search = response.kind == "search"
    match weather:
        case "down":
            return Response(response.kind, _UNAVAILABLE, 503)
        case "blocked":
            return Response(response.kind, _CHALLENGE, 403)
        case "error_page" if is_listing or is_search:
            return Response(response.kind, _ERROR)
        case "all_404" if is_listing:
            return Response(response.kind, _GONE, 404)
        case "all_redirected" if is_listing:
            return Response(response.kind, b"", 302, location=index)
        case "new_layout" if is_listing:
            return _renamed(response)
    return response


def _renamed(response: Response) -> Response:
    """The page with other names. It is another version, so it has not the header of the usual one."""
    body = response.body
    for old, new in _RENAMED:
        body = body.replace(old, new)
    return replace(response, body=body, extra=None) if body != response.body else response


def seconds_to_wait(weather: Weather, response: Response) -> float:
    return SLOW_SECONDS if weather == "slow_search" and response.kind == "search" else 0.0


def showing(weather: Weather) -> Showing:
    """Return what searches show of the adverts they find."""
    return {"half_empty": _known_half, "half_pages": _first_half}.get(weather, all_of_it)


def _known_half(found: list[Advert]) -> Found:
    return all_of_it([advert for advert in found if crc32(advert.key.encode()) % 2])


def _first_half(found: list[Advert]) -> Found:
    return Found(found[: len(found) // 2], len(found))
