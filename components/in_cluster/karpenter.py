"""Karpenter: CRDs, controller, what they need in AWS, and what Karpenter may launch: EC2NodeClass and NodePools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
from pulumi_aws import ec2, iam

from multiarch.autoscaling.karpenter import build_discovery_tags, build_node_class, build_node_pool
from multiarch.autoscaling.model import KarpenterPlan
from multiarch.facts import labels
from multiarch.facts.autoscalers import PUBLIC_REGISTRY
from multiarch.facts.taints import Taint
from multiarch.nodes.model import CLUSTER_TAG

from ..aws.interruption_queue import InterruptionQueue
from ..component import After, Component
from ..iam.karpenter_role import SERVICE_ACCOUNT, KarpenterRole
from ..iam.node_role import NodeRole
from ..kubernetes_api import DRAIN_WITHIN, Chart, ChildInCluster, InCluster, Manifest, system_tolerations

NAME = "karpenter"
CRDS = "karpenter-crd"
REGISTRY = f"{PUBLIC_REGISTRY}/karpenter"


@dataclass(frozen=True, slots=True)
class KarpenterArgs:
    """``controller_group`` is the EKS name of the managed node group that the controller runs on.

    ``controller_taints`` are the taints that the controller must tolerate: the group's, and the one of arm64 nodes.
    ``node_policies`` are policies of the nodes' role, by name. ``subnet_ids`` replace the subnets of the plan.
    ``successor`` is the autoscaler that replaces Karpenter, or None. With ``security_group_ids`` nothing of the cluster
    is tagged: Karpenter finds the groups by their IDs.
    """

    plan: KarpenterPlan
    controller_group: pulumi.Input[str]
    controller_taints: Sequence[Taint]
    security_group_id: pulumi.Input[str]
    security_group_ids: Sequence[pulumi.Input[str]] = ()
    takes_access_entries: bool = True
    node_policies: Mapping[str, pulumi.Output[str]] = field(default_factory=dict)
    successor: pulumi.Input[pulumi.Resource] | None = None
    subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None


class Karpenter(ChildInCluster):
    """Karpenter and the capacity that it may buy.

    Created as CRDs → controller → EC2NodeClass → NodePools, and deleted in the reverse order: Karpenter must terminate
    its nodes, and without it objects with its finalizers would block the deletion of their CRDs.
    """

    nodes: NodeRole

    def __init__(self, name: str, owner: Component, cluster: InCluster, args: KarpenterArgs) -> None:
        """Declare everything."""
        super().__init__(name, owner, cluster)
        entries = args.takes_access_entries
        isolated = args.plan.isolated
        self.nodes = nodes = NodeRole(
            "karpenter-nodes",
            self,
            cluster.cluster_name,
            None,
            args.node_policies,
            takes_access_entries=entries,
            with_profile=isolated,
        )
        queue = InterruptionQueue("interruption-queue", self, args.plan.queue)
        role = KarpenterRole(NAME, self, cluster, nodes.role_arn, queue.arn, isolated=isolated)
        controller = self._charts(args, queue, role)
        tags = [] if args.security_group_ids else self._tag_security_group(args)
        ready: After = (controller, *nodes.ready, *tags)
        NodePools("node-pools", self, cluster, args, nodes.role_name, ready, nodes.instance_profile)
        self.register_outputs({"chartVersion": args.plan.chart_version, "queue": queue.name})

    def _charts(
        self, args: KarpenterArgs, queue: InterruptionQueue, role: KarpenterRole
    ) -> pulumi.Output[pulumi.Resource]:
        """Declare both releases.

        CRDs have a separate chart, because Helm never updates a chart's folder ``crds``. Both charts have the same
        version, and the CRDs are upgraded first, so that the controller never meets older CRDs.
        Source: https://karpenter.sh/docs/upgrading/upgrade-guide/#crd-upgrades
        """
        version = args.plan.chart_version
        crds = self.declare_release(CRDS, Chart(f"{REGISTRY}/{CRDS}", version), {})
        return self.declare_release(
            NAME,
            Chart(f"{REGISTRY}/{NAME}", version, skip_crds=True),
            self._values(args, queue),
            after=(crds, *self.cluster.ready, *role.ready, *queue.resources),
        )

    def _values(self, args: KarpenterArgs, queue: InterruptionQueue) -> Manifest:
        """Return the controller chart's values where they differ from its defaults.

        The interruption queue is named by its name, not its ARN or URL: with a wrong key or value Karpenter would start
        and ignore interruptions. Source: the chart's values.yaml.
        """
        # Its node group, and never the nodes that it manages.
        on = [
            {"key": labels.KARPENTER_NODE_POOL, "operator": "DoesNotExist"},
            {"key": labels.EKS_NODE_GROUP, "operator": "In", "values": [args.controller_group]},
        ]
        # The chart's default since 1.6.
        gate = {"reservedCapacity": True} if args.plan.node_class.capacity_reservations else {}
        spread = {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
        # With custom networking no pod is on the primary interface, which Karpenter would count.
        reserved = {"reservedENIs": "1"} if args.plan.node_class.custom_networking else {}
        return {
            "settings": {
                "clusterName": self.naming.cluster,
                "interruptionQueue": queue.name,
                "eksControlPlane": True,
                **({"isolatedVPC": True} if args.plan.isolated else {}),
                "featureGates": {"spotToSpotConsolidation": args.plan.settings.spot_to_spot_consolidation, **gate},
                **reserved,
            },
            "serviceAccount": {"create": True, "name": SERVICE_ACCOUNT},
            "replicas": 2,
            "podDisruptionBudget": {"name": NAME, "maxUnavailable": 1},
            "priorityClassName": "system-cluster-critical",
            # The node's resolver: coredns may wait for a node that only Karpenter can add.
            "dnsPolicy": "Default",
            "tolerations": system_tolerations(args.controller_taints),
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": on}]}
                },
                # The chart's default would leave the second pod pending while the group has one node.
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []},
            },
            "serviceMonitor": {"enabled": args.plan.settings.service_monitor},
            "topologySpreadConstraints": [
                {**spread, "topologyKey": labels.ZONE},
                {**spread, "topologyKey": labels.HOSTNAME},
            ],
            # The memory limit equals the request, so that a full node does not evict the pod.
            "controller": {
                "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "1Gi"}},
                **({"image": image} if (image := self.cluster.choose_image(NAME)) else {}),
            },
        }

    def _tag_security_group(self, args: KarpenterArgs) -> list[pulumi.Resource]:
        """Tag the security group that EKS created, which the stack does not manage otherwise."""
        return [
            ec2.Tag(
                f"cluster-security-group-{key}",
                resource_id=args.security_group_id,
                key=key,
                value=value,
                opts=self.child(),
            )
            for key, value in build_discovery_tags(self.naming.cluster)
        ]


class NodePools(ChildInCluster):
    """An EC2NodeClass and its NodePools. The pools are deleted first: the class waits until it has no nodes."""

    def __init__(
        self,
        name: str,
        owner: Component,
        cluster: InCluster,
        args: KarpenterArgs,
        role: pulumi.Input[str],
        ready: After,
        profile: iam.InstanceProfile | None = None,
    ) -> None:
        """Declare class and pools; ``role`` is the name of the role that nodes run under, ``profile`` one that has it.

        ``ready`` must exist before the first node is launched and until the last one is gone: controller, permissions,
        and the tags by which Karpenter finds subnets and the security group. The autoscaler that replaces Karpenter
        must exist before a migration closes the pools, so that one autoscaler can always add nodes.
        """
        super().__init__(name, owner, cluster)
        plan = args.plan
        closed_after = [args.successor] if args.successor else []
        # Karpenter adds further tags: NodePool, NodeClaim, and the node's name as ``Name``.
        manifest: dict[str, Any] = build_node_class(
            plan.node_class,
            cluster=self.naming.cluster,
            role=role,
            tags=tuple(sorted((*self.naming.tags, (CLUSTER_TAG, self.naming.cluster)))),
            security_groups=args.security_group_ids,
            instance_profile=profile.name if profile else None,
        )
        if args.subnet_ids is not None:
            subnets = pulumi.Output.from_input(args.subnet_ids)
            terms = subnets.apply(lambda ids: [{"id": each} for each in ids])
            manifest["spec"]["subnetSelectorTerms"] = terms
        node_class = self.declare_object(plan.node_class.name, manifest, ready, DRAIN_WITHIN)
        for pool in plan.pools:
            self.declare_object(pool.name, build_node_pool(pool), [node_class, *closed_after], DRAIN_WITHIN)
        self.register_outputs({"nodePools": [pool.name for pool in plan.pools]})
