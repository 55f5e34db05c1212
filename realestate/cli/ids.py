"""Ids that a person types: the whole id, or as much of its beginning as no other id has."""

from collections.abc import Iterable

from realestate.cli.errors import UsageError

#: At most so many ids are shown when a beginning fits several.
SHOWN = 5


def whole_id(beginning: str, ids: Iterable[str], what: str) -> str:
    """The only id with this beginning. A UsageError if there is none, or more than one. `what` names the thing, such as
    `a job`."""
    found = sorted({id for id in ids if id.startswith(beginning)})
    if beginning in found:
        return beginning
    if not found:
        raise UsageError(f"there is no {what} with the id {beginning!r}")
    if len(found) > 1:
        shown = ", ".join(found[:SHOWN]) + (" …" if len(found) > SHOWN else "")
        raise UsageError(f"{beginning!r} fits {len(found)} ids of {what}s: {shown}; type more of it")
    return found[0]
