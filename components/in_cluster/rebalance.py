"""The CronJob that moves pods back to arm64 nodes, and the role that lets it read images of Amazon ECR."""

from __future__ import annotations

import pulumi

from multiarch.rebalance.install.objects import build_objects
from multiarch.rebalance.install.policy import NAME, NAMESPACE
from multiarch.stack.model import Plan

from ..component import After, Component
from ..iam import pod_identity, policies
from ..kubernetes_api import ChildInCluster, InCluster, Manifest

_BEFORE_RIGHTS = ("Namespace", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
"""The policy is in force before there are rights that it limits, and until they are gone."""


class Rebalance(ChildInCluster):
    """The CronJob as :mod:`multiarch.rebalance.install` lists its objects; it comes last and goes first."""

    def __init__(self, name: str, owner: Component, cluster: InCluster, plan: Plan) -> None:
        """Declare role, Pod Identity association and objects; the plan has rebalancing enabled."""
        super().__init__(name, owner, cluster)
        if plan.rebalance is None:
            raise TypeError("rebalancing is not enabled")
        manifests = build_objects(plan.rebalance, plan.stack, plan.arm64_taint)
        done: After = cluster.ready
        steps = (
            [each for each in manifests if each["kind"] in _BEFORE_RIGHTS],
            [each for each in manifests if each["kind"] not in (*_BEFORE_RIGHTS, "CronJob")],
        )
        for step in steps:
            done = [self._declare(each, done) for each in step]
        if plan.rebalance.ecr_repositories:
            policy = policies.read_repositories(self.account, plan.rebalance.ecr_repositories)
            description = f"Rebalancing of {self.naming.cluster}"
            done = [
                *done,
                *pod_identity.give_policy(self, NAME, description, policy, after=done, namespace=NAMESPACE),
            ]
        for each in manifests:
            if each["kind"] == "CronJob":
                self._declare(each, done)
        self.register_outputs({"namespace": NAMESPACE})

    def _declare(self, manifest: Manifest, after: After) -> pulumi.Resource:
        metadata: dict[str, str] = manifest["metadata"]  # type: ignore[assignment]  # of any object
        place = metadata.get("namespace", NAMESPACE)
        name = metadata["name"] if place == NAMESPACE else f"{metadata['name']}-{place}"
        return self.declare_object(name, manifest, after)
