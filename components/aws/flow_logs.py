"""Flow logs of a new VPC, in CloudWatch."""

from __future__ import annotations

import pulumi
from pulumi_aws import cloudwatch, ec2

from multiarch.schema.network import FlowLogs as FlowLogsSettings

from ..component import Child, Component
from ..iam import policies, roles

NAME = "flow-logs"


class FlowLogs(Child):
    """A flow log of the VPC, its log group, and the role that writes to it."""

    def __init__(
        self, name: str, owner: Component, plan: FlowLogsSettings, vpc_id: pulumi.Input[str], key_arn: pulumi.Input[str]
    ) -> None:
        """Declare them; ``key_arn`` encrypts the log group."""
        super().__init__(name, owner)
        group = cloudwatch.LogGroup(
            NAME,
            name=flow_log_group(self.naming.cluster),
            retention_in_days=plan.retention_days,
            kms_key_id=key_arn,
            tags=self.tags(NAME),
            opts=self.child(),
        )
        trust = policies.assumed_by_flow_logs(self.account)
        role = roles.declare_role(self, NAME, f"Flow logs of the VPC of {self.naming.cluster}", trust)
        document = policies.write_flow_logs(self.account, flow_log_group(self.naming.cluster))
        policy = roles.give_inline(self, NAME, role, document)
        ec2.FlowLog(
            NAME,
            vpc_id=vpc_id,
            traffic_type=plan.traffic,
            log_destination=group.arn,
            iam_role_arn=role.arn,
            tags=self.tags(NAME),
            opts=self.child(depends_on=policy),
        )
        self.register_outputs({"logGroup": group.name})


def flow_log_group(cluster: str) -> str:
    """Name of the log group."""
    return f"/multiarch-eks/{cluster}/flow-logs"
