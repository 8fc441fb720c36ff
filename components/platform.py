"""The platform of one stack, in the order of its creation; it is deleted in the reverse order.

network, key, log groups → cluster → vpc-cni, kube-proxy, Pod Identity agent → node groups → coredns, EBS CSI driver
→ Auto Mode's NodeClass → NodePools, StorageClass, termination handler, device plugin, admission webhook,
rebalancing, cluster autoscaler, Karpenter (CRDs → controller → EC2NodeClass → NodePools)

Add-ons of the stack's own choice come after the nodes, or Auto Mode's NodePools; nothing waits for them.

Add-ons whose pods run on nodes, and everything in the cluster, are deleted before the nodes, so that no deletion
waits for a pod without a node; Karpenter's nodes are deleted while its controller can terminate them and remove the
finalizers that its CRDs would wait for; node groups while their roles, routes and pod network still exist, so that
nodes can drain; the log group after the cluster, which would create it again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pulumi
import pulumi_kubernetes as kubernetes

from multiarch.autoscaling.karpenter import build_discovery_tags
from multiarch.autoscaling.model import KarpenterPlan
from multiarch.nodes.model import NodeGroupKind, NodeGroupPlan
from multiarch.stack.identity import format_kubeconfig
from multiarch.stack.model import AddonPlan, ClusterPlan, ExistingClusterPlan, NewNetwork, Plan

from .aws.addons import Addons
from .aws.control_plane import ControlPlane
from .aws.encryption import Encryption
from .aws.existing_control_plane import ExistingControlPlane
from .aws.fargate import Fargate
from .aws.flow_logs import FlowLogs, flow_log_group
from .aws.network import Network
from .aws.node_group import NodeGroup, NodeGroupArgs, required
from .aws.session import Session
from .component import After, Component, Naming
from .iam import access, policies
from .iam.node_role import NodeRole, declare_profile
from .iam.service_accounts import ServiceAccounts
from .in_cluster.admission_webhook import AdmissionWebhook
from .in_cluster.auto_mode import AutoMode
from .in_cluster.cluster_autoscaler import ClusterAutoscaler, Priorities
from .in_cluster.device_plugin import DevicePlugin
from .in_cluster.karpenter import Karpenter, KarpenterArgs, NodePools
from .in_cluster.rebalance import Rebalance
from .in_cluster.storage_class import DefaultStorageClass
from .in_cluster.termination_handler import TerminationHandler
from .kubernetes_api import InCluster, make_look_ahead, wait_for_api
from .outputs import NodeGroupOutput

__all__ = ["Platform", "PlatformArgs"]


@dataclass(frozen=True, slots=True)
class PlatformArgs:
    """The plan of the stack.

    ``look_ahead``: before the first object in an existing cluster, look for what would stop the run.
    """

    plan: Plan
    look_ahead: bool = False


class Platform(Component):
    """A network, an EKS cluster with node groups and add-ons, and access to both."""

    network: Network
    control_plane: ControlPlane | ExistingControlPlane
    kubeconfig: pulumi.Output[str]
    node_groups: dict[str, NodeGroupOutput]
    sessions: dict[str, pulumi.Output[str]]
    session_policy: pulumi.Output[str]

    def __init__(self, name: str, args: PlatformArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Declare everything."""
        plan = args.plan
        super().__init__(name, Naming(plan.cluster.name, plan.tags, plan.iam), opts)
        self._plan, self._look_ahead = plan, args.look_ahead
        cluster = plan.cluster
        session = self._existing(cluster) if isinstance(cluster, ExistingClusterPlan) else self._new(cluster)
        network = self.network
        self.kubeconfig = pulumi.Output.all(self.control_plane.facts, self.account.region).apply(
            lambda known: format_kubeconfig(known[0], known[1], plan.identity)
        )
        early = self._addons("addons-before-nodes", [each for each in plan.addons if each.before_nodes], ())
        roles = self._roles()
        self._node_roles = [*roles.values()]
        ready = (*network.ready, *session.ready, *early)
        groups = {group.name: self._node_group(group, network, roles[group.kind], ready) for group in plan.node_groups}
        nodes = [resource for group in groups.values() for resource in group.resources]
        after = [each for each in plan.addons if not each.before_nodes]
        late = self._addons("addons-after-nodes", [each for each in after if not each.extra], nodes)
        # Nodes of EKS Auto Mode need the network, and no node group.
        pools = self._in_the_cluster(groups, network, (*nodes, *late) or ready)
        if extra := [each for each in after if each.extra]:
            self._addons("addons-extra", extra, nodes or pools)
        if plan.fargate_profiles:
            Fargate("fargate", self, plan.fargate_profiles, self.control_plane.name, network.private_subnet_ids, ready)
        self._pod_roles = self._declare_pod_roles()
        self.node_groups = {name: group.output for name, group in groups.items()}
        known = pulumi.Output.all(session.document_name, self.account.region)
        self.sessions = {
            group.name: known.apply(partial(access.session_command, plan.cluster.name, group.name))
            for group in plan.node_groups
        }
        self.session_policy = policies.people_sessions(
            self.account,
            cluster=plan.cluster.name,
            document_name=plan.session.document_name,
            key_arn=self._session_key,
        )
        self.register_outputs({"kubeconfig": self.kubeconfig})

    def _new(self, cluster: ClusterPlan) -> Session:
        """Declare network, encryption, sessions and a new control plane."""
        plan = self._plan
        discovery = build_discovery_tags(cluster.name) if plan.autoscaling.karpenter else ()
        self.network = network = Network("network", self, plan.network, discovery)
        flow_logs = plan.network.flow_logs if isinstance(plan.network, NewNetwork) else None
        log_groups = [
            *([flow_log_group(cluster.name)] if flow_logs else []),
            *([cluster.log_group_name] if cluster.logging.types else []),
            *([plan.session.log_group_name] if plan.session.log_group_name else []),
        ]
        key_arn = Encryption(
            "encryption",
            self,
            log_groups,
            alias=f"eks/{cluster.name}",
            what="Secrets and logs",
            protect=cluster.deletion_protection,
        ).key_arn
        if flow_logs:
            FlowLogs("flow-logs", self, flow_logs, network.vpc_id, key_arn)
        session = self._sessions(key_arn)
        self.control_plane = ControlPlane(
            "control-plane",
            self,
            cluster,
            vpc_id=network.vpc_id,
            subnet_ids=network.control_plane_subnet_ids,
            key_arn=key_arn,
            auto_mode=plan.autoscaling.auto_mode is not None,
            ipv6=plan.network.ipv6,
        )
        return session

    def _existing(self, cluster: ExistingClusterPlan) -> Session:
        """Read the control plane, and declare what sessions need."""
        plan = self._plan
        self.control_plane = found = ExistingControlPlane("control-plane", self, cluster)
        self.network = Network("network", self, plan.network, vpc_id=found.vpc_id)
        if not plan.session.needs_key:
            return self._sessions(None)
        groups = [plan.session.log_group_name] if plan.session.log_group_name else []
        # Beside the cluster's own key and alias; a cluster may have several stacks.
        alias = f"multiarch-eks/{plan.stack}"
        return self._sessions(
            Encryption("encryption", self, groups, alias=alias, what="Sessions on nodes", protect=False).key_arn
        )

    def _sessions(self, key_arn: pulumi.Output[str] | None) -> Session:
        session = self._plan.session
        self._session_key = key_arn if session.settings.encrypt else None
        logs = policies.node_sessions(self.account, session.log_group_name, self._session_key)
        own = policies.list_cni_policies(self.account, ipv6=self._plan.network.ipv6)
        self._node_policies = own | ({policies.SESSION_LOGS: logs} if logs else {})
        return Session("session", self, session, key_arn)

    def exports(self) -> dict[str, pulumi.Input[object]]:
        """Return the stack's outputs, by name. None is secret: the kubeconfig holds no token."""
        return {
            "cluster": {"name": self.control_plane.name, "version": self.control_plane.version},
            "kubeconfig": self.kubeconfig,
            **self._aws_auth(),
            **({"serviceAccountRoles": self._pod_roles} if self._pod_roles else {}),
            "nodeGroups": self.node_groups,
            "sessionPolicy": self.session_policy,
            "sessions": self.sessions,
            # Without file and line, which change with every comment in the file.
            "warnings": [
                str(replace(warning, file=None, line=None))
                for warning in self._plan.warnings
                if not warning.acknowledged
            ],
        }

    def _aws_auth(self) -> dict[str, pulumi.Input[object]]:
        """Return the entries of ``mapRoles`` in ``aws-auth`` that somebody has to add."""
        roles = [role.role_arn for role in self._node_roles if role.needs_aws_auth]
        return {"awsAuth": pulumi.Output.all(*roles).apply(access.format_aws_auth)} if roles else {}

    def _addons(self, name: str, addons: Sequence[AddonPlan], ready: After) -> After:
        """Declare some of a new cluster's add-ons; those of an existing one are its own."""
        cluster = self._plan.cluster
        if isinstance(cluster, ExistingClusterPlan):
            return ()
        # With only EKS's deletion protection a destroy would delete the nodes before it is rejected. These add-ons
        # are deleted before the nodes, and are updated in place.
        protect = cluster.deletion_protection and name == "addons-after-nodes"
        subnets, of = self.network.pod_subnets, self.control_plane.name
        return Addons(name, self, addons, of, ready, protect=protect, pod_subnets=subnets).resources

    def _declare_pod_roles(self) -> Mapping[str, pulumi.Input[str]]:
        """Declare the roles of workloads; return their ARNs by name."""
        plans, made = self._plan.pod_roles, self.control_plane
        needs_issuer = any(each.irsa for each in plans)
        issuer = made.issuer if needs_issuer and isinstance(made, ControlPlane) else None
        return ServiceAccounts("service-accounts", self, plans, made.name, issuer).arns if plans else {}

    def _roles(self) -> dict[NodeGroupKind, NodeRole]:
        """Return one role for each kind of node group in the plan."""
        kinds = sorted({group.kind for group in self._plan.node_groups})
        cluster, own, entries = self.control_plane.name, self._node_policies, self._takes_access_entries
        return {
            kind: NodeRole(f"{kind}-nodes", self, cluster, kind, own, takes_access_entries=entries) for kind in kinds
        }

    @property
    def _security_groups(self) -> Sequence[pulumi.Input[str]]:
        """Those of nodes, by ID: an existing cluster's, or the one that EKS made for the cluster."""
        return self._plan.security_groups or [self.control_plane.security_group_id]

    @property
    def _takes_access_entries(self) -> bool:
        cluster = self._plan.cluster
        return cluster.takes_access_entries if isinstance(cluster, ExistingClusterPlan) else True

    def _node_group(self, group: NodeGroupPlan, network: Network, role: NodeRole, ready: After) -> NodeGroup:
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
                security_group_ids=self._plan.security_groups,
            ),
            opts=self.child(),
        )

    def _in_the_cluster(self, groups: Mapping[str, NodeGroup], network: Network, ready: After) -> After:
        """Declare what needs the Kubernetes API; ``ready`` are nodes and add-ons. Return EKS Auto Mode's pools too."""
        plan = self._plan
        autoscaler, karpenter = plan.autoscaling.cluster_autoscaler, plan.autoscaling.karpenter
        auto_mode = plan.autoscaling.auto_mode
        wanted = (auto_mode, plan.storage_class, plan.own_daemons, plan.admission_webhook, plan.rebalance)
        if not (any(wanted) or autoscaler or karpenter):
            return ready
        cluster = InCluster(
            cluster_name=self.control_plane.name,
            provider=self._kubernetes_provider(),
            ready=ready,
            chart_registry=plan.chart_registry,
            image_registries=plan.image_registries,
        )
        if auto_mode:
            made = AutoMode("auto-mode", self, cluster, auto_mode, network.private_subnet_ids, self._security_groups)
            # What the other components run on, too.
            cluster = replace(cluster, ready=(*cluster.ready, *made.ready))
        if plan.storage_class:
            DefaultStorageClass("storage-class", self, cluster, auto_mode=auto_mode is not None)
        self._daemons(groups, cluster)
        if plan.admission_webhook:
            AdmissionWebhook("admission-webhook", self, cluster, plan.admission_webhook)
        if plan.rebalance:
            Rebalance("rebalance", self, cluster, plan)
        release = None
        if autoscaler and autoscaler.settings.installed:
            Priorities("cluster-autoscaler", self, cluster, autoscaler)
        elif autoscaler:
            release = ClusterAutoscaler("cluster-autoscaler", self, cluster, autoscaler, plan.arm64_taint).release
        if karpenter:
            self._karpenter(karpenter, groups, cluster, release)
        return cluster.ready

    def _daemons(self, groups: Mapping[str, NodeGroup], cluster: InCluster) -> None:
        plan = self._plan
        if plan.termination_handler:
            own = [group.name for group in plan.node_groups if group.kind is NodeGroupKind.SELF_MANAGED]
            scaling_groups = {name: groups[name].auto_scaling_group.apply(required) for name in own}
            TerminationHandler("termination-handler", self, cluster, scaling_groups)
        for plugin in plan.device_plugins:
            DevicePlugin(self, cluster, plugin)

    def _karpenter(
        self,
        karpenter: KarpenterPlan,
        groups: Mapping[str, NodeGroup],
        cluster: InCluster,
        release: pulumi.Output[pulumi.Resource] | None,
    ) -> None:
        plan = self._plan
        group = None if karpenter.settings.installed else groups[karpenter.controller_group]
        args = KarpenterArgs(
            plan=karpenter,
            controller_group=group.eks_name if group else "",
            controller_taints=(
                *([plan.arm64_taint] if plan.arm64_taint else []),
                *(group.plan.taints if group else ()),
            ),
            security_group_id=self.control_plane.security_group_id,
            security_group_ids=self._security_groups if isinstance(plan.cluster, ExistingClusterPlan) else (),
            takes_access_entries=self._takes_access_entries,
            node_policies=self._node_policies,
            successor=release if karpenter.cordoned else None,
        )
        if karpenter.settings.installed:
            role = karpenter.node_class.role
            profile = declare_profile(self, "karpenter-nodes", role) if karpenter.isolated else None
            NodePools("karpenter", self, cluster, args, role, (), profile)
        else:
            self._node_roles.append(Karpenter("karpenter", self, cluster, args).nodes)

    def _kubernetes_provider(self) -> kubernetes.Provider:
        """Declare the provider; before it is created, its API server must answer, and have room for the stack."""
        opts = self.child()
        before: list[pulumi.ResourceHook | Callable[[pulumi.ResourceHookArgs], Awaitable[None] | None]] = []
        if not pulumi.runtime.is_dry_run():
            before.append(wait_for_api)
        if self._look_ahead and isinstance(self._plan.cluster, ExistingClusterPlan):
            before.append(make_look_ahead(self._plan))
        if before:
            opts.hooks = pulumi.ResourceHookBinding(before_create=before)
        return kubernetes.Provider("cluster", kubeconfig=self.kubeconfig, opts=opts)
