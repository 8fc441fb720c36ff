"""The kinds that are read out of a cluster: where the API server keeps them, and what of them is omitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from multiarch.manifests.kinds import POD_SPECS


@dataclass(frozen=True, slots=True)
class ApiResource:
    """A kind's place in the API: ``group`` is empty for the core group."""

    kind: str
    group: str
    plural: str
    namespaced: bool = True
    version: str = "v1"

    @property
    def api_version(self) -> str:
        """``apps/v1``, ``v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        """Return the path below the server's address of a list (of all namespaces with None) or of one object."""
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        place = f"/namespaces/{_part(namespace)}" if namespace and self.namespaced else ""
        return f"{root}{place}/{self.plural}" + (f"/{_part(name)}" if name else "")


def _part(name: str) -> str:
    # An argument may hold bytes that are not UTF-8; no object has such a name.
    return quote(name, safe="", errors="replace")


PODS = ApiResource("Pod", "", "pods")
DEPLOYMENTS = ApiResource("Deployment", "apps", "deployments")
STATEFUL_SETS = ApiResource("StatefulSet", "apps", "statefulsets")
DAEMON_SETS = ApiResource("DaemonSet", "apps", "daemonsets")
REPLICA_SETS = ApiResource("ReplicaSet", "apps", "replicasets")
REPLICATION_CONTROLLERS = ApiResource("ReplicationController", "", "replicationcontrollers")
JOBS = ApiResource("Job", "batch", "jobs")
CRON_JOBS = ApiResource("CronJob", "batch", "cronjobs")
WORKLOADS = (DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, REPLICA_SETS, REPLICATION_CONTROLLERS, JOBS, CRON_JOBS)
"""What makes pods, in the order in which it is read."""
SERVICE_ACCOUNTS = ApiResource("ServiceAccount", "", "serviceaccounts")
NODES = ApiResource("Node", "", "nodes", namespaced=False)
NAMESPACES = ApiResource("Namespace", "", "namespaces", namespaced=False)
DISRUPTION_BUDGETS = ApiResource("PodDisruptionBudget", "policy", "poddisruptionbudgets")
SECRETS = ApiResource("Secret", "", "secrets")
EVICTIONS = ApiResource("Eviction", "", "pods/eviction")
LOGS = ApiResource("Pod", "", "pods/log")
"""For messages: rules of RBAC name them so."""
NODE_POOLS = ApiResource("NodePool", "karpenter.sh", "nodepools", namespaced=False)
"""Karpenter's and EKS Auto Mode's."""
NODE_CLASSES = ApiResource("EC2NodeClass", "karpenter.k8s.aws", "ec2nodeclasses", namespaced=False)
AUTO_MODE_CLASSES = ApiResource("NodeClass", "eks.amazonaws.com", "nodeclasses", namespaced=False)
CONFIG_MAPS = ApiResource("ConfigMap", "", "configmaps")
REVIEWS = ApiResource("SelfSubjectAccessReview", "authorization.k8s.io", "selfsubjectaccessreviews", namespaced=False)
LEASES = ApiResource("Lease", "coordination.k8s.io", "leases")

JSON = "application/json"
TEXT = "*/*"
METADATA = f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""Formats of an answer; TEXT is a log's, METADATA has the metadata of a list's objects alone."""
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_NOT_OF_CONTAINERS = (
    *("env", "envFrom", "args", "command", "volumeMounts", "volumeDevices", "lifecycle"),
    *("livenessProbe", "readinessProbe", "startupProbe"),
)


def strip_unused_fields(value: dict[str, Any]) -> dict[str, Any]:
    """Take out, in place, fields that are not used and make thousands of pods large.

    Gone are managed fields, the applied configuration, a node's list of images; and of each container its
    environment, commands, probes and mounts, which is also where secrets stand.
    """
    metadata = value.get("metadata") or {}
    metadata.pop("managedFields", None)
    (metadata.get("annotations") or {}).pop(_APPLIED, None)
    if value.get("kind") == NODES.kind:
        (value.get("status") or {}).pop("images", None)
    pod: Any = value
    for step in POD_SPECS.get(str(value.get("kind")), ()):
        pod = pod.get(step) or {}
    for key in _CONTAINERS:
        for container in pod.get(key) or ():
            for part in _NOT_OF_CONTAINERS:
                container.pop(part, None)
    return value
