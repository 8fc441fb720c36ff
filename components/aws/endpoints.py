"""VPC endpoints: access to AWS services without the internet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pulumi
from pulumi_aws import ec2

from multiarch.stack.model import NewNetwork, list_services

from ..component import Child, Component

HTTPS = 443
# A gateway endpoint for S3 is free, and image layers come from S3.
_GATEWAYS = frozenset({"s3"})
# In China the endpoints of these services are named by the partition's domain, the others' are not:
# https://docs.amazonaws.cn/en_us/vpc/latest/privatelink/aws-services-privatelink-support.html
_OWN_DOMAIN_IN_CHINA = frozenset({"autoscaling", "ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "sqs", "sts"})


class Endpoints(Child):
    """Gateway and interface endpoints. ``resources`` holds the endpoints themselves."""

    resources: tuple[pulumi.Resource, ...]

    def __init__(
        self,
        name: str,
        owner: Component,
        plan: NewNetwork,
        vpc_id: pulumi.Input[str],
        subnet_ids: Sequence[pulumi.Input[str]],
        route_table_ids: Sequence[pulumi.Input[str]],
    ) -> None:
        """Declare the endpoints, and one security group for all interface endpoints.

        ``subnet_ids`` are one private subnet per zone.
        """
        super().__init__(name, owner)
        self._cidrs, self._vpc_id = plan.cidrs, vpc_id
        self._subnet_ids, self._route_table_ids = subnet_ids, route_table_ids
        names = list_services(plan.endpoints)
        gateways = [service for service in names if service in _GATEWAYS]
        interfaces = [service for service in names if service not in _GATEWAYS]
        resources = [self._gateway(service) for service in gateways]
        if interfaces:
            group = self._security_group()
            resources += [self._interface(service, group) for service in interfaces]
        self.resources = tuple(resources)
        self.register_outputs({"services": names})

    def _security_group(self) -> ec2.SecurityGroup:
        # Rules are part of the group, so that a manually added rule is removed. No egress rule: an endpoint only
        # answers.
        return ec2.SecurityGroup(
            "endpoints",
            name_prefix=self.prefix("endpoints", 100),
            description="HTTPS from within the VPC to its endpoints",
            vpc_id=self._vpc_id,
            ingress=[
                ec2.SecurityGroupIngressArgs(
                    description="HTTPS from the VPC",
                    protocol="tcp",
                    from_port=HTTPS,
                    to_port=HTTPS,
                    cidr_blocks=list(self._cidrs),
                )
            ],
            tags=self.tags("endpoints"),
            opts=self.child(),
        )

    def _gateway(self, service: str) -> ec2.VpcEndpoint:
        return ec2.VpcEndpoint(
            service,
            vpc_id=self._vpc_id,
            vpc_endpoint_type="Gateway",
            # S3's gateway has the same name in all partitions.
            service_name=pulumi.Output.concat("com.amazonaws.", self.account.region, f".{service}"),
            route_table_ids=list(self._route_table_ids),
            tags=self.tags(service),
            opts=self.child(),
        )

    def _interface(self, service: str, group: ec2.SecurityGroup) -> ec2.VpcEndpoint:
        prefix = pulumi.Output.all(self.account.partition, self.account.reverse_dns_prefix).apply(
            partial(_name_prefix, service)
        )
        return ec2.VpcEndpoint(
            service,
            vpc_id=self._vpc_id,
            vpc_endpoint_type="Interface",
            service_name=pulumi.Output.concat(prefix, ".", self.account.region, f".{service}"),
            private_dns_enabled=True,
            subnet_ids=list(self._subnet_ids),
            security_group_ids=[group.id],
            tags=self.tags(service),
            opts=self.child(),
        )


def _name_prefix(service: str, partition: Sequence[str]) -> str:
    """Return the prefix of an interface endpoint's name; ``partition`` is its name and its reversed domain."""
    name, own_domain = partition
    return own_domain if name == "aws-cn" and service in _OWN_DOMAIN_IN_CHINA else "com.amazonaws"
