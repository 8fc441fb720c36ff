"""What ``verify nodes`` reads. A source that fails is missing with its reason; the others are still compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from multiarch.aws_errors import translate_failures
from multiarch.errors import MultiarchError, OutsideError
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.errors import ConflictError, KubeconfigError
from multiarch.kubernetes.resources import DEPLOYMENTS, NODE_POOLS, NODES
from multiarch.kubernetes.source import ClusterAccess
from multiarch.observed.eks.inside import CLUSTER_AUTOSCALER, read_running
from multiarch.observed.images import Progress, ignore_progress
from multiarch.observed.nodes import ObservedNode, list_omission_notes, read_nodes
from multiarch.rules import Finding
from multiarch.ssm.model import InstanceAnswer
from multiarch.stack.model import ExistingClusterPlan, Plan
from multiarch.verify.nodes.autoscaler import judge_autoscaler, judge_weights
from multiarch.verify.nodes.boot import find_boot_fault
from multiarch.verify.nodes.instances import (
    find_instances,
    get_console_output,
    get_kubernetes_version,
    with_images,
    with_scaling_groups,
)
from multiarch.verify.nodes.join import list_not_joined
from multiarch.verify.nodes.model import BootFault, Instance, NodeReadings
from multiarch.verify.nodes.planned import list_clusters, list_planned_groups
from multiarch.verify.nodes.taints import TaintFix, with_fixes
from multiarch.verify.on_node.collect import collect_reports
from multiarch.verify.on_node.model import NodeReport

Result = TypeVar("Result")
OpenClient = Callable[..., Any]
"""Opens a client of an AWS service, in ``region``; ``region_key`` names what sets the region, for an error."""
_CONSOLES = 20
"""Instances whose console output is read: one request each."""


@dataclass(slots=True)
class NodeSourceReader:
    """Reads the sources one after another.

    ``plan`` None: a cluster without a stack, whose name is ``cluster``. ``failed`` names the sources that could not be
    read, by the reason; ``notes`` say what else there is to know.
    """

    cluster: str
    plan: Plan | None
    open_client: OpenClient
    access: ClusterAccess
    ssm: bool = True
    join_minutes: float = 10.0
    deadline: float = 300.0
    progress: Progress = ignore_progress
    notes: list[str] = field(default_factory=list)
    failed: dict[str, list[str]] = field(default_factory=dict)
    _clients: dict[str, Any] = field(default_factory=dict)

    def read(self) -> NodeReadings:
        """Read everything.

        Raises MultiarchError for a cluster that does not exist, and if neither instances nor Nodes could be read.
        """
        plan, region = self.plan, str(self._client("ec2").meta.region_name)
        eks = self._client("eks")
        version = self._try("the cluster at EKS", lambda: get_kubernetes_version(eks, self.cluster, region=region))
        nodes = self._try("the Nodes", lambda: self._nodes(region))
        instances = self._instances(nodes or ())
        if nodes is None and instances is None:
            raise OutsideError(f"Nothing is known about the nodes of {self.cluster}. {' '.join(self._notes())}")
        if instances is not None:
            self._check_same_cluster(nodes or (), instances)
        sources = NodeReadings(
            cluster=self.cluster,
            planned=None if plan is None else list_planned_groups(plan),
            instances=instances,
            nodes=nodes,
            on_node=self._on_node(nodes or (), instances),
            now=datetime.now(tz=UTC),
            kubernetes_version=version or (plan.cluster.version if plan else ""),
            region=region,
            arm64_taint=plan.arm64_taint if plan else None,
            join_minutes=self.join_minutes,
            others=plan is not None and isinstance(plan.cluster, ExistingClusterPlan),
        )
        findings = (
            *(self._try("the cluster autoscaler", lambda: self._judge_autoscaler(region)) or ()),
            *(self._try("the NodePools", lambda: self._judge_weights(region)) or ()),
        )
        return replace(sources, boot=self._boot(sources), findings=findings, notes=self._notes())

    def _try(self, what: str, work: Callable[[], Result]) -> Result | None:
        """Return the result; None if AWS or the cluster does not give it: :meth:`_notes` says why."""
        try:
            with translate_failures():
                return work()
        except OutsideError as error:
            self.failed.setdefault(str(error), []).append(what)
            return None

    def _notes(self) -> tuple[str, ...]:
        """Return the notes, each reason once."""
        unread = (f"Not read: {', '.join(what)}. {why}" for why, what in self.failed.items())
        return (*unread, *self.notes)

    def _client(self, service: str) -> Any:  # noqa: ANN401  (boto3 is untyped)
        if service not in self._clients:
            key = "aws:region in the stack file" if self.plan else "AWS_REGION"
            region = self.plan.region if self.plan else None
            self._clients[service] = self.open_client(service, region=region, region_key=key)
        return self._clients[service]

    def _judge_autoscaler(self, region: str) -> tuple[Finding, ...]:
        """Judge the flags of an autoscaler that the cluster had before the stack."""
        plan = self.plan.autoscaling.cluster_autoscaler if self.plan else None
        if plan is None or not plan.settings.installed:
            return ()
        with self._open(region) as cluster:
            found = read_running(cluster, cluster.objects([DEPLOYMENTS]), CLUSTER_AUTOSCALER)
        return tuple(judge_autoscaler(found, plan, self.cluster))

    def _judge_weights(self, region: str) -> tuple[Finding, ...]:
        """Judge the weights of NodePools that the cluster had before the stack."""
        plan = self.plan
        if plan is None or not plan.autoscaling.pools or not isinstance(plan.cluster, ExistingClusterPlan):
            return ()
        with self._open(region) as cluster:
            return tuple(judge_weights(cluster.list_custom(NODE_POOLS), plan.autoscaling))

    def _nodes(self, region: str) -> tuple[ObservedNode, ...]:
        with self._open(region) as cluster:
            nodes, omitted = read_nodes(cluster.objects([NODES]))
        self.notes += list_omission_notes(omitted)
        return nodes

    def _open(self, region: str) -> KubernetesCluster:
        try:
            return KubernetesCluster(self.access)
        except KubeconfigError as error:
            if self.access.kubeconfig or self.access.context:
                raise
            get = f"`aws eks update-kubeconfig --name {self.cluster} --region {region}`"
            raise OutsideError(error.message, hint=f"Get a kubeconfig with {get}.") from error

    def _instances(self, nodes: Iterable[ObservedNode]) -> tuple[Instance, ...] | None:
        ec2 = self._client("ec2")
        identifiers = [node.instance for node in nodes if node.instance]
        found = self._try("the instances", lambda: find_instances(ec2, self.cluster, identifiers))
        if not found:
            return found
        bare, autoscaling = found, self._client("autoscaling")
        named = self._try("the AMIs", lambda: with_images(ec2, bare)) or bare
        members = self._try("the Auto Scaling Groups", lambda: with_scaling_groups(autoscaling, named))
        return members or named

    def _check_same_cluster(self, nodes: Iterable[ObservedNode], instances: Iterable[Instance]) -> None:
        """Raise MultiarchError if the kubeconfig's context is of another cluster."""
        named = {node.instance for node in nodes if node.instance}
        clusters = {each.id: list_clusters(each.tags) for each in instances}
        own = {identifier for identifier, names in clusters.items() if self.cluster in names}
        others = sorted({name for identifier in named for name in clusters.get(identifier, ())})
        if not named or named & own or not (own or others or not named & set(clusters)):
            return
        of = (
            f"of {', '.join(others)}"
            if others
            else "of another cluster, or AWS was queried in another account or region"
        )
        raise MultiarchError(
            f"None of the {len(named)} Nodes is one of the {len(own)} instances of {self.cluster}: the kubeconfig's "
            f"context is {of}.",
            hint="Give the cluster's context with --context, and its account with --profile.",
        )

    def _on_node(
        self, nodes: Iterable[ObservedNode], instances: tuple[Instance, ...] | None
    ) -> Mapping[str, NodeReport | InstanceAnswer] | None:
        if not self.ssm:
            self.notes.append("Not read: the nodes themselves, because of --no-ssm.")
            return None
        if instances is None:
            wanted = sorted({node.instance for node in nodes if node.instance and not node.auto_mode})
        else:
            wanted = [each.id for each in instances if each.running and not each.auto_mode]
        if not wanted:
            return {}
        ask = partial(collect_reports, self._client("ssm"), wanted, deadline=self.deadline, progress=self.progress)
        return self._try("the nodes themselves", ask)

    def _boot(self, sources: NodeReadings) -> dict[str, BootFault]:
        """Return why instances did not join, by their ID: their boot log says it, or their console."""
        found: dict[str, BootFault] = {}
        silent, ec2 = [], self._client("ec2")
        for instance in list_not_joined(sources):
            report = (sources.on_node or {}).get(instance.id)
            if isinstance(report, NodeReport) and report.boot_log:
                found[instance.id] = find_boot_fault("\n".join(report.boot_log), source="its boot log")
            else:
                silent.append(instance.id)
        if len(silent) > _CONSOLES:
            self.notes.append(f"The console output of {_CONSOLES} of {len(silent)} instances was read.")
        for identifier in silent[:_CONSOLES]:
            text = self._try(f"the console output of {identifier}", partial(get_console_output, ec2, identifier))
            if text is None:
                break
            found[identifier] = find_boot_fault(text, source="its console output")
        return found


def add_taints(
    sources: NodeReadings, fixes: Sequence[TaintFix], access: ClusterAccess, say: Callable[[str], None]
) -> NodeReadings:
    """Add taints to Nodes, and say what is done; return the sources with them.

    Raises MultiarchError if the first Node can't be changed.
    """
    done = []
    with KubernetesCluster(access) as cluster:
        for fix in fixes:
            try:
                cluster.patch(NODES, None, fix.node.name, fix.operations)
            except ConflictError as error:
                say(f"error: {error}")
                continue
            done.append(fix)
            say(f"Added {', '.join(map(str, fix.taints))} to {fix.node.name}.")
    return with_fixes(sources, done)
