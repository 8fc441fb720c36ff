"""The stack's KMS key: for log groups, and for Kubernetes Secrets unless the team sets another key."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
from pulumi_aws import kms

from ..account import Account
from ..component import Component, Naming
from ..iam import policies


class Encryption(Component):
    """A KMS key with yearly rotation and an alias. ``key_arn`` is its ARN."""

    key_arn: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        naming: Naming,
        account: Account,
        log_groups: Sequence[str],
        opts: pulumi.ResourceOptions,
        *,
        keep_long: bool,
    ) -> None:
        """Declare key and alias; with ``keep_long`` a deleted key can be restored for 30 days instead of 7."""
        super().__init__("Encryption", name, naming, opts)
        groups = [account.arn("logs", f"log-group:{group}") for group in sorted(log_groups)]
        key = kms.Key(
            "key",
            description=f"Secrets and logs of the EKS cluster {self.naming.cluster}",
            policy=policies.key_policy(account, groups),
            enable_key_rotation=True,
            deletion_window_in_days=30 if keep_long else 7,
            tags=self.tags("key"),
            opts=self.child("key"),
        )
        kms.Alias("key", name=f"alias/eks/{self.naming.cluster}", target_key_id=key.key_id, opts=self.child("key"))
        self.key_arn = key.arn
        self.register_outputs({"keyArn": self.key_arn})
