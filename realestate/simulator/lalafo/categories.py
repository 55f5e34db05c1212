"""The tree of categories that lalafo's API serves: names and numbers, nested. The groups' numbers are invented."""

from typing import Any

from realestate.simulator.lalafo.facts import ROOT

#: group -> its categories. The names are in the style of the site's.
_GROUPS: dict[tuple[int, str], dict[int, str]] = {
    (20_300, "Mənzillər"): {
        4793: "Yeni tikili satışı",
        4800: "Köhnə tikili satışı",
        2044: "Uzunmüddətli kirayə",
        2045: "Günlük kirayə",
        2042: "Mənzil alıram",
        2041: "Mənzil axtarıram",
    },
    (20_301, "Həyət evləri"): {
        2031: "Evlərin satışı",
        2033: "Uzunmüddətli kirayə",
        2034: "Günlük kirayə",
        2035: "Ev alıram",
    },
    (20_302, "Bağ evləri"): {5952: "Satış"},
    (20_303, "Torpaq sahələri"): {2038: "Satış", 2039: "İcarə"},
    (20_304, "Qarajlar"): {5304: "Satış", 5305: "İcarə"},
    (20_305, "Ofislər"): {2056: "Satış", 2068: "İcarə"},
    (20_306, "Mağazalar"): {2057: "Satış", 2066: "İcarə"},
}


def tree() -> list[dict[str, Any]]:
    """Return the whole tree. Real estate is one branch of it."""
    groups = [_node(number, name, ROOT, _leaves(number, leaves)) for (number, name), leaves in _GROUPS.items()]
    phones = _node(1424, "Telefonlar", 1423, [])
    return [
        _node(1423, "Elektronika", None, [phones]),
        _node(ROOT, "Daşınmaz əmlak", None, groups),
    ]


def _leaves(group: int, leaves: dict[int, str]) -> list[dict[str, Any]]:
    return [_node(number, name, group, []) for number, name in leaves.items()]


def _node(number: int, name: str, parent: int | None, children: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": number, "name": name, "parent_id": parent, "children": children}
