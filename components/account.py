"""The account, partition and region of the stack, as the AWS provider knows them."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws


@dataclass(frozen=True, slots=True)
class Account:
    """``partition`` is ``aws``, ``aws-cn``, ``aws-us-gov`` …; ``dns_suffix`` such as ``amazonaws.com``."""

    id: pulumi.Output[str]
    partition: pulumi.Output[str]
    dns_suffix: pulumi.Output[str]
    reverse_dns_prefix: pulumi.Output[str]
    region: pulumi.Output[str]

    def arn(self, service: str, resource: pulumi.Input[str]) -> pulumi.Output[str]:
        """Return ``arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE``."""
        return pulumi.Output.concat("arn:", self.partition, f":{service}:", self.region, ":", self.id, ":", resource)

    def managed_policy(self, path: str) -> pulumi.Output[str]:
        """Return the ARN of a policy that AWS manages; ``path`` is its name, after ``service-role/`` for some."""
        return pulumi.Output.concat("arn:", self.partition, ":iam::aws:policy/", path)

    def access_policy(self, name: str) -> pulumi.Output[str]:
        """Return the ARN of an EKS access policy, such as AmazonEKSViewPolicy.

        Source: EKS user guide, "Associate access policies with access entries".
        """
        return pulumi.Output.concat("arn:", self.partition, ":eks::aws:cluster-access-policy/", name)


def look_up(parent: pulumi.Resource) -> Account:
    """Read them from the provider of ``parent``."""
    opts = pulumi.InvokeOptions(parent=parent)
    partition = aws.get_partition_output(opts=opts)
    return Account(
        id=aws.get_caller_identity_output(opts=opts).account_id,
        partition=partition.partition,
        dns_suffix=partition.dns_suffix,
        reverse_dns_prefix=partition.reverse_dns_prefix,
        region=aws.get_region_output(opts=opts).region,
    )
