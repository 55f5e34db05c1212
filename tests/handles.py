"""A store handle for tests: it answers at once, in the calling thread."""

from collections.abc import Callable
from typing import Any


class DirectHandle:
    """Asks the given object as if it were the store."""

    def __init__(self, store: Any) -> None:
        self.store = store

    async def ask(self, question: Callable[[Any], Any]) -> Any:
        return question(self.store)
