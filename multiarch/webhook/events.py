"""Kubernetes Events for pods that are left alone because an image does not support an architecture.

An Event is about the pod's controller: at admission the pod has no uid, and often no name. It is written in the
background, once for each owner and set of images in :data:`REPEAT_SECONDS`. Failures are counted, and the first of
several is logged.
Source: https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import aiohttp

from multiarch.errors import OutsideError
from multiarch.webhook.model import Decision, Outcome, Request
from multiarch.webhook.pod_api import PodApi

REPEAT_SECONDS = 600.0
_MOST_WAITING = 200
"""Events that wait to be written; others are dropped."""
_PAUSE_SECONDS = 0.1
"""Between two Events: at most ten a second."""
_MOST_REMEMBERED = 4096
_LONGEST_NOTE = 1024
"""Bytes, as the API server allows."""
_CREATED = 201
_CONTROLLER = "multiarch-eks/webhook"
_NAMESPACE = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
"""What is not a namespace's name could lead to another path of the API server."""

_log = logging.getLogger(__name__)

_Key = tuple[str, str, tuple[str, ...]]


class Events:
    """Writes Events to the API server of the pod's cluster. Use it with ``async with``. An Observer.

    ``report`` is told ``created``, ``failed`` or ``dropped`` of each.
    """

    def __init__(self, api: PodApi, report: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        """Send nothing yet."""
        self._api = api
        self._report = report
        self._clock = clock
        self._seen: OrderedDict[_Key, float] = OrderedDict()
        self._waiting: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_MOST_WAITING)
        self._task: asyncio.Task[None] | None = None
        self._failing = False

    async def __aenter__(self) -> Self:
        """Begin to write."""
        self._task = asyncio.create_task(self._write_all())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Drop what waits."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def decided(self, request: Request, decision: Decision, seconds: float) -> None:
        """Queue an Event for a pod that is left alone because of its images; never for a dry run."""
        del seconds
        if decision.outcome is not Outcome.LEAVE or request.dry_run:
            return
        owner = request.owner or (f"Pod/{request.name}" if not request.name.endswith("*") else "")
        if (
            not owner
            or not _NAMESPACE.fullmatch(request.namespace)
            or self._repeats((request.namespace, owner, decision.images))
        ):
            return
        try:
            self._waiting.put_nowait(event(request, owner, decision, datetime.now(UTC)))
        except asyncio.QueueFull:
            self._report("dropped")

    def failed(self, reason: str, text: str) -> None:
        """Nothing: a request that is not a review has no owner."""

    def _repeats(self, key: _Key) -> bool:
        now = self._clock()
        if now < self._seen.get(key, float("-inf")):
            return True
        self._seen[key] = now + REPEAT_SECONDS
        self._seen.move_to_end(key)
        if len(self._seen) > _MOST_REMEMBERED:
            self._seen.popitem(last=False)
        return False

    async def _write_all(self) -> None:
        async with self._api.open_session() as session:
            while True:
                found = await self._waiting.get()
                fault = await self._fault(session, found)
                if fault and not self._failing:
                    _log.warning("Events can't be written until the API server takes them again (%s)", fault)
                self._failing = bool(fault)
                self._report("failed" if fault else "created")
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _fault(self, session: aiohttp.ClientSession, found: Mapping[str, Any]) -> str:
        """Write an Event. Return why that failed, without what may be secret, or an empty string."""
        path = f"/apis/events.k8s.io/v1/namespaces/{found['metadata']['namespace']}/events"
        try:
            status, _ = await self._api.request(session, "POST", path, found)
        except OutsideError as error:
            return error.message
        return "" if status == _CREATED else f"it answered {status}"


def event(request: Request, owner: str, decision: Decision, now: datetime) -> dict[str, Any]:
    """The Event about a decision. ``owner`` is ``Kind/name``."""
    kind, _, name = owner.partition("/")
    regarding = {"kind": kind, "name": name, "namespace": request.namespace}
    if request.owner_uid:
        regarding |= {"apiVersion": request.owner_api_version, "uid": request.owner_uid}
    note = f"The pod gets no toleration: {decision.text}."
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{name[:200].rstrip('-.')}.{os.urandom(8).hex()}", "namespace": request.namespace},
        "eventTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingController": _CONTROLLER,
        "reportingInstance": os.uname().nodename[:128],
        "action": "Leave",
        "reason": "".join(word.capitalize() for word in decision.reason.split("-")),
        "type": "Normal",
        "regarding": regarding,
        "note": note.encode()[:_LONGEST_NOTE].decode(errors="ignore"),
    }
