"""A new VPC, its gateways, and its endpoints; or an existing one."""

from __future__ import annotations

from typing import Any

import pytest

from components.aws.network import zone_at
from multiarch.errors import StackError
from tests.components import declared
from tests.components.declared import World, world

EXISTING: dict[str, Any] = {
    "network": {
        "vpcId": "vpc-0123456789abcdef0",
        "privateSubnetIds": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
    }
}


def test_the_vpc_resolves_names_and_hands_them_out(small: World) -> None:
    vpc = small.inputs(declared.VPC)
    assert (vpc["cidrBlock"], vpc["enableDnsHostnames"], vpc["enableDnsSupport"]) == ("10.0.0.0/16", True, True)


def test_the_default_security_group_is_left_without_rules(small: World) -> None:
    group = small.inputs("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup")
    assert set(group) == {"tags", "vpcId"}


def test_subnets_lie_in_the_regions_first_zones_by_name(full: World) -> None:
    zones = {s.name: s.inputs["availabilityZone"] for s in full.all(declared.SUBNET)}
    assert zones == {
        f"{kind}-{index}": f"eu-west-1{letter}" for kind in ("private", "public") for index, letter in enumerate("abc")
    }


def test_named_zones_are_taken_as_they_are() -> None:
    found = world({"network": {"zones": ["eu-west-1c", "eu-west-1a"]}})
    assert {s.inputs["availabilityZone"] for s in found.all(declared.SUBNET)} == {"eu-west-1a", "eu-west-1c"}


def test_load_balancers_find_the_subnets_by_their_tags(small: World) -> None:
    for subnet in small.all(declared.SUBNET):
        tags: Any = subnet.inputs["tags"]
        assert tags["kubernetes.io/cluster/shop-dev"] == "shared"
        role = "elb" if subnet.name.startswith("public") else "internal-elb"
        assert [key for key in tags if key.startswith("kubernetes.io/role/")] == [f"kubernetes.io/role/{role}"]
        assert subnet.inputs["mapPublicIpOnLaunch"] is False


@pytest.mark.parametrize(("nat", "gateways"), [("single", 1), ("per-zone", 3)])
def test_every_private_zone_has_a_fix_through_nat(nat: str, gateways: int) -> None:
    found = world({"network": {"nat": nat, "zones": 3}})
    assert len(found.all(declared.NAT)) == gateways
    used = [route.inputs.get("natGatewayId") for route in found.all(declared.ROUTE) if route.name != "public"]
    assert used == [f"<NatGateway:nat-{min(i, gateways - 1)}>" for i in range(3)]


def test_without_nat_there_is_no_route_to_the_internet_from_private_subnets() -> None:
    services = ["ec2", "ec2messages", "ecr", "eks", "eks-auth", "logs", "s3", "ssm", "ssmmessages", "sts"]
    found = world({"network": {"nat": "none", "endpoints": services}})
    assert [route.name for route in found.all(declared.ROUTE)] == ["public"]
    assert not found.all(declared.NAT)
    assert not found.all("aws:ec2/eip:Eip")


def test_nat_gateways_wait_for_the_internet_gateways_route(small: World) -> None:
    assert small.one(declared.ROUTE, "public").urn in small.one(declared.NAT).dependencies


def test_ecr_means_both_of_its_endpoints_and_s3_is_a_gateway(full: World) -> None:
    endpoints = {e.name: e.inputs for e in full.all(declared.ENDPOINT)}
    assert {"ecr.api", "ecr.dkr", "s3"} <= set(endpoints)
    assert "ecr" not in endpoints
    assert endpoints["s3"]["vpcEndpointType"] == "Gateway"
    assert endpoints["s3"]["routeTableIds"] == [f"<RouteTable:private-{i}>" for i in range(3)]
    assert endpoints["ecr.api"]["vpcEndpointType"] == "Interface"
    assert endpoints["ecr.api"]["privateDnsEnabled"] is True
    assert endpoints["ecr.api"]["serviceName"] == "com.amazonaws.eu-west-1.ecr.api"


def test_endpoints_let_https_in_from_the_vpc_alone(full: World) -> None:
    group = full.inputs(declared.SECURITY_GROUP)
    rules = [(r["protocol"], r["fromPort"], r["toPort"], r["cidrBlocks"]) for r in group["ingress"]]
    assert rules == [("tcp", 443, 443, ["10.0.0.0/16"])]
    assert "egress" not in group


@pytest.mark.parametrize(
    ("region", "service", "name"),
    [
        ("eu-west-1", "ec2", "com.amazonaws.eu-west-1.ec2"),
        ("us-gov-west-1", "ec2", "com.amazonaws.us-gov-west-1.ec2"),
        ("cn-north-1", "ec2", "cn.com.amazonaws.cn-north-1.ec2"),
        ("cn-north-1", "ssm", "com.amazonaws.cn-north-1.ssm"),
        ("cn-north-1", "s3", "com.amazonaws.cn-north-1.s3"),
    ],
)
def test_endpoints_have_the_names_of_their_partition(region: str, service: str, name: str) -> None:
    found = world({"network": {"endpoints": [service]}}, region=region)
    assert found.inputs(declared.ENDPOINT, service)["serviceName"] == name


