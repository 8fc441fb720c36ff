"""IAM roles of workloads, one per service account: by EKS Pod Identity or by the cluster's OIDC provider (IRSA)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
from pulumi_aws import eks, iam

from multiarch.stack.model import PodRolePlan

from ..component import Child, Component
from . import pod_identity, policies, roles


class ServiceAccounts(Child):
    """The roles of a stack's workloads. ``arns`` holds their ARNs by the names in ``iam.serviceAccounts``."""

    arns: Mapping[str, pulumi.Input[str]]

    def __init__(
        self,
        name: str,
        owner: Component,
        plans: Sequence[PodRolePlan],
        cluster_name: pulumi.Input[str],
        issuer: pulumi.Input[str] | None,
    ) -> None:
        """Declare the roles, and the OIDC provider where one needs it; ``issuer`` is None where none does."""
        super().__init__(name, owner)
        self._cluster_name, self._issuer = cluster_name, issuer
        self._oidc = self._oidc_provider() if any(each.irsa for each in plans) else None
        self.arns = {each.name.removesuffix("-pods"): self._declare(each) for each in plans}
        self.register_outputs({"roles": self.arns})

    def _oidc_provider(self) -> iam.OpenIdConnectProvider:
        return iam.OpenIdConnectProvider(
            "cluster",
            url=self._require_issuer(),
            client_id_lists=[policies.STS],
            tags=self.tags("cluster"),
            opts=self.child(),
        )

    def _require_issuer(self) -> pulumi.Input[str]:
        if self._issuer is None:
            raise ValueError("an existing cluster's OIDC provider belongs to another stack")
        return self._issuer

    def _declare(self, plan: PodRolePlan) -> pulumi.Input[str]:
        account, namespace = plan.service_account, plan.namespace
        description = f"Pods of {namespace}/{account} in {self.naming.cluster}"
        if plan.irsa and self._oidc:
            trust = policies.assumed_by_web_identity(self._oidc.arn, self._require_issuer(), namespace, account)
            role = roles.declare_role(self, plan.name, description, trust)
        else:
            role = pod_identity.declare_role(self, plan.name, account, description, namespace)
        before = roles.give_policies(self, plan.name, role, plan.policies, plan.policy)
        if not plan.irsa:
            eks.PodIdentityAssociation(
                # Not the key, which may be renamed: EKS takes one association for a service account.
                f"{namespace}/{account}",
                cluster_name=self._cluster_name,
                namespace=namespace,
                service_account=account,
                role_arn=role.arn,
                tags=self.tags(plan.name),
                opts=self.child(depends_on=before),
            )
        return role.arn
