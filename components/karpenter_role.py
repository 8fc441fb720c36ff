"""The role of Karpenter's controller, with six separate policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

import pulumi
from pulumi_aws import iam

from multiarch.autoscaling.iam import KARPENTER_POLICY_NAMES, ArnScope, karpenter_policies, text

from . import pod_identity
from .account import Account
from .component import Component, Naming

SERVICE_ACCOUNT = "karpenter"


@dataclass(frozen=True, slots=True)
class KarpenterRoleArgs:
    """``node_role_arn`` is the role that nodes run under, ``queue_arn`` the interruption queue.

    ``provider`` reaches the Kubernetes API; ``cluster_ready`` is what objects in the cluster are declared after.
    """

    cluster_name: pulumi.Input[str]
    naming: Naming
    account: Account
    node_role_arn: pulumi.Input[str]
    queue_arn: pulumi.Input[str]
    provider: pulumi.ProviderResource
    cluster_ready: Sequence[pulumi.Resource]


class KarpenterRole(Component):
    """The controller's role. ``ready`` is what its pods need before they start and until they are gone."""

    ready: tuple[pulumi.Resource, ...]

    def __init__(self, name: str, args: KarpenterRoleArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Declare the role, its policies, the Pod Identity association and its guard."""
        super().__init__("KarpenterRole", name, args.naming, opts)
        role = pod_identity.declare_role(
            self,
            name,
            account=args.account,
            service_account=SERVICE_ACCOUNT,
            description=f"Karpenter's controller in {self.naming.cluster}",
        )
        documents = _documents(args)
        attachments = [
            self._policy(policy, documents.apply(itemgetter(policy)), role) for policy in KARPENTER_POLICY_NAMES
        ]
        guard = pod_identity.guard(
            self, name, service_account=SERVICE_ACCOUNT, provider=args.provider, ready=args.cluster_ready
        )
        association = pod_identity.associate(
            self,
            name,
            role,
            cluster_name=args.cluster_name,
            service_account=SERVICE_ACCOUNT,
            after=[*attachments, *guard],
        )
        self.ready = (*attachments, *guard, association)
        self.register_outputs({"roleArn": role.arn})

    def _policy(self, name: str, document: pulumi.Output[str], role: iam.Role) -> iam.RolePolicyAttachment:
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
            tags=self.tags(full),
            opts=self.child(full),
        )
        return iam.RolePolicyAttachment(full, role=role.name, policy_arn=policy.arn, opts=self.child(full))


def _documents(args: KarpenterRoleArgs) -> pulumi.Output[dict[str, str]]:
    """All six documents as JSON by name."""
    account = args.account
    known = pulumi.Output.all(account.partition, account.region, account.id, args.node_role_arn, args.queue_arn)

    def written(values: Sequence[str]) -> dict[str, str]:
        partition, region, id_, node_role_arn, queue_arn = values
        scope = ArnScope(partition, region, id_, args.naming.cluster)
        documents = karpenter_policies(scope, node_role_arn=node_role_arn, queue_arn=queue_arn)
        return {name: text(document) for name, document in documents.items()}

    return known.apply(written)
