"""The control plane: an EKS cluster with access entries, its log group and its service role."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import pulumi
import pulumi_eks
from pulumi_aws import cloudwatch, eks, iam

from multiarch.errors import OutsideError
from multiarch.facts.auto_mode import CLUSTER_POLICIES
from multiarch.nodes.model import ClusterFacts
from multiarch.stack.model import ClusterPlan

from ..account import Account
from ..component import Child, Component
from ..iam import policies, roles


class ControlPlane(Child):
    """An EKS cluster without nodes and add-ons.

    ``name`` is known once the cluster exists; ``facts`` is what user data needs; ``security_group_id`` is the group
    that EKS creates for the cluster and its nodes.
    """

    name: pulumi.Output[str]
    version: pulumi.Output[str]
    endpoint: pulumi.Output[str]
    facts: pulumi.Output[ClusterFacts]
    security_group_id: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        owner: Component,
        plan: ClusterPlan,
        *,
        vpc_id: pulumi.Input[str],
        subnet_ids: Sequence[pulumi.Input[str]],
        key_arn: pulumi.Input[str],
        auto_mode: bool = False,
        ipv6: bool = False,
    ) -> None:
        """Declare the cluster and what must exist before it.

        ``key_arn`` encrypts the logs, and Secrets too where the plan names no other key. ``ipv6``: pods and Services
        have IPv6 addresses. ``auto_mode`` turns all three parts of EKS Auto Mode on (compute, block storage, load
        balancing), without EKS's own NodePools: with those, EKS makes the access entry of the nodes' role itself, and
        ``general-purpose`` has amd64 nodes only.
        Source: EKS user guide, "Create a Node Pool for EKS Auto Mode", "Cluster without built-in node pools".
        """
        super().__init__(name, owner)
        role, before = self._service_role(auto_mode=auto_mode)
        if plan.logging.types:
            before.append(self._log_group(plan, key_arn))
        tags = self.tags("cluster") | {"Name": plan.name}
        own_key = plan.encryption.kms_key_arn or key_arn
        options = self.child(depends_on=before)
        if plan.later_inputs:
            options.transforms = [_add_to_cluster(plan.later_inputs)]
        cluster = pulumi_eks.Cluster(
            "cluster",
            name=plan.name,
            version=plan.version,
            vpc_id=vpc_id,
            private_subnet_ids=list(subnet_ids),
            service_role=role,
            authentication_mode=pulumi_eks.AuthenticationMode.API,
            access_entries=_access_entries(plan, self.account, tags),
            # Pods get credentials by Pod Identity. With IRSA's provider each preview queries the issuer, which can't be
            # reached from a VPC with an endpoint for EKS. Source: pulumi-eks, cluster.ts, getIssuerCAThumbprint.
            create_oidc_provider=False,
            # Given, though empty: else the caller's AWS_PROFILE is in the component's kubeconfig (createCluster there).
            provider_credential_opts=pulumi_eks.KubeconfigOptionsArgs(),
            endpoint_private_access=plan.endpoint.private,
            endpoint_public_access=plan.endpoint.public,
            # The component rejects CIDR blocks for an endpoint that is not public.
            public_access_cidrs=sorted(plan.endpoint.public_cidrs) if plan.endpoint.public else None,
            ip_family="ipv6" if ipv6 else None,
            kubernetes_service_ip_address_range=plan.service_cidr or None,
            enabled_cluster_log_types=sorted(set(plan.logging.types)),
            encryption_config_key_arn=own_key if plan.encryption.enabled else None,
            deletion_protection=plan.deletion_protection,
            # Nodes and add-ons are declared elsewhere, with the plan's versions and tolerations. The cluster security
            # group of EKS is enough; the component would add two more, open to each other.
            skip_default_node_group=True,
            create_instance_role=False,
            skip_default_security_groups=True,
            bootstrap_self_managed_addons=False,
            use_default_vpc_cni=True,
            coredns_addon_options=pulumi_eks.CoreDnsAddonOptionsArgs(enabled=False),
            kube_proxy_addon_options=pulumi_eks.KubeProxyAddonOptionsArgs(enabled=False),
            auto_mode=_auto_mode() if auto_mode else None,
            upgrade_policy=_upgrade_policy(plan),
            tags=tags,
            cluster_tags=tags,
            opts=options,
        )
        made = cluster.eks_cluster
        self.name = made.apply(lambda it: it.name)
        self.version = made.apply(lambda it: it.version)
        self.endpoint = made.apply(lambda it: it.endpoint)
        self.security_group_id = made.apply(_security_group)
        self._made = made
        authority: pulumi.Output[str] = made.apply(_certificate_authority)
        services = made.apply(lambda it: it.kubernetes_network_config.service_ipv6_cidr) if ipv6 else plan.service_cidr
        self.facts = pulumi.Output.all(self.name, self.endpoint, authority, services).apply(
            lambda known: ClusterFacts(known[0], known[1], known[2], known[3])
        )
        self.register_outputs({"name": self.name, "version": self.version, "endpoint": self.endpoint})

    @property
    def issuer(self) -> pulumi.Output[str]:
        """The URL of the OIDC issuer that signs the tokens of the cluster's service accounts."""
        return self._made.apply(_issuer)

    def _service_role(self, *, auto_mode: bool) -> tuple[iam.Role, list[pulumi.Resource]]:
        """Declare the role that EKS assumes, with the only policy that a cluster without Auto Mode needs.

        Auto Mode's policies know the cluster by a session tag, and allow no tags of the stack on its instances.
        Sources: EKS user guide, "Amazon EKS cluster IAM role", "Amazon EKS Auto Mode cluster IAM role" and "Custom AWS
        tags for EKS Auto resources".
        """
        actions = ["sts:AssumeRole", "sts:TagSession"] if auto_mode else "sts:AssumeRole"
        trust = policies.assumed_by_service("eks.amazonaws.com", "EksControlPlane", actions)
        role = roles.declare_role(self, "cluster", f"EKS control plane of {self.naming.cluster}", trust)
        names = ("AmazonEKSClusterPolicy", *(CLUSTER_POLICIES if auto_mode else ()))
        attached = [made for each in names for made in roles.attach_managed(self, each, role, each)]
        if auto_mode:
            attached += roles.give_inline(self, "auto-mode-tags", role, policies.auto_mode_tags())
        return role.resource, attached

    def _log_group(self, plan: ClusterPlan, key_arn: pulumi.Input[str]) -> cloudwatch.LogGroup:
        # Otherwise EKS creates this group, without encryption or retention, and leaves it behind.
        return cloudwatch.LogGroup(
            "control-plane",
            name=plan.log_group_name,
            retention_in_days=plan.logging.retention_days,
            kms_key_id=key_arn,
            tags=self.tags("control-plane"),
            opts=self.child(),
        )


