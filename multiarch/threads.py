"""Much work: threads that end with the program, tasks of which some run at once, and lists in parts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Thread
from typing import Any, TypeVar

Item = TypeVar("Item", bound=Hashable)
Found = TypeVar("Found")


class DaemonThreads(ThreadPoolExecutor):
    """An event loop's executor that starts a daemon thread per call.

    Threads of the usual one are waited for at the end, and looking up a name, or querying AWS for a token, may outlast
    every time limit.
    """

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run ``work`` at once."""
        future: Future[Any] = Future()
        Thread(target=_run, args=(future, partial(work, *args, **kwargs)), daemon=True).start()
        return future


def _run(future: Future[Any], work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 (whoever waits for it gets it)
        future.set_exception(error)
    else:
        future.set_result(result)


async def map_concurrently(
    items: Iterable[Item],
    work: Callable[[Item], Awaitable[Found]],
    at_once: int,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> dict[Item, Found]:
    """Do ``work`` once for each distinct item, for ``at_once`` of them at the same time; return the results by item.

    ``progress(done, all)`` is called after each, in this event loop.
    """
    distinct = list(dict.fromkeys(items))
    found: dict[Item, Found] = {}
    waiting = iter(distinct)

    async def work_on() -> None:
        # Workers share one iterator, so that a thousand items do not make a thousand tasks.
        for each in waiting:
            found[each] = await work(each)
            progress(len(found), len(distinct))

    async with asyncio.TaskGroup() as group:
        for _ in range(min(at_once, len(distinct))):
            group.create_task(work_on())
    return found


def split_items(items: Sequence[str], size: int) -> Iterator[list[str]]:
    """Yield the items in lists of at most ``size``, as an API takes them. An empty list has none."""
    for start in range(0, len(items), size):
        yield list(items[start : start + size])
