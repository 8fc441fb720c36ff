"""An API server, as far as a dry run uses it, and its registry. Arguments: ``NODES PODS_PER_NODE CASE``.

Half of the nodes are amd64, and full; the others are arm64: full in the case ``full``, with room for all pods in the
case ``room``. Prints its port, then serves until it is stopped. It is a separate process, so that neither its time nor
its memory is counted.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from sandbox.registry.images import Repository
from tests.kubernetes.api_server import Answer, Request, rejected, serving

Object = dict[str, Any]
WORKLOADS = 200
REVISIONS = 5
"""ReplicaSets of each Deployment; all but one are old."""
NAMESPACES = 20
_ARM64 = [{"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]
_PREFERS_ARM64 = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": {"matchExpressions": _ARM64}}]
    }
}
_IMAGES = Repository()
_IMAGES.index("1", {"amd64": "amd64", "arm64": "arm64"})
_INDEX = _IMAGES.tags["1"]


class Cluster:
    """Objects by number: they are made when they are requested."""

    def __init__(self, nodes: int, pods_per_node: int, case: str) -> None:
        """``case`` as the module says."""
        self._nodes, self._each, self._case = nodes, pods_per_node, case
        self.host = ""
        self._lists: Mapping[str, tuple[int, Callable[[int], Object]]] = {
            "nodes": (nodes, self._node),
            "pods": (nodes * pods_per_node, self._pod),
            "replicasets": (WORKLOADS * REVISIONS, self._replica_set),
            "poddisruptionbudgets": (WORKLOADS, self._budget),
        }

    def answer(self, request: Request) -> Answer:
        """Return a page of a list, or an image's index. Anything else is not there."""
        if request.path.startswith("/v2/"):
            return 200, _INDEX.body, {"Content-Type": _INDEX.media_type, "Docker-Content-Digest": _INDEX.digest}
        count, make = self._lists.get(request.path.rpartition("/")[2], (0, self._node))
        if "limit" not in request.query:
            return rejected(404, "NotFound", "not found")
        first = int(request.query.get("continue", "0"))
        last = min(count, first + int(request.query["limit"]))
        more = str(last) if last < count else ""
        items = [make(number) for number in range(first, last)]
        return 200, {"kind": "List", "metadata": {"continue": more}, "items": items}, {}

    def _node(self, number: int) -> Object:
        arm64 = bool(number % 2)
        room = 2 if self._case == "room" and arm64 else 1
        labels = {
            "kubernetes.io/arch": "arm64" if arm64 else "amd64",
            "kubernetes.io/os": "linux",
            "kubernetes.io/hostname": f"node-{number}",
            "topology.kubernetes.io/zone": f"eu-west-1{'abc'[number // 2 % 3]}",
            "node.kubernetes.io/instance-type": "m7g.4xlarge" if arm64 else "m7i.4xlarge",
            "eks.amazonaws.com/nodegroup": f"{'arm' if arm64 else 'amd'}-20261122130000000000000001",
            "eks.amazonaws.com/capacityType": "ON_DEMAND",
        }
        return {
            "metadata": _metadata(f"node-{number}", "", labels),
            "spec": {"taints": [{"key": "arch", "value": "arm64", "effect": "NoSchedule"}] if arm64 else []},
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "allocatable": {"cpu": str(self._each * room), "memory": "64Gi", "pods": str(2 * self._each)},
                "images": [{"names": [f"registry/image:{n}"], "sizeBytes": 1} for n in range(50)],
            },
        }

    def _pod(self, number: int) -> Object:
        workload = number % WORKLOADS
        owner = [{"kind": "ReplicaSet", "name": f"w{workload}-0", "uid": f"uid-w{workload}-0", "controller": True}]
        labels = {"app": f"w{workload}", "pod-template-hash": "0"}
        return {
            "metadata": {**_metadata(f"w{workload}-0-{number}", _space(workload), labels), "ownerReferences": owner},
            "spec": {"nodeName": f"node-{number // self._each}", **self._pod_spec(workload)},
            "status": {
                "phase": "Running",
                "conditions": [
                    {"type": each, "status": "True", "lastTransitionTime": "2026-11-22T12:00:00Z"}
                    for each in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
                ],
                "containerStatuses": [{"name": "app", "ready": True, "imageID": "x" * 100, "containerID": "y" * 80}],
                "podIPs": [{"ip": "10.0.0.1"}],
            },
        }

    def _pod_spec(self, workload: int) -> Object:
        spec: Object = {
            "serviceAccountName": "default",
            "affinity": _PREFERS_ARM64,
            "containers": [
                {
                    "name": "app",
                    "image": f"{self.host}/team/w{workload}:1",
                    "env": [{"name": f"VARIABLE_{n}", "value": "x" * 40} for n in range(20)],
                    "resources": {"requests": {"cpu": "1", "memory": f"{100 + workload}Mi"}},
                    "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets"}],
                }
            ],
            "volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}],
            "tolerations": [{"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}],
        }
        if workload % 5 == 0:
            spec["topologySpreadConstraints"] = [
                {
                    "maxSkew": 1,
                    "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": {"app": f"w{workload}"}},
                }
            ]
        return spec

    def _replica_set(self, number: int) -> Object:
        workload, revision = divmod(number, REVISIONS)
        name, labels = f"w{workload}-{revision}", {"app": f"w{workload}", "pod-template-hash": str(revision)}
        pods = self._nodes * self._each // WORKLOADS
        return {
            "metadata": {
                **_metadata(name, _space(workload), labels),
                "ownerReferences": [{"kind": "Deployment", "name": f"w{workload}", "uid": "d", "controller": True}],
            },
            "spec": {
                "replicas": 0 if revision else pods,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": self._pod_spec(workload)},
            },
            "status": {"replicas": 0 if revision else pods},
        }

    def _budget(self, workload: int) -> Object:
        selector = {"matchLabels": {"app": f"w{workload}"}}
        return {
            "metadata": _metadata(f"w{workload}", _space(workload), {}),
            "spec": {"minAvailable": "80%", "selector": selector},
            "status": {"disruptionsAllowed": 5},
        }


def _metadata(name: str, namespace: str, labels: Mapping[str, str]) -> Object:
    managed = {"manager": "kube-controller-manager", "operation": "Update", "fieldsV1": {"f:status": {"f:phase": {}}}}
    return {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        "uid": f"uid-{name}",
        "labels": dict(labels),
        "managedFields": [managed] * 4,
    }


def _space(workload: int) -> str:
    return f"team-{workload % NAMESPACES}"


def main(arguments: Sequence[str]) -> None:
    """Serve."""
    nodes, pods_per_node, case = arguments
    cluster = Cluster(int(nodes), int(pods_per_node), case)
    with serving(cluster.answer) as server:
        cluster.host = server.url.removeprefix("http://")
        print(cluster.host.rpartition(":")[2], flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1:])
