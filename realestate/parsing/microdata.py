"""Microdata (`itemscope`, `itemprop`) in the form of JSON-LD, so that one reader serves both.

extruct reads it. It costs a second and 30 MB to import, so it is not before a page needs it.
"""

from typing import Any


def nodes(html: str) -> list[dict[str, Any]]:
    """The outermost items of a page; [] for a page without any, or one that cannot be read."""
    if "itemscope" not in html:
        return []
    from extruct.w3cmicrodata import MicrodataExtractor  # type: ignore[import-untyped]

    try:
        items = MicrodataExtractor(nested=True).extract(html)
    except (ValueError, RecursionError, AttributeError, TypeError, LookupError):  # lxml gave up on the page
        return []
    return [node for item in items if isinstance(node := _node(item), dict)]


def _node(value: Any) -> Any:
    if isinstance(value, list):
        return [_node(each) for each in value]
    if not isinstance(value, dict):
        return value
    told = value.get("type")
    types = [each.rpartition("/")[2] for each in (told if isinstance(told, list) else [told]) if isinstance(each, str)]
    properties = value.get("properties")
    return {"@type": types} | {name: _node(each) for name, each in (properties or {}).items()}
