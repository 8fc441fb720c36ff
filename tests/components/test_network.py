"""A new VPC, its gateways, and its endpoints; or an existing one."""

from __future__ import annotations

from typing import Any

import pytest

from components.aws.endpoints import _name_prefix
from components.aws.network import zone_at
from multiarch.errors import StackError
from tests.components import declared
from tests.components.declared import World, world
from tests.stack.test_autoscaling_contradictions import NO_NAT
from tests.stack.words import merged

ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"


def test_the_vpc_resolves_names_and_its_default_security_group_has_no_rules(small: World) -> None:
    vpc = small.inputs(declared.VPC)
    assert (vpc["cidrBlock"], vpc["enableDnsHostnames"], vpc["enableDnsSupport"]) == ("10.0.0.0/16", True, True)
    group = small.inputs("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup")
    assert set(group) == {"tags", "vpcId"}


def test_subnets_lie_in_the_named_zones_or_the_regions_first_by_name(full: World, changed: World) -> None:
    def zones(found: World) -> dict[str, object]:
        return {s.name: s.inputs["availabilityZone"] for s in found.all(declared.SUBNET)}

    assert zones(full) == {
        f"{kind}-{index}": f"eu-west-1{letter}" for kind in ("private", "public") for index, letter in enumerate("abc")
    }
    kinds = ("pods", "private", "public")
    assert zones(changed) == {
        f"{kind}-{index}": f"eu-west-1{letter}" for kind in kinds for index, letter in enumerate("cab")
    }


def test_load_balancers_find_the_subnets_by_their_tags(small: World) -> None:
    for subnet in small.all(declared.SUBNET):
        tags: Any = subnet.inputs["tags"]
        assert tags["kubernetes.io/cluster/shop-dev"] == "shared"
        role = "elb" if subnet.name.startswith("public") else "internal-elb"
        assert [key for key in tags if key.startswith("kubernetes.io/role/")] == [f"kubernetes.io/role/{role}"]
        assert subnet.inputs["mapPublicIpOnLaunch"] is False


def test_every_private_zone_reaches_the_internet_through_nat(small: World, full: World) -> None:
    for found, gateways, zones in ((small, 1, 2), (full, 3, 3)):
        assert len(found.all(declared.NAT)) == gateways
        used = [route.inputs.get("natGatewayId") for route in found.all(declared.ROUTE) if route.name != "public"]
        assert used == [f"<NatGateway:nat-{min(i, gateways - 1)}>" for i in range(zones)]
        for nat in found.all(declared.NAT):
            assert found.one(declared.ROUTE, "public").urn in nat.dependencies


def test_ecr_means_both_of_its_endpoints_and_s3_is_a_gateway(full: World) -> None:
    endpoints = {e.name: e.inputs for e in full.all(declared.ENDPOINT)}
    assert {"ecr.api", "ecr.dkr", "s3"} <= set(endpoints)
    assert "ecr" not in endpoints
    assert endpoints["s3"]["vpcEndpointType"] == "Gateway"
    assert endpoints["s3"]["routeTableIds"] == [f"<RouteTable:private-{i}>" for i in range(3)]
    assert endpoints["ecr.api"]["vpcEndpointType"] == "Interface"
    assert endpoints["ecr.api"]["privateDnsEnabled"] is True
    assert endpoints["ecr.api"]["serviceName"] == "com.amazonaws.eu-west-1.ecr.api"
    # HTTPS from the VPC alone.
    group = full.inputs(declared.SECURITY_GROUP)
    rules = [(r["protocol"], r["fromPort"], r["toPort"], r["cidrBlocks"]) for r in group["ingress"]]
    assert rules == [("tcp", 443, 443, ["10.0.0.0/16"])]
    assert "egress" not in group


def test_endpoints_have_the_names_of_their_partition(in_china: World) -> None:
    names = {each.name: each.inputs["serviceName"] for each in in_china.all(declared.ENDPOINT)}
    assert names["ec2"] == "cn.com.amazonaws.cn-north-1.ec2"
    assert names["ssm"] == "com.amazonaws.cn-north-1.ssm"
    assert names["s3"] == "com.amazonaws.cn-north-1.s3"
    assert _name_prefix("ec2", ("aws-us-gov", "com.amazonaws")) == "com.amazonaws"


