"""The HTML of lalafo: little HTML, and the responses of the API in `__NEXT_DATA__`."""

from html import escape
from typing import Any

import msgspec

from realestate.simulator.lalafo.facts import CITIES

_STYLE = "".join(
    f".LFSub{number:03}{{display:flex;margin:{number % 9}px;color:#{number * 4099 % 0xFFFFFF:06x}}}\n"
    for number in range(170)
)
_MENU = "".join(
    f'<a class="LFLink" href="/{alias}/nedvizhimost">{city}: daşınmaz əmlak</a>\n'
    for city, (_, alias) in CITIES.items()
)
_FOOT = """</div><footer><p>Uydurma portal: buradakı evlər və satıcılar real deyil.</p>
<a href="/_private/account">Kabinet</a></footer></body></html>
""".encode()


def advert_page(document: dict[str, Any], others: list[dict[str, Any]]) -> bytes:
    """Return the page of an advert. Its data has some other adverts first."""
    queries = [
        _query(["similar", document["id"]], {"items": others}),
        _query(["detail", document["country_id"], "az_AZ", document["id"]], document),
    ]
    return _page(document["title"], f"<h1>{escape(document['title'])}</h1>", queries)


def search_page(response: dict[str, Any]) -> bytes:
    links = "".join(f'<a href="{item["url"]}">{escape(item["title"])}</a>\n' for item in response["items"])
    queries = [
        _query(["categories", 13], {"id": 2029, "children": []}),
        _query(["listing", 13, "az_AZ"], {"pages": [response], "pageParams": [None]}),
    ]
    return _page("Daşınmaz əmlak", links, queries)


def _query(key: list[Any], data: Any) -> dict[str, Any]:
    return {
        "queryKey": key,
        "queryHash": msgspec.json.encode(key).decode(),
        "state": {"data": data, "status": "success"},
    }


def _page(title: str, body: str, queries: list[dict[str, Any]]) -> bytes:
    data = {
        "props": {"pageProps": {"dehydratedState": {"mutations": [], "queries": queries}, "lang": "az"}},
        "page": "/[...slug]",
        "buildId": "simulated",
        "isFallback": False,
    }
    encoded = msgspec.json.encode(data).replace(b"</", b"<\\/")
    head = f"""<!DOCTYPE html>
<html lang="az"><head><meta charset="utf-8"><title>{escape(title)}</title>
<style>
{_STYLE}</style></head><body><nav>
{_MENU}</nav><div id="__next">{body}
"""
    script = b'<script id="__NEXT_DATA__" type="application/json">' + encoded + b"</script>"
    return head.encode() + script + _FOOT
