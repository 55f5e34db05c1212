"""Microdata (`itemscope`, `itemprop`), in the form of JSON-LD: then `schemaorg` can read both.

extruct reads it. Its import takes a second and 30 MB, so it is imported when the first page needs it.
"""

from typing import Any


def nodes(html: str) -> list[dict[str, Any]]:
    """Return the outermost items of a page; [] if there are none or the page cannot be parsed."""
    if "itemscope" not in html:
        return []
    from extruct.w3cmicrodata import MicrodataExtractor  # type: ignore[import-untyped]

    try:
        items = MicrodataExtractor(nested=True).extract(html)
    except (ValueError, RecursionError, AttributeError, TypeError, LookupError):  # lxml cannot parse the page
        return []
    return [node for item in items if isinstance(node := _node(item), dict)]


def _node(value: Any) -> Any:
    if isinstance(value, list):
        return [_node(each) for each in value]
    if not isinstance(value, dict):
        return value
    types = value.get("type")
    names = types if isinstance(types, list) else [types]
    short_names = [each.rpartition("/")[2] for each in names if isinstance(each, str)]
    properties = value.get("properties")
    return {"@type": short_names} | {name: _node(each) for name, each in (properties or {}).items()}
