"""Nodes without machines, and the little of their kubelets that controllers wait for: pods start, and end.

Everything else is the real part: API server, scheduler, controllers, evictions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from threading import Event, Lock, Thread
from typing import Self

import urllib3

from multiarch.facts.architectures import Architecture, format_ami_architecture
from multiarch.facts.labels import EKS_NODE_GROUP
from sandbox.cluster.kube import Kube, KubeError, Object
from sandbox.cluster.pods import POD_RUNS
from sandbox.cluster.programs import ClusterError
from tests.cluster.nodes import Joining, node


def group_node(name: str, group: str, instance_type: str, architecture: str) -> Object:
    """A ready Node of a managed group, whose name has a suffix in EKS; an arm64 one has the default taint."""
    taints = [{"key": "arch", "value": "arm64", "effect": "NoSchedule"}] if architecture == "arm64" else []
    labels = {EKS_NODE_GROUP: f"{group}-20261122130000000000000001", "eks.amazonaws.com/capacityType": "ON_DEMAND"}
    instance = {
        "Placement": {"AvailabilityZone": "eu-west-1a"},
        "PrivateDnsName": name,
        "InstanceType": instance_type,
        "InstanceId": f"i-{abs(hash(name)):017x}"[:19],
        "Architecture": format_ami_architecture(Architecture(architecture)),
    }
    return node(instance, Joining(labels, taints, 20))


class Kubelets:
    """Plays the kubelets of all nodes, every ``pause`` seconds."""

    pause = 0.1

    def __init__(self, kube: Kube) -> None:
        """Nothing runs yet; see :meth:`running`."""
        self._kube = kube
        self._lock = Lock()
        self._failure: BaseException | None = None
        self.not_ending: set[str] = set()
        """Namespaces whose pods do not end when they are deleted."""

    @contextlib.contextmanager
    def running(self) -> Iterator[Self]:
        """Run in a thread; on leaving, end it. Raises ClusterError if it broke down."""
        stop = Event()
        thread = Thread(target=self._run, args=[stop], daemon=True)
        thread.start()
        try:
            yield self
        finally:
            stop.set()
            thread.join(timeout=30)
        self.still_running()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let it do nothing for a while."""
        with self._lock:
            yield

    def still_running(self) -> None:
        """Raise ClusterError if it broke down."""
        if self._failure is not None:
            raise ClusterError(f"{type(self).__name__} broke down: {self._failure!r}") from self._failure

    def _run(self, stop: Event) -> None:
        while not stop.wait(self.pause):
            try:
                with self._lock:
                    self.step()
            except (urllib3.exceptions.HTTPError, OSError):
                continue  # the API server restarts
            except Exception as error:  # noqa: BLE001 (told by still_running, in the tests' own thread)
                if not isinstance(error, KubeError) or (error.code < 500 and error.code not in (401, 403, 429)):
                    self._failure = error
                    return

    def step(self) -> None:
        """Start pods that were bound to a node; let go of those that are to end."""
        for pod in self._kube.list("v1", "Pod"):
            if not pod["spec"].get("nodeName"):
                continue
            named: Object = {"apiVersion": "v1", "kind": "Pod", **pod}
            if "deletionTimestamp" in pod["metadata"]:
                if pod["metadata"]["namespace"] not in self.not_ending:
                    self._kube.delete(named, grace=0)
            elif pod.get("status", {}).get("phase") == "Pending":
                with contextlib.suppress(KubeError):  # gone meanwhile
                    self._kube.patch(named, POD_RUNS, part="status")


class Healthy(Kubelets):
    """Counts the pods of a label ``app`` that are ready and not being deleted, as the disruption controller does.

    ``fewest`` is their minimum so far. It plays no kubelet, and sees what lasts a tenth of a second.
    """

    def __init__(self, kube: Kube, namespace: str, app: str) -> None:
        """Nothing is counted yet; see :meth:`running`."""
        super().__init__(kube)
        self._pods = partial(kube.list, "v1", "Pod", namespace, selector=f"app={app}")
        self.fewest: int | None = None

    def step(self) -> None:
        """Count once."""
        ready = sum("deletionTimestamp" not in pod["metadata"] and _is_ready(pod) for pod in self._pods())
        self.fewest = ready if self.fewest is None else min(ready, self.fewest)


def _is_ready(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
