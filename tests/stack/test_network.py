"""Subnets cut from a VPC's CIDR block, and the room in them."""

from __future__ import annotations

from ipaddress import IPv4Network
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from multiarch.stack.model import ExistingNetwork, Nat, NewNetwork
from multiarch.stack.network import count_addresses, cut_subnets
from tests.stack.words import plan, problems

BY_ZONE = {
    "vpcId": "vpc-0123456789abcdef0",
    "privateSubnets": {"eu-west-1a": ["subnet-00000001"], "eu-west-1b": ["subnet-00000002"]},
}
OWN = {"kind": "self-managed"}


def test_a_16_with_three_zones_gives_each_an_eighth_and_small_public_subnets() -> None:
    subnets = cut_subnets(IPv4Network("10.0.0.0/16"), 3)
    assert [(s.name, s.cidr, s.zone) for s in subnets if not s.public] == [
        ("private-0", "10.0.0.0/19", 0),
        ("private-1", "10.0.32.0/19", 1),
        ("private-2", "10.0.64.0/19", 2),
    ]
    assert [s.cidr for s in subnets if s.public] == ["10.0.224.0/24", "10.0.225.0/24", "10.0.226.0/24"]


@given(st.integers(16, 22), st.integers(2, 5))
def test_a_further_zone_moves_no_subnet(prefix: int, zones: int) -> None:
    vpc = IPv4Network(f"10.0.0.0/{prefix}")
    assert set(cut_subnets(vpc, zones)) < set(cut_subnets(vpc, zones + 1))


@given(st.integers(16, 22), st.integers(2, 6))
def test_subnets_lie_in_the_vpc_and_apart_from_each_other(prefix: int, zones: int) -> None:
    vpc = IPv4Network(f"10.0.0.0/{prefix}")
    subnets = cut_subnets(vpc, zones)
    networks = [IPv4Network(s.cidr) for s in subnets]
    assert len(networks) == 2 * zones
    assert all(n.subnet_of(vpc) and n.prefixlen <= 28 for n in networks)
    assert not any(a.overlaps(b) for a, b in combinations(networks, 2))


def test_a_new_network_has_defaults() -> None:
    network = plan().network
    assert isinstance(network, NewNetwork)
    assert (network.cidr, network.zone_count, network.zones, network.nat) == ("10.0.0.0/16", 2, (), Nat.SINGLE)


def test_an_existing_network_is_taken_as_it_is() -> None:
    ids = ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]
    network = plan({"network": {"vpcId": "vpc-0123456789abcdef0", "privateSubnetIds": ids}}).network
    assert network == ExistingNetwork("vpc-0123456789abcdef0", tuple(ids))


def test_a_private_cluster_with_all_its_endpoints_is_accepted() -> None:
    endpoints = ["ec2", "ec2messages", "ecr", "eks", "eks-auth", "logs", "s3", "ssm", "ssmmessages", "sts"]
    network = plan({"network": {"nat": "none", "endpoints": endpoints}}).network
    assert isinstance(network, NewNetwork)
    assert network.endpoints == tuple(endpoints)


def test_a_full_node_takes_its_interfaces_whole_and_whole_prefixes_with_prefix_delegation() -> None:
    web = plan().node_groups[0]
    # m7i.large: 3 interfaces of 10 addresses, 29 pods, two of them on the host's network.
    assert (web.name, web.max_pods) == ("web", 29)
    assert count_addresses(web, prefix_delegation=False) == 30
    dense = plan({"addons": {"vpcCni": {"prefixDelegation": True}}}).node_groups[0]
    assert dense.max_pods == 110
    assert dense.max_pods_written
    assert count_addresses(dense, prefix_delegation=True) == 1 + 112  # seven /28 prefixes fit on one interface


PODS = {"podCidr": "100.64.0.0/16"}


def test_pods_get_subnets_of_their_own_and_nodes_say_how_many_fit() -> None:
    made = plan({"network": {**PODS, "zones": 3}, "nodeGroups": {"own": {"instanceTypes": ["m7i.large"], **OWN}}})
    assert isinstance(made.network, NewNetwork)
    assert [(s.name, s.cidr, s.zone) for s in made.network.pod_subnets] == [
        ("pods-0", "100.64.0.0/19", 0),
        ("pods-1", "100.64.32.0/19", 1),
        ("pods-2", "100.64.64.0/19", 2),
    ]
    # m7i.large: 3 interfaces of 10 addresses. EKS computes it too, from the CNI that it finds.
    assert {(group.max_pods, group.max_pods_written) for group in made.node_groups} == {(20, True)}
    assert count_addresses(made.node_groups[0], prefix_delegation=False, custom_networking=True) == 20


def test_nodes_then_need_one_address_each_and_pods_are_counted_in_their_subnets() -> None:
    def found(**network: str) -> list[tuple[str | None, str]]:
        change = {"network": {"cidr": "10.0.0.0/22", **network}, "nodeGroups": {"web": {"maxSize": 40}}}
        return [(each.key, each.message) for each in problems(change) if each.rule == "subnets-too-small"]

    assert [key for key, _ in found()] == ["network.cidr"]
    assert found(**PODS) == []
    assert found(ipFamily="ipv6") == []
    small = "subnet pods-0 (100.64.0.0/24) has 251 addresses, and the pods need 440 at maxSize."
    assert found(podCidr="100.64.0.0/21") == [("network.podCidr", small)]


def test_an_existing_vpc_may_have_subnets_for_pods() -> None:
    pods = {"eu-west-1a": "subnet-00000008", "eu-west-1b": "subnet-00000009"}
    made = plan({"network": {**BY_ZONE, "podSubnets": pods}})
    assert isinstance(made.network, ExistingNetwork)
    assert made.network.pod_subnets == tuple(pods.items())
    assert {group.max_pods for group in made.node_groups} == {20}


def test_an_image_in_the_launch_template_keeps_the_number_of_pods_that_eks_sets() -> None:
    large = {"instanceTypes": ["m7i.24xlarge", "m7i.4xlarge"]}
    image = {"ami": {"id": "ami-0123456789abcdef0"}}
    eks, pinned = (plan({"nodeGroups": {"web": {**large, **more}}}).node_groups[0] for more in ({}, image))
    assert (eks.max_pods, eks.max_pods_written) == (110, False)
    assert (pinned.max_pods, pinned.max_pods_written) == (110, True)


def test_groups_bound_to_one_zone_count_against_its_subnet_alone() -> None:
    network = {"zones": ["eu-west-1a", "eu-west-1b"], "cidr": "10.0.0.0/20"}
    spread = {"network": network, "nodeGroups": {"web": {"maxSize": 26}}}
    bound = {"network": network, "nodeGroups": {"web": {"maxSize": 26, "zones": ["eu-west-1b"]}}}
    assert "subnets-too-small" not in {p.rule for p in problems(spread)}
    [problem] = [p for p in problems(bound) if p.rule == "subnets-too-small"]
    assert "private-1" in problem.message