def test_an_existing_network_is_used_and_nothing_of_a_network_is_made() -> None:
    found = world(EXISTING)
    assert not [r for r in found.resources if r.type.startswith("aws:ec2/") and r.type != declared.TEMPLATE]
    assert found.inputs(declared.CLUSTER)["vpcId"] == "vpc-0123456789abcdef0"
    assert found.inputs(declared.MANAGED, "web")["subnetIds"] == EXISTING["network"]["privateSubnetIds"]


def test_subnets_by_zone_give_groups_their_zones_and_the_control_plane_may_have_its_own() -> None:
    by_zone = {"eu-west-1a": ["subnet-00000001"], "eu-west-1b": ["subnet-00000002", "subnet-00000003"]}
    own = ["subnet-00000008", "subnet-00000009"]
    network = {"vpcId": "vpc-0123456789abcdef0", "privateSubnets": by_zone, "controlPlaneSubnetIds": own}
    found = world({"network": network, "nodeGroups": {"web": {"onePerZone": True}}})
    assert found.inputs(declared.CLUSTER)["privateSubnetIds"] == own
    zones = [found.inputs(declared.MANAGED, name)["subnetIds"] for name in ("web-a", "web-b", "web-arm")]
    assert zones == [*by_zone.values(), ["subnet-00000001", "subnet-00000002", "subnet-00000003"]]


def test_pods_have_a_secondary_cidr_block_with_the_routes_of_their_zone_and_reach_the_endpoints() -> None:
    found = world({"network": {"podCidr": "100.64.0.0/16", "endpoints": ["sts"]}})
    block = found.one("aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation")
    assert block.inputs["cidrBlock"] == "100.64.0.0/16"
    tables = {each.name: each.inputs for each in found.all("aws:ec2/routeTableAssociation:RouteTableAssociation")}
    for index in range(2):
        subnet = found.one(declared.SUBNET, f"pods-{index}")
        assert subnet.inputs["availabilityZone"] == f"eu-west-1{'ab'[index]}"
        tags: Any = subnet.inputs["tags"]
        assert not [key for key in tags if "kubernetes" in key or "karpenter" in key]
        assert declared.goes_before(found, subnet, block)
        assert declared.goes_before(found, found.one(declared.MANAGED, "web"), subnet)
        assert tables[f"pods-{index}"]["routeTableId"] == tables[f"private-{index}"]["routeTableId"]
    (rule,) = found.inputs(declared.SECURITY_GROUP)["ingress"]
    assert rule["cidrBlocks"] == ["10.0.0.0/16", "100.64.0.0/16"]


@pytest.mark.parametrize("nat", ["single", "none"])
def test_with_ipv6_subnets_have_addresses_and_private_ones_a_way_out_where_they_have_one_for_ipv4(nat: str) -> None:
    endpoints = ["ec2", "ec2messages", "ecr", "eks", "eks-auth", "logs", "s3", "ssm", "ssmmessages", "sts"]
    found = world({"network": {"ipFamily": "ipv6", "nat": nat, "endpoints": endpoints}})
    assert found.inputs(declared.VPC)["assignGeneratedIpv6CidrBlock"] is True
    subnets = {s.name: s.inputs for s in found.all(declared.SUBNET)}
    assert {name: (s["ipv6CidrBlock"], s["assignIpv6AddressOnCreation"]) for name, s in subnets.items()} == {
        "private-0": ("2001:db8::/64", True),
        "private-1": ("2001:db8:0:1::/64", True),
        "public-0": ("2001:db8:0:8::/64", False),
        "public-1": ("2001:db8:0:9::/64", False),
    }
    routes = {s.name: s.inputs for s in found.all(declared.ROUTE) if s.inputs.get("destinationIpv6CidrBlock") == "::/0"}
    private = ["private-0-ipv6", "private-1-ipv6"] if nat == "single" else []
    assert sorted(routes) == [*private, "public-ipv6"]
    assert all(routes[name]["egressOnlyGatewayId"] == "<EgressOnlyInternetGateway:internet-ipv6>" for name in private)
    cluster = found.inputs(declared.CLUSTER)
    assert (cluster["ipFamily"], "kubernetesServiceIpAddressRange" in cluster) == ("ipv6", False)


def test_a_group_in_some_zones_uses_their_private_subnets() -> None:
    found = world(
        {
            "network": {"zones": ["eu-west-1a", "eu-west-1b", "eu-west-1c"]},
            "nodeGroups": {"web": {"zones": ["eu-west-1c", "eu-west-1a"]}},
        }
    )
    assert found.inputs(declared.MANAGED, "web")["subnetIds"] == ["<Subnet:private-0>", "<Subnet:private-2>"]
    assert len(found.inputs(declared.MANAGED, "web-arm")["subnetIds"]) == 3


def test_a_region_with_too_few_zones_is_rejected() -> None:
    assert zone_at(1, ["eu-west-1b", "eu-west-1a"]) == "eu-west-1b"
    with pytest.raises(StackError, match="the region has 2 availability zones for EKS") as rejected:
        zone_at(2, ["eu-west-1b", "eu-west-1a"])
    assert [problem.rule for problem in rejected.value.problems] == ["too-few-zones"]
