"""The role of Karpenter's controller, with six separate policies."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

import pulumi
from pulumi_aws import iam

from multiarch.autoscaling.iam import KARPENTER_POLICY_NAMES, ArnScope, build_karpenter_policies, format_policy

from ..component import Component
from ..kubernetes_api import ChildInCluster, InCluster
from . import pod_identity, roles

SERVICE_ACCOUNT = "karpenter"


class KarpenterRole(ChildInCluster):
    """The controller's role. ``ready`` is what its pods need before they start and until they are gone."""

    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self,
        name: str,
        owner: Component,
        cluster: InCluster,
        node_role_arn: pulumi.Input[str],
        queue_arn: pulumi.Input[str],
        *,
        isolated: bool,
    ) -> None:
        """Declare the role, its policies, the Pod Identity association and its guard.

        ``node_role_arn`` is the role that nodes run under, ``queue_arn`` the interruption queue. An ``isolated``
        controller can't reach IAM.
        """
        super().__init__(name, owner, cluster)
        documents = self._documents(node_role_arn, queue_arn, isolated=isolated)
        description = f"Karpenter's controller in {self.naming.cluster}"
        role = pod_identity.declare_role(self, SERVICE_ACCOUNT, SERVICE_ACCOUNT, description)
        names = () if role.existing else KARPENTER_POLICY_NAMES
        policies = [self._policy(policy, documents.apply(itemgetter(policy)), role) for policy in names]
        self.ready = tuple(pod_identity.associate(self, SERVICE_ACCOUNT, role, policies))
        self.register_outputs({"roleArn": role.arn})

    def _policy(self, name: str, document: pulumi.Output[str], role: roles.Role) -> iam.RolePolicyAttachment:
        """Declare one policy, and attach it.

        Managed policies, because IAM allows 6,144 characters for each, but 10,240 for all inline policies of a role.
        Source: IAM user guide, "IAM and AWS STS quotas".
        """
        full = f"karpenter-{name}"
        policy = iam.Policy(
            full,
            name_prefix=self.prefix(full, 102),
            description=f"Karpenter in {self.naming.cluster}: {name}",
            policy=document,
            path=self.naming.path,
            tags=self.tags(full),
            opts=self.child(),
        )
        return iam.RolePolicyAttachment(full, role=role.name, policy_arn=policy.arn, opts=self.child())

    def _documents(
        self, node_role_arn: pulumi.Input[str], queue_arn: pulumi.Input[str], *, isolated: bool
    ) -> pulumi.Output[dict[str, str]]:
        """Return all six documents as JSON by name."""
        account = self.account

        def written(values: Sequence[str]) -> dict[str, str]:
            partition, region, id_, node_role, queue = values
            scope = ArnScope(partition, region, id_, self.naming.cluster)
            documents = build_karpenter_policies(scope, node_role_arn=node_role, queue_arn=queue, isolated=isolated)
            return {name: format_policy(document) for name, document in documents.items()}

        known = pulumi.Output.all(account.partition, account.region, account.id, node_role_arn, queue_arn)
        return known.apply(written)
