"""A VPC that no stack has made, for stacks that go into an existing one."""

from __future__ import annotations

from sandbox.inventory import BY_HAND, Aws

_RANGE = "10.64.0.0/16"
_SUBNETS = ("10.64.0.0/18", "10.64.64.0/18", "10.64.128.0/18")


def create(aws: Aws) -> str:
    """Create a VPC with a subnet in each of up to three zones; return the key of a stack file that names them."""
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
    lines = "".join(f"      {zone}: [{subnet}]\n" for zone, subnet in subnets.items())
    return f"  multiarch-eks:network:\n    vpcId: {vpc}\n    privateSubnets:\n{lines}"
