"""VPC endpoints: access to AWS services without the internet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pulumi
from pulumi_aws import ec2

from ..account import Account
from ..component import Component, Naming

HTTPS = 443
_SEVERAL = {"ecr": ("ecr.api", "ecr.dkr")}
# A gateway endpoint for S3 is free, and image layers come from S3.
_GATEWAYS = frozenset({"s3"})
# In China the endpoints of these services are named by the partition's domain, the others' are not:
# https://docs.amazonaws.cn/en_us/vpc/latest/privatelink/aws-services-privatelink-support.html
_OWN_DOMAIN_IN_CHINA = frozenset({"autoscaling", "ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "sqs", "sts"})


@dataclass(frozen=True, slots=True)
class EndpointsArgs:
    """``services`` are short names (``ecr`` stands for two), ``cidr`` the VPC's range, one private subnet per zone."""

    naming: Naming
    account: Account
    services: Sequence[str]
    vpc_id: pulumi.Input[str]
    cidr: str
    subnet_ids: Sequence[pulumi.Input[str]]
    route_table_ids: Sequence[pulumi.Input[str]]


class Endpoints(Component):
    """Gateway and interface endpoints. ``resources`` holds the endpoints themselves."""

    resources: tuple[pulumi.Resource, ...]

    def __init__(self, name: str, args: EndpointsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Declare the endpoints, and one security group for all interface endpoints."""
        super().__init__("Endpoints", name, args.naming, opts)
        services = sorted({name for service in args.services for name in _SEVERAL.get(service, (service,))})
        gateways = [service for service in services if service in _GATEWAYS]
        interfaces = [service for service in services if service not in _GATEWAYS]
        resources = [self._gateway(service, args) for service in gateways]
        if interfaces:
            group = self._security_group(args)
            resources += [self._interface(service, args, group) for service in interfaces]
        self.resources = tuple(resources)
        self.register_outputs({"services": services})

    def _security_group(self, args: EndpointsArgs) -> ec2.SecurityGroup:
        # Rules are part of the group, so that a manually added rule is removed. No egress rule: an endpoint only
        # answers.
        return ec2.SecurityGroup(
            "endpoints",
            name_prefix=self.prefix("endpoints", 100),
            description="HTTPS from within the VPC to its endpoints",
            vpc_id=args.vpc_id,
            ingress=[
                ec2.SecurityGroupIngressArgs(
                    description="HTTPS from the VPC",
                    protocol="tcp",
                    from_port=HTTPS,
                    to_port=HTTPS,
                    cidr_blocks=[args.cidr],
                )
            ],
            tags=self.tags("endpoints"),
            opts=self.child("endpoints"),
        )

    def _gateway(self, service: str, args: EndpointsArgs) -> ec2.VpcEndpoint:
        return ec2.VpcEndpoint(
            service,
            vpc_id=args.vpc_id,
            vpc_endpoint_type="Gateway",
            # S3's gateway has the same name in all partitions.
            service_name=pulumi.Output.concat("com.amazonaws.", args.account.region, f".{service}"),
            route_table_ids=list(args.route_table_ids),
            tags=self.tags(service),
            opts=self.child(service),
        )

    def _interface(self, service: str, args: EndpointsArgs, group: ec2.SecurityGroup) -> ec2.VpcEndpoint:
        prefix = pulumi.Output.all(args.account.partition, args.account.reverse_dns_prefix).apply(
            partial(_name_prefix, service)
        )
        return ec2.VpcEndpoint(
            service,
            vpc_id=args.vpc_id,
            vpc_endpoint_type="Interface",
            service_name=pulumi.Output.concat(prefix, ".", args.account.region, f".{service}"),
            private_dns_enabled=True,
            subnet_ids=list(args.subnet_ids),
            security_group_ids=[group.id],
            tags=self.tags(service),
            opts=self.child(service),
        )


def _name_prefix(service: str, partition: Sequence[str]) -> str:
    """The prefix of an interface endpoint's name; ``partition`` is its name and its reversed domain."""
    name, own_domain = partition
    return own_domain if name == "aws-cn" and service in _OWN_DOMAIN_IN_CHINA else "com.amazonaws"
