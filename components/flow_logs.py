"""Flow logs of a new VPC, in CloudWatch."""

from __future__ import annotations

import pulumi
from pulumi_aws import cloudwatch, ec2, iam

from multiarch.schema.network import FlowLogs as FlowLogsSettings

from . import policies
from .account import Account
from .component import Component, Naming

NAME = "flow-logs"


class FlowLogs(Component):
    """A flow log of the VPC, its log group, and the role that writes to it."""

    def __init__(
        self,
        name: str,
        naming: Naming,
        account: Account,
        plan: FlowLogsSettings,
        vpc_id: pulumi.Input[str],
        key_arn: pulumi.Input[str],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare them; ``key_arn`` encrypts the log group."""
        super().__init__("FlowLogs", name, naming, opts)
        group = cloudwatch.LogGroup(
            NAME,
            name=flow_log_group(self.naming.cluster),
            retention_in_days=plan.retention_days,
            kms_key_id=key_arn,
            tags=self.tags(NAME),
            opts=self.child(NAME),
        )
        role = iam.Role(
            NAME,
            name_prefix=self.prefix(NAME, 38),
            description=f"Flow logs of the VPC of {self.naming.cluster}",
            assume_role_policy=policies.assumed_by_flow_logs(account),
            tags=self.tags(NAME),
            opts=self.child(NAME),
        )
        policy = iam.RolePolicy(
            NAME,
            name=NAME,
            role=role.name,
            policy=policies.write_flow_logs(account, flow_log_group(self.naming.cluster)),
            opts=self.child(NAME),
        )
        ec2.FlowLog(
            NAME,
            vpc_id=vpc_id,
            traffic_type=plan.traffic,
            log_destination=group.arn,
            iam_role_arn=role.arn,
            tags=self.tags(NAME),
            opts=self.child(NAME, depends_on=[policy]),
        )
        self.register_outputs({"logGroup": group.name})


def flow_log_group(cluster: str) -> str:
    """Name of the log group."""
    return f"/multiarch-eks/{cluster}/flow-logs"
