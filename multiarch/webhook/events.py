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
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from cachetools import TTLCache

from multiarch.errors import MultiarchError
from multiarch.kubernetes.cluster import KubernetesCluster, open_cluster
from multiarch.kubernetes.resources import ApiResource
from multiarch.kubernetes.source import ClusterAccess
from multiarch.threads import DaemonThreads
from multiarch.webhook.model import Decision, DecisionOutcome, Request

REPEAT_SECONDS = 600.0
_MAXIMUM_WAITING = 200
"""Events that wait to be written; others are dropped."""
_PAUSE_SECONDS = 0.1
"""Between two Events: at most ten a second."""
_TIMEOUT_SECONDS = 5.0
_REMEMBERED = 4096
_NOTE_BYTES = 1024
"""Maximum, as the API server allows."""
_CONTROLLER = "multiarch-eks/webhook"

_RESOURCE = ApiResource("Event", "events.k8s.io", "events")

_log = logging.getLogger(__name__)


class Events:
    """Writes Events to the API server. Use it with ``async with``. An Observer.

    ``report`` is told ``created``, ``failed`` or ``dropped`` of each.
    """

    def __init__(
        self,
        report: Callable[[str], None],
        opened: Callable[[], KubernetesCluster] = lambda: open_cluster(ClusterAccess()),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Send nothing yet. ``opened`` opens the API server. Raises MultiarchError if there is none."""
        with opened():
            self._opened = opened
        self._report = report
        self._seen: TTLCache[tuple[object, ...], bool] = TTLCache(_REMEMBERED, REPEAT_SECONDS, clock)
        self._waiting: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_MAXIMUM_WAITING)
        self._task: asyncio.Task[None] | None = None

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
        owner = request.owner or (f"Pod/{request.name}" if not request.name.endswith("*") else "")
        key = request.namespace, owner, decision.images
        if decision.outcome is not DecisionOutcome.LEAVE or request.dry_run or not owner or key in self._seen:
            return
        self._seen[key] = True
        try:
            self._waiting.put_nowait(build_event(request, owner, decision, datetime.now(UTC)))
        except asyncio.QueueFull:
            self._report("dropped")

    def failed(self, reason: str, text: str) -> None:
        """Do nothing: a request that is not a review has no owner."""

    async def _write_all(self) -> None:
        loop, failing = asyncio.get_running_loop(), False
        while True:
            found = await self._waiting.get()
            try:
                async with asyncio.timeout(_TIMEOUT_SECONDS):
                    await loop.run_in_executor(DaemonThreads(), _create, self._opened, found)
            except (MultiarchError, TimeoutError) as error:
                if not failing:
                    _log.warning("Events can't be written until the API server takes them again (%s)", error)
                failing = True
            else:
                failing = False
            self._report("failed" if failing else "created")
            await asyncio.sleep(_PAUSE_SECONDS)


def _create(opened: Callable[[], KubernetesCluster], found: Mapping[str, Any]) -> None:
    # The API server's certificates and the token may change.
    with opened() as cluster:
        cluster.create(_RESOURCE, found["metadata"]["namespace"], found)


def build_event(request: Request, owner: str, decision: Decision, now: datetime) -> dict[str, Any]:
    """Return the Event about a decision. ``owner`` is ``Kind/name``."""
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
        "note": note.encode()[:_NOTE_BYTES].decode(errors="ignore"),
    }