def _add_to_cluster(inputs: Mapping[str, object]) -> pulumi.ResourceTransform:
    """Return a transform of pulumi-eks's component that adds inputs to its EKS cluster."""

    async def add(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
        if args.type_ != "aws:eks/cluster:Cluster":
            return None
        return pulumi.ResourceTransformResult(props={**args.props, **inputs}, opts=args.opts)

    return add


def _upgrade_policy(plan: ClusterPlan) -> eks.ClusterUpgradePolicyArgs | None:
    return eks.ClusterUpgradePolicyArgs(support_type=plan.upgrade_policy) if plan.upgrade_policy else None


def _auto_mode() -> pulumi_eks.AutoModeOptionsArgs:
    compute = pulumi_eks.ClusterComputeConfigArgs(node_pools=[])
    return pulumi_eks.AutoModeOptionsArgs(enabled=True, create_node_role=False, compute_config=compute)


def _security_group(made: eks.Cluster) -> pulumi.Output[str]:
    """Return the ID of the security group that EKS creates for a cluster and its nodes."""
    return made.vpc_config.apply(lambda config: _required("cluster security group", config.cluster_security_group_id))


def _issuer(made: eks.Cluster) -> pulumi.Output[str]:
    return made.identities.apply(lambda found: _required("OIDC issuer", (found[0].oidcs or ())[0].issuer))


def _certificate_authority(made: eks.Cluster) -> pulumi.Output[str]:
    """Return the certificate authority, PEM in base64."""
    return made.certificate_authority.apply(lambda authority: _required("certificate authority", authority.data))


def _required(what: str, value: str | None) -> str:
    """Reject an empty value: nodes with one would not join."""
    if not value:
        raise OutsideError(f"EKS returned no {what} for the cluster.", hint="Run pulumi refresh, and try again.")
    return value


def _access_entries(plan: ClusterPlan, account: Account, tags: dict[str, str]) -> dict[str, pulumi_eks.AccessEntryArgs]:
    """Return one entry per principal, with a key that does not depend on the other principals."""
    return {
        _entry_key(principal): pulumi_eks.AccessEntryArgs(
            principal_arn=principal,
            # An empty list removes groups; AWS's provider keeps them when the argument is omitted.
            # Source: https://github.com/terraform-aws-modules/terraform-aws-eks/pull/2897
            kubernetes_groups=sorted(entry.groups),
            access_policies={
                name: pulumi_eks.AccessPolicyAssociationArgs(
                    policy_arn=account.access_policy(name),
                    access_scope=eks.AccessPolicyAssociationAccessScopeArgs(
                        type="namespace" if scope.namespaces else "cluster", namespaces=scope.namespaces
                    ),
                )
                for name, scope in entry.policies.items()
            },
            tags=tags,
        )
        for principal, entry in plan.access.collect_entries().items()
    }


def _entry_key(principal: str) -> str:
    """Return ``ROLE-1a2b3c4d``: readable, and different for roles with the same name in other accounts or paths."""
    return f"{principal.rpartition('/')[2]}-{hashlib.sha256(principal.encode()).hexdigest()[:8]}"
