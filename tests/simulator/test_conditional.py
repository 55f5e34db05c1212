"""Portals that name the versions of their pages: an ETag, or the day of the last change."""

from collections.abc import Iterator
from typing import Any

import pytest

from realestate.simulator import World
from realestate.simulator.conditional import unless_known
from realestate.simulator.site import Response
from realestate.simulator.sites import SITES

ASKED = {"immoweb": ("ETag", "If-None-Match"), "emlak": ("Last-Modified", "If-Modified-Since")}
ETAG, OLD, NEW = '"a"', "Mon, 05 Oct 2026 07:00:00 GMT", "Tue, 06 Oct 2026 07:00:00 GMT"


def statuses(site: Any, known: dict[str, str], header: str) -> Iterator[tuple[str, int]]:
    for path, version in known.items():
        yield path, unless_known(site.response(path), {header: version}).status


@pytest.mark.parametrize("portal", ASKED)
def test_a_page_is_not_modified_until_it_is(portal: str) -> None:
    world = World(3, 60)
    site = SITES[portal](world, "http://x.example")
    named, header = ASKED[portal]
    adverts = list(world.listed(portal))
    before = {site.path(advert): site.response(site.path(advert)) for advert in adverts}
    known = {path: (response.extra or {})[named] for path, response in before.items()}
    assert {status for _, status in statuses(site, known, header)} == {304}
    changes = world.advance()[portal]
    site.drop_pages(advert for some in changes.values() for advert in some)
    after = dict(statuses(site, known, header))
    for path, status in after.items():
        same = site.response(path).body == before[path].body
        assert (status == 304) <= same, "what has changed is never called unmodified"
    assert list(after.values()).count(304) > 30
    assert list(after.values()).count(200) > 0


@pytest.mark.parametrize(
    ("sent", "asked", "status"),
    [
        ({"ETag": ETAG}, {"If-None-Match": ETAG}, 304),
        ({"ETag": ETAG}, {"If-None-Match": f'"b", W/{ETAG}'}, 304),
        ({"ETag": ETAG}, {"If-None-Match": '"b"'}, 200),
        ({"ETag": ETAG}, {"If-Modified-Since": NEW}, 200),
        ({"ETag": ETAG}, {}, 200),
        ({"Last-Modified": OLD}, {"If-Modified-Since": OLD}, 304),
        ({"Last-Modified": OLD}, {"If-Modified-Since": NEW}, 304),
        ({"Last-Modified": NEW}, {"If-Modified-Since": OLD}, 200),
        ({"Last-Modified": OLD}, {"If-Modified-Since": "nonsense"}, 200),
        ({"Last-Modified": OLD}, {"If-None-Match": ETAG, "If-Modified-Since": OLD}, 200),
        (None, {"If-None-Match": ETAG}, 200),
        (None, {"If-Modified-Since": OLD}, 200),
    ],
)
def test_only_a_conditional_request_for_the_current_version_gets_304(
    sent: dict[str, str] | None, asked: dict[str, str], status: int
) -> None:
    response = unless_known(Response("listing", b"body", extra=sent), asked)
    assert (response.status, response.body) == (status, b"" if status == 304 else b"body")
    assert unless_known(Response("listing", b"gone", 404, extra=sent), asked).status == 404
