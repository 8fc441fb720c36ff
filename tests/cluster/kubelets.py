"""Nodes without machines, and the little of their kubelets that controllers wait for: pods start, and end.

Everything else is the real part: API server, scheduler, controllers, evictions.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import Any

import urllib3

from multiarch.facts.labels import EKS_NODE_GROUP
from sandbox.cluster.kube import Kube, KubeError, Object
from sandbox.cluster.pods import POD_RUNS
from sandbox.cluster.programs import ClusterError
from tests.cluster.nodes import Joining, node
from tests.cluster.threads import in_thread

PAUSE_SECONDS = 0.1
_EC2_ARCHITECTURE = {"amd64": "x86_64", "arm64": "arm64"}


def group_node(name: str, group: str, instance_type: str, architecture: str, zone: str = "eu-west-1a") -> Object:
    """A ready Node of a managed group, whose name has a suffix in EKS; an arm64 one has the default taint."""
    taints = [{"key": "arch", "value": "arm64", "effect": "NoSchedule"}] if architecture == "arm64" else []
    labels = {EKS_NODE_GROUP: f"{group}-20261122130000000000000001", "eks.amazonaws.com/capacityType": "ON_DEMAND"}
    instance = {
        "Placement": {"AvailabilityZone": zone},
        "PrivateDnsName": name,
        "InstanceType": instance_type,
        "InstanceId": f"i-{abs(hash(name)):017x}"[:19],
        "Architecture": _EC2_ARCHITECTURE[architecture],
    }
    return node(instance, Joining(labels, taints, 20))


class Kubelets:
    """Plays the kubelets of all nodes, several times a second."""

    def __init__(self, kube: Kube) -> None:
        """Nothing runs yet; see :meth:`running`."""
        self._kube = kube
        self._stop = Event()
        self._failure: BaseException | None = None
        self.not_ending: set[str] = set()
        """Namespaces whose pods do not end when they are deleted."""

    @contextlib.contextmanager
    def running(self) -> Iterator[Kubelets]:
        """Run in a thread; on leaving, end it. Raises ClusterError if it broke down."""
        with in_thread("kubelets", self._run, self._stop):
            yield self
        if self._failure is not None:
            raise ClusterError(f"the kubelets broke down: {self._failure!r}") from self._failure

    def _run(self) -> None:
        while not self._stop.wait(PAUSE_SECONDS):
            try:
                self.step()
            except (urllib3.exceptions.HTTPError, OSError):
                continue  # the API server restarts
            except KubeError as error:
                if error.code < 500 and error.code not in (401, 403, 429):
                    self._failure = error
                    return

    def step(self) -> None:
        """Start pods that were bound to a node; let go of those that are to end."""
        for pod in self._kube.list("v1", "Pod"):
            place = pod["spec"].get("nodeName")
            if not place:
                continue
            named: Object = {"apiVersion": "v1", "kind": "Pod", **pod}
            if "deletionTimestamp" in pod["metadata"]:
                if pod["metadata"]["namespace"] not in self.not_ending:
                    self._kube.delete(named, grace=0)
            elif pod.get("status", {}).get("phase") == "Pending":
                with contextlib.suppress(KubeError):  # gone meanwhile
                    self._kube.patch(named, POD_RUNS, part="status")


@dataclass
class Healthy:
    """Watches the pods of one namespace, and knows the fewest that were ready at once, by the label ``app``.

    It counts as the disruption controller does: pods that are ready and not being deleted.
    """

    kube: Kube
    namespace: str
    fewest: dict[str, int] = field(default_factory=dict)
    events: int = 0

    @contextlib.contextmanager
    def watched(self) -> Iterator[Healthy]:
        """Watch in a thread until the block is left."""
        stop = Event()
        with in_thread("watch of pods", partial(self._run, stop), stop):
            yield self

    def _run(self, stop: Event) -> None:
        while not stop.is_set():
            # The API server may restart: the watch begins again with a list.
            with contextlib.suppress(urllib3.exceptions.HTTPError, OSError, KubeError, ValueError):
                self._watch(stop)
            stop.wait(0.05)

    def _watch(self, stop: Event) -> None:
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        listed = self.kube.request("GET", path)
        pods = {item["metadata"]["uid"]: item for item in listed["items"]}
        self._count(pods)
        version = listed["metadata"]["resourceVersion"]
        url = f"{self.kube.access.url}{path}?watch=true&resourceVersion={version}&timeoutSeconds=2"
        own = {"Authorization": f"Bearer {self.kube.access.token}"}
        with (
            urllib3.PoolManager(ca_certs=str(self.kube.access.certificate), retries=False) as http,
            contextlib.closing(http.request("GET", url, headers=own, preload_content=False, timeout=5.0)) as answer,
        ):
            for line in answer:
                event = json.loads(line)
                item = event["object"]
                if event["type"] == "ERROR" or stop.is_set():
                    return
                if event["type"] == "DELETED":
                    pods.pop(item["metadata"]["uid"], None)
                else:
                    pods[item["metadata"]["uid"]] = item
                self._count(pods)

    def _count(self, pods: Mapping[str, Object]) -> None:
        self.events += 1
        found: dict[str, int] = {}
        for pod in pods.values():
            name = pod["metadata"].get("labels", {}).get("app", "")
            found[name] = found.get(name, 0) + is_healthy(pod)
        for name in found.keys() | self.fewest.keys():
            self.fewest[name] = min(self.fewest.get(name, 1_000), found.get(name, 0))


def is_healthy(pod: Mapping[str, Any]) -> bool:
    """Whether a pod counts for a PodDisruptionBudget."""
    conditions = pod.get("status", {}).get("conditions") or ()
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]