def test_of_an_existing_network_nothing_is_made_and_groups_and_control_plane_have_their_subnets(
    with_own_network: World,
) -> None:
    found, network = with_own_network, declared.OWN_NETWORK
    assert not [r for r in found.resources if r.type.startswith("aws:ec2/") and r.type != declared.TEMPLATE]
    cluster = found.inputs(declared.CLUSTER)
    assert (cluster["vpcId"], cluster["privateSubnetIds"]) == (network["vpcId"], network["controlPlaneSubnetIds"])
    zones = [found.inputs(declared.MANAGED, name)["subnetIds"] for name in ("web-a", "web-b", "web-arm")]
    assert zones == [*network["privateSubnets"].values(), ["subnet-00000001", "subnet-00000002", "subnet-00000003"]]


def test_pods_have_a_secondary_cidr_block_with_the_routes_of_their_zone_and_reach_the_endpoints(changed: World) -> None:
    block = changed.one("aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation")
    assert block.inputs["cidrBlock"] == "100.64.0.0/16"
    tables = {each.name: each.inputs for each in changed.all(ASSOCIATION)}
    for index in range(3):
        subnet = changed.one(declared.SUBNET, f"pods-{index}")
        tags: Any = subnet.inputs["tags"]
        assert not [key for key in tags if "kubernetes" in key or "karpenter" in key]
        assert declared.goes_before(changed, subnet, block)
        assert declared.goes_before(changed, changed.one(declared.MANAGED, "web"), subnet)
        assert tables[f"pods-{index}"]["routeTableId"] == tables[f"private-{index}"]["routeTableId"]
    (rule,) = changed.inputs(declared.SECURITY_GROUP)["ingress"]
    assert rule["cidrBlocks"] == ["10.0.0.0/16", "100.64.0.0/16"]


def test_with_ipv6_subnets_have_addresses_and_private_ones_a_way_out_where_they_have_one_for_ipv4(ipv6: World) -> None:
    isolated = world(merged(NO_NAT, {"network": {"ipFamily": "ipv6"}}))
    for found, private in ((ipv6, ["private-0", "private-1"]), (isolated, [])):
        assert found.inputs(declared.VPC)["assignGeneratedIpv6CidrBlock"] is True
        subnets = {s.name: s.inputs for s in found.all(declared.SUBNET)}
        assert {name: (s["ipv6CidrBlock"], s["assignIpv6AddressOnCreation"]) for name, s in subnets.items()} == {
            "private-0": ("2001:db8::/64", True),
            "private-1": ("2001:db8:0:1::/64", True),
            "public-0": ("2001:db8:0:8::/64", False),
            "public-1": ("2001:db8:0:9::/64", False),
        }
        routes = {each.name: each.inputs for each in found.all(declared.ROUTE)}
        assert sorted(routes) == sorted(f"{name}{end}" for name in (*private, "public") for end in ("", "-ipv6"))
        for name in private:
            gateway = routes[f"{name}-ipv6"]["egressOnlyGatewayId"]
            assert gateway == "<EgressOnlyInternetGateway:internet-ipv6>"
        cluster = found.inputs(declared.CLUSTER)
        assert (cluster["ipFamily"], "kubernetesServiceIpAddressRange" in cluster) == ("ipv6", False)
    assert not isolated.all(declared.NAT)
    assert not isolated.all("aws:ec2/eip:Eip")


def test_a_group_in_some_zones_uses_their_private_subnets(changed: World) -> None:
    assert changed.inputs(declared.MANAGED, "web")["subnetIds"] == ["<Subnet:private-0>", "<Subnet:private-1>"]
    assert len(changed.inputs(declared.MANAGED, "web-arm")["subnetIds"]) == 3


def test_a_region_with_too_few_zones_is_rejected() -> None:
    assert zone_at(1, ["eu-west-1b", "eu-west-1a"]) == "eu-west-1b"
    with pytest.raises(StackError, match="the region has 2 availability zones for EKS") as rejected:
        zone_at(2, ["eu-west-1b", "eu-west-1a"])
    assert [problem.rule for problem in rejected.value.problems] == ["too-few-zones"]
