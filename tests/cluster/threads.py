"""Work beside the test, in a thread."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from threading import Event, Thread


@contextlib.contextmanager
def in_thread(name: str, work: Callable[[], None], stop: Event) -> Iterator[None]:
    """Run ``work`` until the block is left, which sets ``stop`` and waits for the end of the thread."""
    thread = Thread(target=work, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=30)
