"""The stack's KMS key: for log groups, and for Kubernetes Secrets unless the team sets another key."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
from pulumi_aws import kms

from ..component import Child, Component
from ..iam import policies


class Encryption(Child):
    """A KMS key with yearly rotation and an alias. ``key_arn`` is its ARN."""

    key_arn: pulumi.Output[str]

    def __init__(
        self, name: str, owner: Component, log_groups: Sequence[str], *, alias: str, what: str, protect: bool
    ) -> None:
        """Declare key and alias; with ``protect`` a deleted key can be restored for 30 days instead of 7.

        ``what`` it encrypts is the beginning of its description.
        """
        super().__init__(name, owner, protect=protect)
        groups = [self.account.arn("logs", f"log-group:{group}") for group in sorted(log_groups)]
        key = kms.Key(
            "key",
            description=f"{what} of the EKS cluster {self.naming.cluster}",
            policy=policies.key_policy(self.account, groups),
            enable_key_rotation=True,
            deletion_window_in_days=30 if protect else 7,
            tags=self.tags("key"),
            opts=self.child(),
        )
        kms.Alias("key", name=f"alias/{alias}", target_key_id=key.key_id, opts=self.child())
        self.key_arn = key.arn
        self.register_outputs({"keyArn": self.key_arn})
