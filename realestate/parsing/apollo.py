"""The cache of Apollo (a GraphQL client): objects by key, which refer to each other as `{"__ref": key}`."""

from typing import Any


def first(cache: Any, typename: str, id: object = None) -> Any:
    """Return the first object of a type ("Ad"), or the one with this id, with its references resolved."""
    if not isinstance(cache, dict):
        return None
    key = next((key for key in cache if _has_type_and_id(key, typename, id)), None)
    return None if key is None else resolved(cache, {"__ref": key})


def fullest(cache: Any, typename: str) -> Any:
    """Return the object of a type with the most fields: the page's own. Objects of other pages have fewer fields."""
    if not isinstance(cache, dict):
        return None
    objects = (each for key, each in cache.items() if _has_type_and_id(key, typename, None) and isinstance(each, dict))
    return max(objects, key=len, default=None)


def resolved(cache: Any, value: Any) -> Any:
    """Return a value with objects in place of references. A reference that leads back to itself becomes None."""
    if not isinstance(cache, dict):
        return None
    try:
        return _Resolver(cache).value(value)
    except RecursionError:
        return None


def field(node: Any, name: str) -> Any:
    """Return a field whose name may contain arguments: `photos({"size":"large"})`."""
    if not isinstance(node, dict):
        return None
    if name in node:
        return node[name]
    return next((value for key, value in node.items() if key.startswith((f"{name}(", f"{name}:"))), None)


def _has_type_and_id(key: str, typename: str, id: object) -> bool:
    """Keys are "Ad:123" or 'Ad:{"id":"123"}'. With id None, any id matches."""
    if not key.startswith(f"{typename}:"):
        return False
    own_id = key[len(typename) + 1 :]
    return id is None or own_id == str(id) or own_id in (f'{{"id":"{id}"}}', f'{{"id":{id}}}')


class _Resolver:
    """Resolves each object once and shares it between all references: otherwise a small page could use all memory."""

    def __init__(self, cache: dict[str, Any]) -> None:
        self.cache = cache
        self.done: dict[str, Any] = {}
        self.copies: dict[int, Any] = {}
        """id of a dictionary -> its copy. A dictionary that was resolved before is in several places."""
        self.begun: set[str] = set()

    def value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.value(each) for each in value]
        if not isinstance(value, dict):
            return value
        key = value.get("__ref")
        if isinstance(key, str):
            return self.object(key)
        if id(value) not in self.copies:
            self.copies[id(value)] = {name: self.value(each) for name, each in value.items()}
        return self.copies[id(value)]

    def object(self, key: str) -> Any:
        if key in self.done:
            return self.done[key]
        if key in self.begun:
            return None
        self.begun.add(key)
        self.done[key] = self.value(self.cache.get(key))
        return self.done[key]
