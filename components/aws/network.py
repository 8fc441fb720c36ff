"""The network: a new VPC with subnets, NAT and endpoints, or an existing one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from ipaddress import IPv6Network
from itertools import islice
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi_aws import ec2

from multiarch.errors import Problem, StackError
from multiarch.facts.partitions import ZONE_IDS_WITHOUT_EKS
from multiarch.nodes.model import NodeGroupPlan, Tags
from multiarch.stack.model import ExistingNetwork, Nat, NewNetwork, SubnetPlan

from ..component import Child, Component
from .endpoints import Endpoints

ANYWHERE = "0.0.0.0/0"
_FIRST_PUBLIC = 8


class Network(Child):
    """A VPC with its subnets.

    ``ready`` is what nodes need to reach AWS (routes, NAT gateways, endpoints): node groups depend on it, so that they
    are created after it and deleted before it. Nothing is declared for an existing network; ``vpc_id`` is that of an
    existing cluster.
    """

    vpc_id: pulumi.Output[str]
    private_subnet_ids: list[pulumi.Output[str]]
    control_plane_subnet_ids: list[pulumi.Output[str]]
    public_subnet_ids: list[pulumi.Output[str]]
    pod_subnets: list[tuple[pulumi.Output[str], pulumi.Output[str]]]
    """Subnets for pods alone: zone and ID. Empty where pods are in those of nodes."""
    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self,
        name: str,
        owner: Component,
        plan: NewNetwork | ExistingNetwork,
        node_tags: Tags = (),
        vpc_id: pulumi.Output[str] | None = None,
    ) -> None:
        """Declare the plan's network; ``node_tags`` are for its private subnets, so that Karpenter finds them."""
        super().__init__(name, owner)
        self._node_tags = node_tags
        if isinstance(plan, NewNetwork):
            self._declare(plan)
        else:
            self.vpc_id = vpc_id or pulumi.Output.from_input(plan.vpc_id)
            self.private_subnet_ids = [pulumi.Output.from_input(id_) for id_ in plan.private_subnet_ids]
            self._zones_of_subnets = [zone for zone, ids in plan.subnets_by_zone for _ in ids]
            self.public_subnet_ids = []
            self.pod_subnets = [
                (pulumi.Output.from_input(zone), pulumi.Output.from_input(id_)) for zone, id_ in plan.pod_subnets
            ]
            self.ready = ()
        own = plan.control_plane_subnet_ids if isinstance(plan, ExistingNetwork) else ()
        self.control_plane_subnet_ids = [pulumi.Output.from_input(id_) for id_ in own] or self.private_subnet_ids
        self.register_outputs(
            {
                "vpcId": self.vpc_id,
                "privateSubnetIds": self.private_subnet_ids,
                "publicSubnetIds": self.public_subnet_ids,
            }
        )

    def subnets_of(self, group: NodeGroupPlan) -> list[pulumi.Output[str]]:
        """Return IDs of the private subnets in the group's zones; all of them when it names none."""
        if not group.zones:
            return self.private_subnet_ids
        named = zip(self._zones_of_subnets, self.private_subnet_ids, strict=True)
        return [subnet for zone, subnet in named if zone in group.zones]

    def _declare(self, plan: NewNetwork) -> None:
        vpc = ec2.Vpc(
            "vpc",
            cidr_block=plan.cidr,
            enable_dns_hostnames=True,
            enable_dns_support=True,
            assign_generated_ipv6_cidr_block=True if plan.ipv6 else None,
            tags=self.tags("vpc"),
            opts=self.child(),
        )
        self.vpc_id, self._ipv6 = vpc.id, vpc.ipv6_cidr_block if plan.ipv6 else None
        # Every VPC has a default group whose members can reach each other; without rules it can't be used by mistake.
        ec2.DefaultSecurityGroup("default", vpc_id=vpc.id, tags=self.tags("default-closed"), opts=self.child())
        gateway = ec2.InternetGateway("internet", vpc_id=vpc.id, tags=self.tags("internet"), opts=self.child())
        zones = self._zones(plan)
        public = self._subnets([s for s in plan.subnets if s.public], zones)
        private = self._subnets([s for s in plan.subnets if not s.public], zones)
        table, routes = self._route_table("public", public)
        routes += self._default_routes("public", table, gateway=gateway)
        nats = self._nats(plan.nat, public, routes)
        outward = self._outward_gateway() if plan.ipv6 and nats else None
        tables: list[ec2.RouteTable] = []
        ready: list[pulumi.Resource] = [*routes, *nats]
        for index, subnet in enumerate(private):
            name = f"private-{index}"
            table, routes = self._route_table(name, [subnet])
            if nats:
                routes += self._default_routes(name, table, nat=nats[min(index, len(nats) - 1)], outward=outward)
            tables.append(table)
            ready += routes
        self._zones_of_subnets = list(plan.zones)
        self.private_subnet_ids = [subnet.id for subnet in private]
        self.public_subnet_ids = [subnet.id for subnet in public]
        self.pod_subnets = self._for_pods(plan, zones, tables, ready) if plan.pod_cidr else []
        self.ready = tuple(ready)
        if plan.endpoints:
            route_tables = [table.id for table in tables]
            made = Endpoints("endpoints", self, plan, vpc.id, self.private_subnet_ids, route_tables)
            self.ready += made.resources

    def _for_pods(
        self,
        plan: NewNetwork,
        zones: Sequence[pulumi.Output[str]],
        tables: Sequence[ec2.RouteTable],
        ready: list[pulumi.Resource],
    ) -> list[tuple[pulumi.Output[str], pulumi.Output[str]]]:
        """Declare the secondary CIDR block with its subnets, which have the routes of the zone's private subnet.

        Load balancers and Karpenter's nodes are not to be in them: they have none of the tags. Add to ``ready``.
        """
        block = ec2.VpcIpv4CidrBlockAssociation("pods", vpc_id=self.vpc_id, cidr_block=plan.pod_cidr, opts=self.child())
        found = []
        for subnet, zone, table in zip(plan.pod_subnets, zones, tables, strict=True):
            made = ec2.Subnet(
                subnet.name,
                vpc_id=self.vpc_id,
                cidr_block=subnet.cidr,
                availability_zone=zone,
                map_public_ip_on_launch=False,
                tags=self.tags(subnet.name),
                opts=self.child(depends_on=[block]),
            )
            name, opts = subnet.name, self.child()
            ready.append(ec2.RouteTableAssociation(name, route_table_id=table.id, subnet_id=made.id, opts=opts))
            found.append((zone, made.id))
        return found

    def _zones(self, plan: NewNetwork) -> list[pulumi.Output[str]]:
        """Return names of the zones: the plan's, or the first ones of the region by name."""
        if plan.zones:
            return [pulumi.Output.from_input(zone) for zone in plan.zones]
        offered = aws.get_availability_zones_output(
            # Local and Wavelength Zones need an opt-in, and EKS can't use them for the control plane.
            filters=[aws.GetAvailabilityZonesFilterArgs(name="opt-in-status", values=["opt-in-not-required"])],
            exclude_zone_ids=list(ZONE_IDS_WITHOUT_EKS),
            opts=pulumi.InvokeOptions(parent=self),
        ).names
        # Sorted: AWS does not guarantee an order, and a subnet with another zone is a new subnet.
        return [offered.apply(partial(zone_at, index)) for index in range(plan.zone_count)]

    def _subnets(self, plans: Sequence[SubnetPlan], zones: Sequence[pulumi.Output[str]]) -> list[ec2.Subnet]:
        return [
            ec2.Subnet(
                plan.name,
                vpc_id=self.vpc_id,
                cidr_block=plan.cidr,
                availability_zone=zones[plan.zone],
                **self._take_ipv6(plan),
                # Only NAT gateways and load balancers are in public subnets, and they have their own addresses.
                map_public_ip_on_launch=False,
                # Source: EKS user guide, "Subnet requirements for load balancers".
                tags=self.tags(
                    plan.name,
                    {
                        f"kubernetes.io/cluster/{self.naming.cluster}": "shared",
                        "kubernetes.io/role/elb" if plan.public else "kubernetes.io/role/internal-elb": "1",
                        **({} if plan.public else dict(self._node_tags)),
                    },
                ),
                opts=self.child(),
            )
            for plan in sorted(plans, key=lambda plan: plan.zone)
        ]

    def _route_table(self, name: str, subnets: Sequence[ec2.Subnet]) -> tuple[ec2.RouteTable, list[pulumi.Resource]]:
        """Declare a route table for some subnets; the list holds its associations."""
        table = ec2.RouteTable(name, vpc_id=self.vpc_id, tags=self.tags(name), opts=self.child())
        associations: list[pulumi.Resource] = []
        for index, subnet in enumerate(subnets):
            association = name if len(subnets) == 1 else f"{name}-{index}"
            associations.append(
                ec2.RouteTableAssociation(association, route_table_id=table.id, subnet_id=subnet.id, opts=self.child())
            )
        return table, associations

    def _take_ipv6(self, plan: SubnetPlan) -> dict[str, Any]:
        """Return a subnet's /64 of the VPC's /56: the zone's number, and from 8 on that of public ones."""
        if self._ipv6 is None:
            return {}
        block = self._ipv6.apply(partial(cut_ipv6, plan.zone + (_FIRST_PUBLIC if plan.public else 0)))
        return {"ipv6_cidr_block": block, "assign_ipv6_address_on_creation": not plan.public}

    def _outward_gateway(self) -> ec2.EgressOnlyInternetGateway:
        name = "internet-ipv6"
        return ec2.EgressOnlyInternetGateway(name, vpc_id=self.vpc_id, tags=self.tags(name), opts=self.child())

    def _default_routes(
        self,
        name: str,
        table: ec2.RouteTable,
        *,
        gateway: ec2.InternetGateway | None = None,
        nat: ec2.NatGateway | None = None,
        outward: ec2.EgressOnlyInternetGateway | None = None,
    ) -> list[ec2.Route]:
        made = [
            ec2.Route(
                name,
                route_table_id=table.id,
                destination_cidr_block=ANYWHERE,
                gateway_id=gateway.id if gateway else None,
                nat_gateway_id=nat.id if nat else None,
                opts=self.child(),
            )
        ]
        if self._ipv6 is not None:
            ipv6 = ec2.Route(
                f"{name}-ipv6",
                route_table_id=table.id,
                destination_ipv6_cidr_block="::/0",
                gateway_id=gateway.id if gateway else None,
                egress_only_gateway_id=outward.id if outward else None,
                opts=self.child(),
            )
            made.append(ipv6)
        return made

    def _nats(self, nat: Nat, public: Sequence[ec2.Subnet], routes: Sequence[pulumi.Resource]) -> list[ec2.NatGateway]:
        """Declare no NAT gateway, one, or one per zone; ``routes`` are the public subnets' to the internet."""
        count = {Nat.NONE: 0, Nat.SINGLE: 1, Nat.PER_ZONE: len(public)}[nat]
        gateways = []
        for index, subnet in enumerate(public[:count]):
            name = f"nat-{index}"
            address = ec2.Eip(name, domain="vpc", tags=self.tags(name), opts=self.child(depends_on=routes))
            gateways.append(
                ec2.NatGateway(
                    name,
                    allocation_id=address.allocation_id,
                    subnet_id=subnet.id,
                    tags=self.tags(name),
                    opts=self.child(depends_on=routes),
                )
            )
        return gateways


def cut_ipv6(index: int, block: str) -> str:
    """Return a /64 of the IPv6 CIDR block that Amazon gives a VPC, a /56."""
    return str(next(islice(IPv6Network(block).subnets(new_prefix=64), index, None)))


def zone_at(index: int, names: Sequence[str]) -> str:
    """Return the zone at ``index`` by name. Raises StackError when the region has too few."""
    if index < len(names):
        return sorted(names)[index]
    raise StackError(
        [
            Problem(
                rule="too-few-zones",
                key="network.zones",
                message=f"the region has {len(names)} availability zones for EKS.",
                hint=f"Set zones to {len(names)} or less, or choose another region.",
                value=index + 1,
            )
        ]
    )
