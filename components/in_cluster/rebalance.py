"""The CronJob that moves pods back to arm64 nodes, and the role that lets it read images of Amazon ECR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pulumi

from multiarch.rebalance.install.objects import objects
from multiarch.rebalance.install.policy import NAME, NAMESPACE
from multiarch.stack.model import Plan

from .. import kubernetes_api
from ..component import Child, Component, InCluster
from ..iam import pod_identity, policies

_BEFORE_RIGHTS = ("Namespace", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
"""The policy is in force before there are rights that it limits, and until they are gone."""


class Rebalance(Child):
    """The CronJob as :mod:`multiarch.rebalance.install` lists its objects; it comes last and goes first."""

    def __init__(self, name: str, owner: Component, cluster: InCluster, plan: Plan) -> None:
        """Declare role, Pod Identity association and objects; the plan has rebalancing enabled."""
        super().__init__(name, owner)
        if plan.rebalance is None:
            raise TypeError("rebalancing is not enabled")
        manifests = objects(plan.rebalance, plan.stack, plan.arm64_taint)
        done: Sequence[pulumi.Resource] = cluster.ready
        steps = (
            [each for each in manifests if each["kind"] in _BEFORE_RIGHTS],
            [each for each in manifests if each["kind"] not in (*_BEFORE_RIGHTS, "CronJob")],
        )
        for step in steps:
            done = [self._declare(each, cluster, done) for each in step]
        if plan.rebalance.ecr_repositories:
            policy = policies.read_repositories(self.account, plan.rebalance.ecr_repositories)
            description = f"Rebalancing of {self.naming.cluster}"
            done = [
                *done,
                *pod_identity.give_policy(
                    self, NAME, replace(cluster, ready=done), description, policy, namespace=NAMESPACE
                ),
            ]
        for each in manifests:
            if each["kind"] == "CronJob":
                self._declare(each, cluster, done)
        self.register_outputs({"namespace": NAMESPACE})

    def _declare(
        self, manifest: kubernetes_api.Manifest, cluster: InCluster, after: Sequence[pulumi.Resource]
    ) -> pulumi.Resource:
        metadata: dict[str, str] = manifest["metadata"]  # type: ignore[assignment]  # of any object
        place = metadata.get("namespace", NAMESPACE)
        name = metadata["name"] if place == NAMESPACE else f"{metadata['name']}-{place}"
        opts = self.child(depends_on=after, provider=cluster.provider)
        return kubernetes_api.declare_object(name, manifest, opts)
