"""A table that forgets: a server that runs for months meets any number of names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Keeps the ``limit`` entries that were used last."""

    def __init__(self, limit: int = 4096) -> None:
        """An empty one."""
        self._limit = limit
        self._entries: OrderedDict[K, V] = OrderedDict()

    def __len__(self) -> int:
        """How many there are."""
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """The entry, or None."""
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, key: K, value: V) -> None:
        """Set an entry; the one that was used longest ago goes if there are too many."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._limit:
            self._entries.popitem(last=False)

    def get_or_make(self, key: K, make: Callable[[], V]) -> V:
        """The entry, made if it is not there."""
        found = self.get(key)
        if found is None:
            found = make()
            self.put(key, found)
        return found
