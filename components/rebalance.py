"""The CronJob that moves pods back to arm64 nodes, and the role that lets it read images of Amazon ECR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from multiarch.facts.taints import Taint
from multiarch.rebalance.install.names import NAME, NAMESPACE
from multiarch.rebalance.install.objects import objects
from multiarch.stack.model import RebalancePlan

from . import kubernetes_api, pod_identity
from .account import Account
from .component import Component, Naming

_BEFORE_RIGHTS = ("Namespace", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
"""The policy is in force before there are rights that it limits, and until they are gone."""


@dataclass(frozen=True, slots=True)
class RebalanceArgs:
    """``stack`` is ``TEAM-ENV``; ``provider`` reaches the Kubernetes API; ``ready`` is what the pods run on."""

    plan: RebalancePlan
    stack: str
    arm64_taint: Taint | None
    cluster_name: pulumi.Input[str]
    naming: Naming
    account: Account
    provider: pulumi.ProviderResource
    ready: Sequence[pulumi.Resource]


class Rebalance(Component):
    """The CronJob as :mod:`multiarch.rebalance.install` lists its objects; it comes last and goes first."""

    def __init__(self, name: str, args: RebalanceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Declare role, Pod Identity association and objects."""
        super().__init__("Rebalance", name, args.naming, opts)
        manifests = objects(args.plan, args.stack, args.arm64_taint)
        done: Sequence[pulumi.Resource] = args.ready
        steps = (
            [each for each in manifests if each["kind"] in _BEFORE_RIGHTS],
            [each for each in manifests if each["kind"] not in (*_BEFORE_RIGHTS, "CronJob")],
        )
        for step in steps:
            done = [self._declare(each, args, done) for each in step]
        done = [*done, *self._identity(args, done)]
        for each in manifests:
            if each["kind"] == "CronJob":
                self._declare(each, args, done)
        self.register_outputs({"namespace": NAMESPACE})

    def _declare(
        self, manifest: kubernetes_api.Manifest, args: RebalanceArgs, after: Sequence[pulumi.Resource]
    ) -> pulumi.Resource:
        metadata: dict[str, str] = manifest["metadata"]  # type: ignore[assignment]  # of any object
        place = metadata.get("namespace", NAMESPACE)
        name = metadata["name"] if place == NAMESPACE else f"{metadata['name']}-{place}"
        return kubernetes_api.declare_object(name, manifest, self.child(name, depends_on=after, provider=args.provider))

    def _identity(self, args: RebalanceArgs, ready: Sequence[pulumi.Resource]) -> list[pulumi.Resource]:
        """Declare the role of the pods and the guard, which must exist before they start."""
        if not args.plan.ecr_repositories:
            return []
        return pod_identity.give_repositories(
            self,
            NAME,
            args.plan.ecr_repositories,
            account=args.account,
            cluster_name=args.cluster_name,
            description=f"Rebalancing of {self.naming.cluster}",
            provider=args.provider,
            ready=ready,
            namespace=NAMESPACE,
        )
