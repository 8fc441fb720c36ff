"""The platform of one stack, in the order of its creation; it is deleted in the reverse order.

network, key, log groups → cluster → vpc-cni, kube-proxy, Pod Identity agent → node groups → coredns, EBS CSI driver
→ StorageClass, termination handler, admission webhook, rebalancing, cluster autoscaler, Karpenter (CRDs → controller
→ EC2NodeClass → NodePools)

Add-ons whose pods run on nodes, and everything in the cluster, are deleted before the nodes, so that no deletion
waits for a pod without a node; Karpenter's nodes are deleted while its controller can terminate them and remove the
finalizers that its CRDs would wait for; node groups while their roles, routes and pod network still exist, so that
nodes can drain; the log group after the cluster, which would create it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pulumi
import pulumi_kubernetes as kubernetes

from multiarch.autoscaling.karpenter import discovery_tags
from multiarch.autoscaling.model import KarpenterPlan
from multiarch.nodes.model import CLUSTER_TAG, NodeGroupKind, NodeGroupPlan, Tags
from multiarch.schema.network import FlowLogs as FlowLogsSettings
from multiarch.stack.model import NewNetwork, Plan

from . import access, policies
from .account import Account, look_up
from .addons import Addons
from .admission_webhook import AdmissionWebhook
from .cluster_autoscaler import ClusterAutoscaler
from .component import Component, InCluster, Naming
from .control_plane import ControlPlane, ControlPlaneArgs, control_plane_log_group
from .encryption import Encryption
from .flow_logs import FlowLogs, flow_log_group
from .karpenter import Karpenter, KarpenterArgs
from .network import Network, NetworkArgs
from .node_group import NodeGroup, NodeGroupArgs, required
from .node_role import NodeRole, NodeRoleArgs
from .outputs import NodeGroupOutput
from .rebalance import Rebalance
from .session import Session
from .storage_class import DefaultStorageClass
from .termination_handler import TerminationHandler

__all__ = ["Platform", "PlatformArgs"]


@dataclass(frozen=True, slots=True)
class PlatformArgs:
    """The plan of the stack."""

    plan: Plan


class Platform(Component):
    """A network, an EKS cluster with node groups and add-ons, and access to both."""

    network: Network
    control_plane: ControlPlane
    kubeconfig: pulumi.Output[str]
    node_groups: dict[str, NodeGroupOutput]
    sessions: dict[str, pulumi.Output[str]]
    session_policy: pulumi.Output[str]

    def __init__(self, name: str, args: PlatformArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Declare everything."""
        plan = args.plan
        super().__init__("Platform", name, Naming(plan.cluster.name, plan.tags), opts)
        self._plan = plan
        account = look_up(self)
        self.network = network = Network(
            "network",
            NetworkArgs(
                naming=self.naming,
                account=account,
                plan=plan.network,
                node_tags=self._discovery(),
            ),
            opts=self.child("network"),
        )
        encryption = self._encryption(account)
        self._session_key = encryption.key_arn if plan.session.settings.encrypt else None
        self._flow_logs(account, network, encryption)
        session = Session(
            "session",
            self.naming,
            plan.session,
            encryption.key_arn,
            opts=self.child("session"),
        )
        self.control_plane = ControlPlane(
            "control-plane",
            ControlPlaneArgs(
                plan=plan.cluster,
                naming=self.naming,
                account=account,
                vpc_id=network.vpc_id,
                subnet_ids=network.private_subnet_ids,
                key_arn=encryption.key_arn,
            ),
            opts=self.child("control-plane"),
        )
        self.kubeconfig = pulumi.Output.all(self.control_plane.facts, account.region).apply(
            lambda known: access.kubeconfig(known[0], known[1], plan.identity)
        )
        early = self._addons("addons-before-nodes", account, before_nodes=True, ready=())
        roles = self._roles(account)
        ready = (*network.ready, *session.ready, *early.resources)
        groups = {group.name: self._node_group(group, network, roles[group.kind], ready) for group in plan.node_groups}
        nodes = [resource for group in groups.values() for resource in group.resources]
        late = self._addons("addons-after-nodes", account, before_nodes=False, ready=nodes)
        self._in_the_cluster(account, groups, (*nodes, *late.resources))
        self.node_groups = {name: group.output for name, group in groups.items()}
        known = pulumi.Output.all(session.document_name, account.region)
        self.sessions = {
            group.name: known.apply(partial(_session, plan.cluster.name, group.name)) for group in plan.node_groups
        }
        self.session_policy = policies.people_sessions(
            account,
            cluster=plan.cluster.name,
            tag=CLUSTER_TAG,
            document_name=plan.session.document_name,
            key_arn=self._session_key,
        )
        self.register_outputs({"kubeconfig": self.kubeconfig})

    def exports(self) -> dict[str, pulumi.Input[object]]:
        """The stack's outputs, by name. None is secret: the kubeconfig holds no token."""
        return {
            "cluster": {"name": self.control_plane.name, "version": self.control_plane.version},
            "kubeconfig": self.kubeconfig,
            "nodeGroups": self.node_groups,
            "sessionPolicy": self.session_policy,
            "sessions": self.sessions,
            # Without file and line, which change with every comment in the file.
            "warnings": [str(replace(warning, file=None, line=None)) for warning in self._plan.warnings],
        }

    def _flow_logs(self, account: Account, network: Network, encryption: Encryption) -> None:
        if not (flow_logs := self._flow_logs_plan):
            return
        FlowLogs(
            "flow-logs",
            self.naming,
            account,
            flow_logs,
            network.vpc_id,
            encryption.key_arn,
            opts=self.child("flow-logs"),
        )

    @property
    def _flow_logs_plan(self) -> FlowLogsSettings | None:
        network = self._plan.network
        return network.flow_logs if isinstance(network, NewNetwork) else None

    def _encryption(self, account: Account) -> Encryption:
        plan = self._plan
        groups = [
            *([flow_log_group(plan.cluster.name)] if self._flow_logs_plan else []),
            *([control_plane_log_group(plan.cluster.name)] if plan.cluster.logging.types else []),
            *([plan.session.log_group_name] if plan.session.log_group_name else []),
        ]
        return Encryption(
            "encryption",
            self.naming,
            account,
            groups,
            self.child("encryption", protect=plan.cluster.deletion_protection),
            keep_long=plan.cluster.deletion_protection,
        )

    def _addons(self, name: str, account: Account, *, before_nodes: bool, ready: Sequence[pulumi.Resource]) -> Addons:
        plan = self._plan
        return Addons(
            name,
            [addon for addon in plan.addons if addon.before_nodes is before_nodes],
            self.control_plane.name,
            self.naming,
            account,
            ready,
            # With only EKS's deletion protection a destroy would delete the nodes before it is refused. These add-ons
            # are deleted before the nodes, and are updated in place.
            opts=self.child(name, protect=plan.cluster.deletion_protection and not before_nodes),
        )

    def _roles(self, account: Account) -> dict[NodeGroupKind, NodeRole]:
        """One role for each kind of node group in the plan."""
        plan = self._plan
        kinds = sorted({group.kind for group in plan.node_groups})
        return {
            kind: NodeRole(
                f"{kind}-nodes",
                NodeRoleArgs(
                    cluster_name=self.control_plane.name,
                    naming=self.naming,
                    account=account,
                    kind=kind,
                    session_log_group=plan.session.log_group_name,
                    session_key_arn=self._session_key,
                ),
                opts=self.child(f"{kind}-nodes"),
            )
            for kind in kinds
        }

    def _node_group(
        self, group: NodeGroupPlan, network: Network, role: NodeRole, ready: Sequence[pulumi.Resource]
    ) -> NodeGroup:
        plan, autoscaler = self._plan, self._plan.autoscaling.cluster_autoscaler
        return NodeGroup(
            group.name,
            NodeGroupArgs(
                plan=group,
                cluster_name=self.control_plane.name,
                kubernetes_version=plan.cluster.version,
                naming=self.naming,
                facts=self.control_plane.facts,
                security_group_id=self.control_plane.security_group_id,
                role=role,
                subnet_ids=network.subnets_of(group),
                ready=ready,
                autoscaler_tags=dict(autoscaler.tags).get(group.name, ()) if autoscaler else (),
            ),
            opts=self.child(group.name),
        )

    def _in_the_cluster(
        self, account: Account, groups: Mapping[str, NodeGroup], ready: Sequence[pulumi.Resource]
    ) -> None:
        """Declare what needs the Kubernetes API; ``ready`` are nodes and add-ons."""
        plan = self._plan
        autoscaler, karpenter = plan.autoscaling.cluster_autoscaler, plan.autoscaling.karpenter
        wanted = (plan.storage_class, plan.termination_handler, plan.admission_webhook, plan.rebalance)
        if not (any(wanted) or autoscaler or karpenter):
            return
        cluster = InCluster(
            cluster_name=self.control_plane.name,
            naming=self.naming,
            account=account,
            provider=kubernetes.Provider("cluster", kubeconfig=self.kubeconfig, opts=self.child("cluster")),
            ready=ready,
        )
        if plan.storage_class:
            DefaultStorageClass("storage-class", cluster, opts=self.child("storage-class"))
        if plan.termination_handler:
            own = [group.name for group in plan.node_groups if group.kind is NodeGroupKind.SELF_MANAGED]
            scaling_groups = {name: groups[name].auto_scaling_group.apply(required) for name in own}
            TerminationHandler("termination-handler", scaling_groups, cluster, opts=self.child("termination-handler"))
        if plan.admission_webhook:
            AdmissionWebhook("admission-webhook", plan.admission_webhook, cluster, opts=self.child("admission-webhook"))
        if plan.rebalance:
            Rebalance("rebalance", plan, cluster, opts=self.child("rebalance"))
        release = None
        if autoscaler:
            opts = self.child("cluster-autoscaler")
            release = ClusterAutoscaler("cluster-autoscaler", autoscaler, plan.arm64_taint, cluster, opts).release
        if karpenter:
            successor = release if karpenter.cordoned else None
            self._karpenter(karpenter, cluster, groups[karpenter.controller_group], successor)

    def _karpenter(
        self,
        karpenter: KarpenterPlan,
        cluster: InCluster,
        controller_group: NodeGroup,
        successor: pulumi.Resource | None,
    ) -> None:
        plan = self._plan
        Karpenter(
            "karpenter",
            KarpenterArgs(
                plan=karpenter,
                cluster=cluster,
                arm64_taint=plan.arm64_taint,
                controller_group=controller_group.eks_name,
                controller_taints=controller_group.plan.taints,
                security_group_id=self.control_plane.security_group_id,
                discovery=self._discovery(),
                session_log_group=plan.session.log_group_name,
                session_key_arn=self._session_key,
                successor=successor,
            ),
            opts=self.child("karpenter"),
        )

    def _discovery(self) -> Tags:
        """The tags by which Karpenter finds subnets and security groups; none without Karpenter."""
        return discovery_tags(self._plan.cluster.name) if self._plan.autoscaling.karpenter else ()


def _session(cluster: str, group: str, known: Sequence[str]) -> str:
    """The shell command for one group; ``known`` is the session document's name and the region."""
    document, region = known
    return access.session_command(cluster=cluster, group=group, document=document, region=region)
