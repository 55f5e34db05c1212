"""Small documents of monitoring, on a real server of each kind."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from realestate.storage.maintenance import FullStore
from tests.storage.conftest import OpenStore


def test_documents_are_read_back_by_name(any_store: Any) -> None:
    store = cast("FullStore", any_store)
    store.change_state("alert:a", lambda _: {"since": 1, "by.name": {"$x": [1, None]}})
    store.change_state("drift:b", lambda _: {})
    assert store.states() == {"alert:a": {"since": 1, "by.name": {"$x": [1, None]}}, "drift:b": {}}
    assert list(store.states("drift:")) == ["drift:b"]
    assert store.change_state("alert:a", lambda _: None) is None
    assert list(store.states()) == ["drift:b"]
    assert store.change_state("nothing", lambda _: None) is None


def test_no_change_is_lost_when_several_change_at_once(open_another: OpenStore) -> None:
    stores = [cast("FullStore", open_another()) for _ in range(4)]
    stores[0].migrate()

    def count(store: FullStore) -> None:
        for _ in range(10):
            store.change_state("n", lambda old: {"n": (old or {"n": 0})["n"] + 1})

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(count, stores))
    assert stores[0].states("n") == {"n": {"n": 40}}
