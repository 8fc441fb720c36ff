"""A VPC that no stack has made, for stacks that go into an existing one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sandbox.inventory import BY_HAND, Aws

_RANGE = "10.64.0.0/16"
_SUBNETS = ("10.64.0.0/18", "10.64.64.0/18", "10.64.128.0/18")


@dataclass(frozen=True, slots=True)
class ExistingVpc:
    """IDs of a VPC and of its private subnets, each in a zone of its own."""

    vpc_id: str
    subnet_ids: Mapping[str, str]
    """By zone."""

    def as_yaml(self) -> str:
        """Return the key of a stack file that names it."""
        subnets = "".join(f"      {zone}: [{subnet}]\n" for zone, subnet in self.subnet_ids.items())
        return f"  multiarch-eks:network:\n    vpcId: {self.vpc_id}\n    privateSubnets:\n{subnets}"


def create(aws: Aws) -> ExistingVpc:
    """Create one in a region of the sandbox's AWS, with a subnet in each of up to three zones."""
    ec2 = aws.client("ec2")
    zones = sorted(row["ZoneName"] for row in ec2.describe_availability_zones()["AvailabilityZones"])
    vpc = ec2.create_vpc(CidrBlock=_RANGE)["Vpc"]["VpcId"]
    for name in ("EnableDnsSupport", "EnableDnsHostnames"):
        ec2.modify_vpc_attribute(VpcId=vpc, **{name: {"Value": True}})
    subnets = {
        zone: ec2.create_subnet(VpcId=vpc, CidrBlock=cidr, AvailabilityZone=zone)["Subnet"]["SubnetId"]
        for zone, cidr in zip(zones, _SUBNETS, strict=False)
    }
    ec2.create_tags(Resources=[vpc, *subnets.values()], Tags=[{"Key": BY_HAND, "Value": "true"}])
    return ExistingVpc(vpc, subnets)
