"""What security groups let through, and what the internet reaches, after a change and not before."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.observed.resources.paths import UNKNOWN
from multiarch.review.model import Operation, Step
from tests.review.permissions.steps import find, step, urn

GROUP, RULE = "aws:ec2/securityGroup:SecurityGroup", "aws:ec2/securityGroupRule:SecurityGroupRule"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
LIST, ENTRY = "aws:ec2/managedPrefixList:ManagedPrefixList", "aws:ec2/managedPrefixListEntry:ManagedPrefixListEntry"
WEB = "widen-network: security group web lets through: "
SERVICE, ROUTES = "kubernetes:core/v1:Service", "kubernetes:networking.k8s.io/v1:Ingress"
PRIVATE = {"endpointPublicAccess": False}
EVERYTHING = {"protocol": "-1", "fromPort": 0, "toPort": 0, "cidrBlocks": ["0.0.0.0/0"]}


def rule(port: int, *cidrs: str, **more: Any) -> dict[str, Any]:
    return {"protocol": "tcp", "fromPort": port, "toPort": port, "cidrBlocks": list(cidrs), **more}


def group(old: list[Any] | None, new: list[Any] | None, direction: str = "ingress") -> list[str]:
    before, after = (None if each is None else {direction: each} for each in (old, new))
    return find(step(GROUP, "web", before, after, outputs={"id": "sg-1"}))


def kept(name: str, id_: str) -> Step:
    return step(GROUP, name, {"name": name}, {"name": name}, outputs={"id": id_, "arn": id_})


def test_ports_and_addresses_more_are_reported() -> None:
    assert group([rule(443, "10.0.0.0/8")], [rule(443, "10.0.0.0/8", "0.0.0.0/1"), rule(22, "0.0.0.0/0")]) == [
        f"HIGH {WEB}tcp 443 from 0.0.0.0/1; and 1 more",
        "tcp 22 from 0.0.0.0/0 (everyone)",
    ]
    assert group([rule(443, "10.0.0.0/16")], [rule(443, "10.0.0.0/15")]) == [f"MEDIUM {WEB}tcp 443 from 10.0.0.0/15"]
    assert group([rule(443, "10.0.0.0/8")], [rule(443, "10.0.0.0/8", toPort=444)])[0].startswith(
        f"MEDIUM {WEB}tcp 443-444 from 10.0.0.0/8"
    )
    assert group([], [rule(443, "10.0.0.0/8", toPort=None)]) == [f"MEDIUM {WEB}tcp 443-65535 from 10.0.0.0/8"]
    ping = {"protocol": "icmp", "fromPort": 8, "toPort": -1, "cidrBlocks": ["10.0.0.0/8"]}
    assert group([ping], [ping | {"fromPort": -1}])[0] == f"MEDIUM {WEB}icmp (all ports) from 10.0.0.0/8"
    assert group([ping], [ping | {"toPort": 0}])[0].startswith("LOW narrow-permissions")


def test_all_traffic_and_what_goes_out_are_one_line() -> None:
    assert group([rule(443, "10.0.0.0/8")], [EVERYTHING]) == [
        f"HIGH {WEB}all traffic (all ports) from 0.0.0.0/0 (everyone)"
    ]
    assert group([], [EVERYTHING], "egress") == [f"LOW {WEB}all traffic (all ports) to 0.0.0.0/0 (everyone)"]
    assert group([EVERYTHING], [rule(443, "10.0.0.0/8")]) == [
        (
            "LOW narrow-permissions: security group web no longer lets through: "
            "all traffic (all ports) from 0.0.0.0/0 (everyone)"
        )
    ]


def test_the_same_traffic_written_in_another_way_is_not_reported() -> None:
    new = {"protocol": "6", "fromPort": 80, "toPort": 80, "cidrBlocks": ["10.0.0.0/8"], "description": "the VPC"}
    assert group([rule(80, "10.0.0.0/8")], [new]) == []


@pytest.mark.parametrize("type_", [RULE, INGRESS, EGRESS])
def test_rules_may_be_resources_of_their_own(type_: str) -> None:
    to = {"securityGroupId": "sg-1", "fromPort": 22, "toPort": 22}
    inputs = {
        RULE: {**to, "type": "ingress", "protocol": "tcp", "cidrBlocks": ["0.0.0.0/0"]},
        INGRESS: {**to, "ipProtocol": "tcp", "cidrIpv4": "0.0.0.0/0"},
        EGRESS: {**to, "ipProtocol": "tcp", "cidrIpv4": "0.0.0.0/0"},
    }[type_]
    risk, word = ("LOW", "to") if type_ == EGRESS else ("HIGH", "from")
    assert find(kept("web", "sg-1"), step(type_, "ssh", None, inputs)) == [
        f"{risk} {WEB}tcp 22 {word} 0.0.0.0/0 (everyone)"
    ]


def test_other_groups_and_prefix_lists_are_named() -> None:
    new = [rule(443, securityGroups=["sg-2", "sg-9"], prefixListIds=["pl-1"], self=True)]
    steps = [kept("workers", "sg-2"), step(GROUP, "web", {"ingress": []}, {"ingress": new}, outputs={"id": "sg-1"})]
    peers = "sg-2, sg-9, pl-1, the group itself"
    assert find(*steps) == [f"MEDIUM {WEB}tcp 443 from {peers}"]


def test_a_new_or_replaced_group_of_the_stack_is_known_by_where_its_id_comes_from() -> None:
    peer = step(GROUP, "workers", None, {"name": "workers"})
    inputs = {"securityGroupId": "sg-1", "ipProtocol": "-1", "referencedSecurityGroupId": UNKNOWN}
    known = step(INGRESS, "all", None, inputs, depends={"referencedSecurityGroupId": urn(GROUP, "workers")})
    assert find(kept("web", "sg-1"), peer, known) == [
        f"MEDIUM {WEB}all traffic (all ports) from security group workers"
    ]
    assert find(kept("web", "sg-1"), peer, step(INGRESS, "all", None, inputs)) == [
        f"HIGH {WEB}a security group that is known only after the update"
    ]
    replaced = step(GROUP, "web", {"name": "a"}, {"name": "b"}, outputs={"id": "sg-1"}, operation=Operation.REPLACE)
    old, new = ({"securityGroupId": id_, "ipProtocol": "-1", "cidrIpv4": "10.0.0.0/8"} for id_ in ("sg-1", UNKNOWN))
    again = step(INGRESS, "ssh", old, new, operation=Operation.REPLACE, depends={"securityGroupId": urn(GROUP, "web")})
    assert find(replaced, again) == []


@pytest.mark.parametrize(
    ("strange", "reason"),
    [
        (rule(443, UNKNOWN), "a CIDR block that is known only after the update"),
        (rule(443, "10.0.0.0/64"), "'10.0.0.0/64', which is not a CIDR block"),
        (rule(443, "10.0.0.0/8", fromPort=UNKNOWN), "a rule with a fromPort that is known only after the update"),
        (rule(443, "10.0.0.0/8", protocol=UNKNOWN), "a rule with a protocol that is known only after the update"),
        (UNKNOWN, "a rule for ingress that is known only after the update"),
    ],
)
def test_a_rule_that_cannot_be_read_is_reported(strange: Any, reason: str) -> None:  # noqa: ANN401
    assert group([rule(443, "10.0.0.0/8")], [strange]) == [f"HIGH {WEB}{reason}"]


def test_more_addresses_in_a_prefix_list_are_reported() -> None:
    old, new = ({"entries": [{"cidr": each}]} for each in ("10.0.0.0/9", "10.0.0.0/8"))
    head = "widen-network: managed prefix list offices lets through: from"
    assert find(step(LIST, "offices", old, new, outputs={"id": "pl-1"})) == [f"MEDIUM {head} 10.0.0.0/8"]
    more = step(ENTRY, "home", None, {"prefixListId": "pl-1", "cidr": "8.8.8.8/32"})
    assert find(step(LIST, "offices", old, old, outputs={"id": "pl-1"}), more) == [f"HIGH {head} 8.8.8.8/32"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (PRIVATE, {"endpointPublicAccess": True}, "HIGH can be reached from: 0.0.0.0/0 (everyone)"),
        (PRIVATE, {}, "HIGH can be reached from: 0.0.0.0/0 (everyone)"),
        (None, {"publicAccessCidrs": ["8.8.8.0/24"]}, "HIGH can be reached from: 8.8.8.0/24"),
        (
            {"publicAccessCidrs": ["8.8.8.0/24"]},
            {"publicAccessCidrs": ["8.8.8.0/24", "9.9.9.0/24"]},
            "HIGH can be reached from: 9.9.9.0/24",
        ),
        (
            {"publicAccessCidrs": ["8.8.8.0/24"]},
            {"publicAccessCidrs": UNKNOWN},
            "HIGH can be reached from: a CIDR block that is known only after the update",
        ),
        (
            PRIVATE,
            {"endpointPublicAccess": UNKNOWN},
            "HIGH can be reached from: endpointPublicAccess that is known only after the update",
        ),
        (
            PRIVATE,
            UNKNOWN,
            "HIGH can be reached from: vpcConfig that is known only after the update",
        ),
        ({}, PRIVATE, "LOW can no longer be reached from: 0.0.0.0/0 (everyone)"),
    ],
)
def test_addresses_that_reach_the_api_server_are_compared(old: Any, new: Any, expected: str) -> None:  # noqa: ANN401
    before, after = (None if each is None else {"vpcConfig": each} for each in (old, new))
    risk, text = expected.split(" ", 1)
    name = "narrow-permissions" if risk == "LOW" else "public-endpoint"
    assert find(step("aws:eks/cluster:Cluster", "shop", before, after)) == [f"{risk} {name}: EKS cluster shop {text}"]


def service(type_: str, *ranges: str, **annotations: str) -> dict[str, Any]:
    names = {f"service.beta.kubernetes.io/{name.replace('_', '-')}": value for name, value in annotations.items()}
    spec = {"type": type_, "loadBalancerSourceRanges": list(ranges)}
    return {"metadata": {"annotations": names}, "spec": spec}


def test_services_and_ingresses_that_the_internet_reaches_are_reported() -> None:
    def found(new: dict[str, Any]) -> list[str]:
        return find(step(SERVICE, "web", service("ClusterIP"), new))

    everyone = "0.0.0.0/0 (everyone), ::/0 (everyone)"
    head = "public-endpoint: Service web can be reached from:"
    assert found(service("LoadBalancer")) == [f"HIGH {head} {everyone}"]
    assert found(service("LoadBalancer", "10.0.0.0/8")) == [f"MEDIUM {head} 10.0.0.0/8"]
    assert found(service("LoadBalancer", aws_load_balancer_scheme="internal")) == []
    assert found(service("LoadBalancer", aws_load_balancer_internal="true")) == []
    facing = {"metadata": {"annotations": {"alb.ingress.kubernetes.io/scheme": "internet-facing"}}}
    assert find(step(ROUTES, "web", None, facing)) == [
        f"HIGH public-endpoint: Ingress web can be reached from: {everyone}"
    ]
    assert find(step(ROUTES, "web", None, {"metadata": {}})) == []
