"""Fargate profiles, and the role by which their pods' images are pulled."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial

import pulumi
from pulumi_aws import eks

from multiarch.schema.fargate import FargateProfile

from ..component import After, Child, Component
from ..iam import policies, roles

_POLICY = "AmazonEKSFargatePodExecutionRolePolicy"
_LONGEST = 63 - len("-01234567")
"""AWS's provider takes names of 63 characters."""


class Fargate(Child):
    """The Fargate profiles of a cluster. They can't be changed, so that a change makes a new one with another name."""

    def __init__(
        self,
        name: str,
        owner: Component,
        profiles: Mapping[str, FargateProfile],
        cluster_name: pulumi.Input[str],
        subnet_ids: Sequence[pulumi.Input[str]],
        ready: After,
    ) -> None:
        """Declare role and profiles; EKS accepts private subnets only. ``ready`` comes before."""
        super().__init__(name, owner)
        trust = policies.assumed_by_fargate(self.account, self.naming.cluster)
        role = roles.declare_role(self, "fargate", f"Fargate pods of {self.naming.cluster}", trust)
        attached = roles.attach_managed(self, _POLICY, role, _POLICY)
        if repositories := self.naming.iam.pull_through_repositories:
            document = policies.create_repositories(self.account, repositories, policies.IMPORT)
            attached += roles.give_inline(self, "fargate-pull-through", role, document, "pull-through")
        for key, profile in sorted(profiles.items()):
            eks.FargateProfile(
                key,
                cluster_name=cluster_name,
                fargate_profile_name=pulumi.Output.all(role.arn, *subnet_ids).apply(partial(_name, key, profile)),
                pod_execution_role_arn=role.arn,
                selectors=[
                    eks.FargateProfileSelectorArgs(namespace=each.namespace, labels=each.labels or None)
                    for each in profile.selectors
                ],
                subnet_ids=list(subnet_ids),
                tags=self.tags(key),
                opts=self.child(depends_on=(*ready, *attached)),
            )
        self.register_outputs({"roleArn": role.arn})


def _name(key: str, profile: FargateProfile, places: Sequence[str]) -> str:
    """Return a name that changes with all that replaces a profile: the new one is created before the old is deleted."""
    selectors = [{"namespace": each.namespace, "labels": each.labels} for each in profile.selectors]
    whole = json.dumps([key, selectors, *places], sort_keys=True)
    return f"{key[:_LONGEST]}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"
