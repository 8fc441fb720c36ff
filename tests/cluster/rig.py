"""The test rig: a control plane, the sandbox's AWS, the real Karpenter controller and the node bridge, together.

One rig serves many scenarios: ``apply`` pools, ``run_pods``, look, ``reset``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, KubeError, Object, condition, is_true
from sandbox.cluster.programs import ClusterError, Program, Programs, wait_for
from tests.cluster import aws as aws_module
from tests.cluster import karpenter
from tests.cluster.aws import REGION, ZONES, Aws
from tests.cluster.bridge import Bridge
from tests.cluster.karpenter_prices import prices
from tests.cluster.placements import MOST_PODS, REJECTION_STANDS_SECONDS, Placement, Rejected, Watch

KARPENTER_V1 = "karpenter.sh/v1"
NODE_CLASSES = ("karpenter.k8s.aws/v1", "EC2NodeClass")
NODE_POOLS = (KARPENTER_V1, "NodePool")
NODE_CLAIMS = (KARPENTER_V1, "NodeClaim")
WORKLOADS = (
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "CronJob"),
    ("batch/v1", "Job"),
    ("policy/v1", "PodDisruptionBudget"),
)


@dataclass(frozen=True, slots=True)
class Rig:
    """A running rig. ``aws.cluster`` is the cluster's name, ``aws.node_role`` a role that nodes may take."""

    plane: ControlPlane
    aws: Aws
    controller: Program
    bridge: Bridge

    @property
    def kube(self) -> Kube:
        """The API server's client."""
        return self.plane.kube

    def check(self) -> None:
        """Raise ClusterError if a part has broken down."""
        self.controller.still_running()
        self.bridge.still_running()

    def apply(self, objects: Iterable[Mapping[str, Any]], *, timeout: float = 60.0) -> None:
        """Apply objects in their order, then wait until node classes and pools among them are ready.

        The role that a node class names is made if AWS does not have it.

        Raises:
            KubeError: the API server rejects an object; what its rules say is in ``message``.
            ClusterError: Karpenter did not find one ready in time; its conditions say why.
        """
        applied = []
        for item in objects:
            if item["kind"] == "EC2NodeClass" and "role" in item["spec"]:
                self.aws.ensure_node_role(item["spec"]["role"])
            self.kube.apply(item)
            applied.append((item["apiVersion"], item["kind"], item["metadata"]["name"]))
        for api_version, kind, name in applied:
            if (api_version, kind) in (NODE_CLASSES, NODE_POOLS):
                self._wait_ready(api_version, kind, name, timeout)

    def _wait_ready(self, api_version: str, kind: str, name: str, timeout: float) -> None:
        found: Object = {}

        def ready() -> bool:
            nonlocal found
            self.check()
            found = self.kube.get(api_version, kind, name) or {}
            return is_true(found, "Ready")

        try:
            wait_for(ready, f"{kind} {name} to be ready", timeout=timeout)
        except ClusterError as error:
            raise ClusterError(f"{error}: {condition(found, 'Ready')}\n{self.controller.tail()}") from error

    def run_pods(
        self, pods: Iterable[Mapping[str, Any]], *, bound: bool = True, timeout: float = 60.0
    ) -> dict[str, Placement | Rejected]:
        """Create pods and return, sorted by name, what Karpenter planned for each, once all run or are rejected.

        Without ``bound`` it is enough that the planned nodes are launched, which saves half of the time.
        Karpenter takes them by size: CPU, then memory, the largest first; pods of one size that were created within
        a second in an order of its own. A scenario that is to go the same way every time gives them different sizes.

        Raises:
            ValueError: there are more than :data:`placements.MOST_PODS`, or two have one name.
            KubeError: the API server rejects a pod.
            ClusterError: nothing was decided in time; the message holds what is known of each.
        """
        manifests = [{"apiVersion": "v1", "kind": "Pod", **each} for each in pods]
        names = frozenset(
            (each["metadata"].get("namespace") or "default", each["metadata"]["name"]) for each in manifests
        )
        if len({name for _, name in names}) < len(manifests) or len(manifests) > MOST_PODS:
            raise ValueError(f"at most {MOST_PODS} pods, of different names: {sorted(names)}")
        for each in manifests:
            self.kube.create(each)
        return self.placements(names, bound=bound, timeout=timeout)

    def placements(
        self,
        names: Iterable[tuple[str, str]],
        *,
        bound: bool = True,
        stands: float = REJECTION_STANDS_SECONDS,
        timeout: float = 60.0,
    ) -> dict[str, Placement | Rejected]:
        """Wait for pods that exist already, named by namespace and name; see :meth:`run_pods`.

        ``stands``: seconds after which Karpenter's rejection counts, short where it learned of all pods at once.
        """
        watch = Watch(self.kube, frozenset(names), bound, stands)

        def decided() -> dict[str, Placement | Rejected] | None:
            self.check()
            return watch.look()

        try:
            return wait_for(decided, "pods to be placed", timeout=timeout, pause=0.2)
        except ClusterError as error:
            raise ClusterError(f"{error}\n{watch.summary()}\n{self.controller.tail()}") from error

    def lose(self, names: Collection[str]) -> None:
        """Let nodes be gone as after a failure, with their instances, claims and pods; controllers make the pods again.

        What AWS and Karpenter would do in minutes is done at once.
        """
        with self.bridge.held():
            gone = [row["InstanceId"] for row in self.aws.running_instances() if row["PrivateDnsName"] in names]
            self.aws.client("ec2").terminate_instances(InstanceIds=gone)
            for kind in (NODE_CLAIMS, ("v1", "Node")):
                self._delete_all(kind, force=True, names=names)
            self._delete_all(("v1", "Pod"), namespaces=True, names=names)

    def nodes(self) -> list[str]:
        """Names of all Nodes, sorted."""
        return [item["metadata"]["name"] for item in self.kube.list("v1", "Node")]

    def reset(self, *, keep_pools: bool = False, timeout: float = 30.0) -> None:
        """Take away all workloads, pools, node classes, nodes and instances; what is left is a rig as good as new.

        With ``keep_pools`` pools and node classes stay, for more scenarios with the same ones.

        It is not graceful (instances are terminated under Karpenter's hands, finalizers of its claims and nodes
        are taken off), because it is no test of deletion. What the controller keeps in memory stays: after an
        interruption it avoids that instance type in that zone as spot for three minutes.

        Raises:
            ClusterError: something would not go.
        """
        self.check()
        with self.bridge.held():
            for kind in WORKLOADS:
                self._delete_all(kind, namespaces=True)
            kept = (NODE_POOLS, NODE_CLASSES) if keep_pools else ()
            if not kept:
                self._delete_all(NODE_POOLS)
                self._delete_all(NODE_CLASSES)
            self._empty(timeout, kept)
            # The API server reads all events of a cluster whenever some of them are listed.
            self.kube.request("DELETE", "/api/v1/namespaces/default/events")

    def _empty(self, timeout: float, kept: Collection[tuple[str, str]]) -> None:
        kinds = (NODE_CLAIMS, ("v1", "Node"), NODE_POOLS, NODE_CLASSES, ("v1", "Pod"))

        def gone() -> bool:
            self.check()
            self._delete_all(("v1", "Pod"), namespaces=True)
            instances = [row["InstanceId"] for row in self.aws.running_instances()]
            if instances:
                self.aws.client("ec2").terminate_instances(InstanceIds=instances)
            for kind in (NODE_CLAIMS, ("v1", "Node")):
                self._delete_all(kind, force=True)
            return not instances and not any(self.kube.list(*kind) for kind in kinds if kind not in kept)

        wait_for(gone, "the rig to be empty", timeout=timeout, pause=0.2)

    def _delete_all(
        self,
        kind: tuple[str, str],
        *,
        namespaces: bool = False,
        force: bool = False,
        names: Collection[str] | None = None,
    ) -> None:
        """Delete all objects of a kind; with ``names`` those that are, or belong to, nodes of these names."""
        for item in self.kube.list(*kind):
            node = item.get("status", {}).get("nodeName") or item.get("spec", {}).get("nodeName")
            if names is not None and not {node, item["metadata"]["name"]} & set(names):
                continue
            named = {"apiVersion": kind[0], "kind": kind[1], **item}
            if "deletionTimestamp" not in item["metadata"] or namespaces:
                self.kube.delete(named, grace=0)
            if force and item["metadata"].get("finalizers"):
                with contextlib.suppress(KubeError):  # gone meanwhile
                    self.kube.patch(named, {"metadata": {"finalizers": None}})


@contextlib.contextmanager
def running(programs: Programs, plane: ControlPlane, *, cluster: str = "rig") -> Iterator[Rig]:
    """Complete a control plane to a rig; leaving it ends the bridge, the programs are ended by their owner."""
    karpenter.install_crds(plane.kube)
    aws = aws_module.start(programs, plane, cluster=cluster)
    spot = prices(REGION, ZONES).spot
    aws.controls.set_spot_prices({name: {zone: str(each) for zone, each in spot[name].items()} for name in spot})
    controller = karpenter.start(programs, plane, aws)
    with Bridge(plane.kube, aws).running() as bridge:
        yield Rig(plane, aws, controller, bridge)
