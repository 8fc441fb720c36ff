"""Threads that end with the program, and not before it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Thread
from typing import Any


class DaemonThreads(ThreadPoolExecutor):
    """An event loop's executor that starts a daemon thread per call.

    Threads of the usual one are waited for at the end, and looking up a name, or asking AWS for a token, may outlast
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
