"""What security groups let through after a change and not before."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from multiarch.review.model import UNKNOWN, Operation, Step
from multiarch.review.permissions import network_access
from multiarch.review.permissions.effort import Effort
from multiarch.review.permissions.network_access import find
from tests.review.permissions.steps import change, said, step, urn

GROUP = "aws:ec2/securityGroup:SecurityGroup"
RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"


def rule(port: int, *cidrs: str, **more: Any) -> dict[str, Any]:
    return {"protocol": "tcp", "fromPort": port, "toPort": port, "cidrBlocks": list(cidrs), **more}


def group(old: list[dict[str, Any]] | None, new: list[dict[str, Any]] | None, direction: str = "ingress") -> list[str]:
    before, after = (None if each is None else {direction: each} for each in (old, new))
    return said(find(change(step(GROUP, "web", before, after, outputs={"id": "sg-1"}))))


def kept(name: str, id_: str) -> Step:
    return step(GROUP, name, {"name": name}, {"name": name}, outputs={"id": id_, "arn": id_})


def test_a_port_that_is_opened_to_the_internet_is_reported() -> None:
    assert group([rule(443, "10.0.0.0/8")], [rule(443, "10.0.0.0/8", "0.0.0.0/1"), rule(22, "0.0.0.0/0")]) == [
        "HIGH widen-network: security group web lets through: tcp 22 from 0.0.0.0/0 (everyone); and 1 more",
        "tcp 443 from 0.0.0.0/1, of which a part is new",
    ]


def test_private_addresses_and_what_goes_out_are_less_alarming() -> None:
    assert group([rule(443, "10.0.0.0/16")], [rule(443, "10.0.0.0/15")]) == [
        "MEDIUM widen-network: security group web lets through: tcp 443 from 10.1.0.0/16"
    ]
    assert group([], [{"protocol": "-1", "fromPort": 0, "toPort": 0, "cidrBlocks": ["0.0.0.0/0"]}], "egress") == [
        "LOW widen-network: security group web lets through: all traffic to 0.0.0.0/0 (everyone)"
    ]


def test_the_same_addresses_and_ports_written_in_another_way_are_not_reported() -> None:
    old = [rule(80, "10.0.0.0/8"), rule(81, "10.0.0.0/8")]
    new = [{"protocol": "6", "fromPort": 80, "toPort": 81, "cidrBlocks": ["10.128.0.0/9", "10.0.0.0/9"]}]
    assert group(old, new) == []
    assert group([rule(443, "10.0.0.0/8")], [rule(443, "10.0.0.0/8", description="the VPC")]) == []


def test_what_is_closed_is_told_briefly() -> None:
    assert group([rule(443, "0.0.0.0/0")], [rule(443, "10.0.0.0/8")])[0].startswith(
        "LOW narrow-permissions: security group web no longer lets through: tcp 443 from a part of 0.0.0.0/0 (everyone)"
    )


def test_a_new_group_is_reported_with_all_that_it_lets_through() -> None:
    assert group(None, [rule(443, "10.0.0.0/8"), rule(22, self=True)]) == [
        "MEDIUM widen-network: security group web lets through: tcp 22 from the group itself; and 1 more",
        "tcp 443 from 10.0.0.0/8",
    ]
    assert group([rule(443, "10.0.0.0/8")], None) == []


@pytest.mark.parametrize("type_", [RULE, INGRESS, EGRESS])
def test_rules_may_be_resources_of_their_own(type_: str) -> None:
    to = {"securityGroupId": "sg-1", "fromPort": 22, "toPort": 22}
    inputs = {
        RULE: {**to, "type": "ingress", "protocol": "tcp", "cidrBlocks": ["0.0.0.0/0"]},
        INGRESS: {**to, "ipProtocol": "tcp", "cidrIpv4": "0.0.0.0/0"},
        EGRESS: {**to, "ipProtocol": "tcp", "cidrIpv4": "0.0.0.0/0"},
    }[type_]
    risk, word = ("LOW", "to") if type_ == EGRESS else ("HIGH", "from")
    assert said(find(change(kept("web", "sg-1"), step(type_, "ssh", None, inputs)))) == [
        f"{risk} widen-network: security group web lets through: tcp 22 {word} 0.0.0.0/0 (everyone)"
    ]


def test_a_rule_may_move_from_its_group_to_a_resource_of_its_own() -> None:
    moved = {"securityGroupId": "sg-1", "ipProtocol": "tcp", "fromPort": 443, "toPort": 443, "cidrIpv4": "10.0.0.0/8"}
    inline = step(GROUP, "web", {"ingress": [rule(443, "10.0.0.0/8")]}, {"ingress": []}, outputs={"id": "sg-1"})
    assert said(find(change(inline, step(INGRESS, "https", None, moved)))) == []
    wider = moved | {"cidrIpv4": "10.0.0.0/7"}
    assert said(find(change(inline, step(INGRESS, "https", None, wider))))[0] == (
        "HIGH widen-network: security group web lets through: tcp 443 from 11.0.0.0/8"
    )


def test_rules_that_leave_the_program_stay_in_aws() -> None:
    ingress = [rule(443, "10.0.0.0/8")]
    out = step(GROUP, "web", {"ingress": ingress}, {"description": "x"}, outputs={"id": "sg-1"})
    assert said(find(change(out))) == []


def test_other_groups_and_prefix_lists_are_named() -> None:
    new = [rule(443, securityGroups=["sg-2", "sg-9"], prefixListIds=["pl-1"])]
    steps = [kept("workers", "sg-2"), step(GROUP, "web", {"ingress": []}, {"ingress": new}, outputs={"id": "sg-1"})]
    peers = "prefix list pl-1, security group sg-9, security group workers"
    assert said(find(change(*steps))) == [
        f"MEDIUM widen-network: security group web lets through: tcp 443 from {peers}"
    ]


def test_a_new_group_of_the_stack_is_known_by_where_its_id_comes_from() -> None:
    peer = step(GROUP, "workers", None, {"name": "workers"})
    inputs = {"securityGroupId": "sg-1", "ipProtocol": "-1", "referencedSecurityGroupId": UNKNOWN}
    from_peer = {"referencedSecurityGroupId": urn(GROUP, "workers")}
    known = step(INGRESS, "all", None, inputs, depends=from_peer)
    assert said(find(change(kept("web", "sg-1"), peer, known))) == [
        "MEDIUM widen-network: security group web lets through: all traffic from security group workers"
    ]
    unknown = "a rule for ingress has a security group that is known only after the update"
    assert said(find(change(kept("web", "sg-1"), peer, step(INGRESS, "all", None, inputs)))) == [
        f"HIGH widen-network: security group web lets through: {unknown}"
    ]


def test_a_group_that_is_replaced_keeps_its_rules() -> None:
    replaced = step(GROUP, "web", {"name": "a"}, {"name": "b"}, outputs={"id": "sg-1"}, operation=Operation.REPLACE)
    old, new = (
        {"securityGroupId": id_, "ipProtocol": "tcp", "fromPort": 22, "toPort": 22, "cidrIpv4": "10.0.0.0/8"}
        for id_ in ("sg-1", UNKNOWN)
    )
    again = step(INGRESS, "ssh", old, new, operation=Operation.REPLACE, depends={"securityGroupId": urn(GROUP, "web")})
    assert said(find(change(replaced, again))) == []


@pytest.mark.parametrize(
    ("strange", "reason"),
    [
        (rule(443, UNKNOWN), "has a cidrBlocks that is known only after the update"),
        (rule(443, "10.0.0.0/64"), "has '10.0.0.0/64', which is not a CIDR"),
        (rule(443, "10.0.0.0/8", fromPort=UNKNOWN), "has a fromPort that is known only after the update"),
        (rule(443, "10.0.0.0/8", protocol="x"), "has the protocol 'x'"),
        (UNKNOWN, "has a protocol that is known only after the update"),
    ],
)
def test_a_rule_that_cannot_be_read_is_reported(strange: Any, reason: str) -> None:  # noqa: ANN401
    assert group([rule(443, "10.0.0.0/8")], [strange]) == [
        f"HIGH widen-network: security group web lets through: a rule for ingress {reason}"
    ]


def test_all_rules_that_are_not_known_are_reported() -> None:
    steps = [step(GROUP, "web", {"ingress": [rule(443, "10.0.0.0/8")]}, {"ingress": UNKNOWN})]
    assert said(find(change(*steps)))[0].startswith("HIGH widen-network: security group web lets through: a rule")


def test_more_addresses_in_a_prefix_list_are_reported() -> None:
    type_, entry = (
        "aws:ec2/managedPrefixList:ManagedPrefixList",
        "aws:ec2/managedPrefixListEntry:ManagedPrefixListEntry",
    )
    old, new = ({"entries": [{"cidr": each} for each in cidrs]} for cidrs in (["10.0.0.0/9"], ["10.0.0.0/8"]))
    assert said(find(change(step(type_, "offices", old, new, outputs={"id": "pl-1"})))) == [
        "MEDIUM widen-network: managed prefix list offices lets through: 10.128.0.0/9"
    ]
    more = step(entry, "home", None, {"prefixListId": "pl-1", "cidr": "203.0.113.7/32"})
    assert said(find(change(step(type_, "offices", old, old, outputs={"id": "pl-1"}), more))) == [
        "HIGH widen-network: managed prefix list offices lets through: 203.0.113.7/32"
    ]


def test_thousands_of_rules_are_reported_as_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_access, "Effort", partial(Effort, each=10_000))
    old = [rule(port, "10.0.0.0/8") for port in range(3_000)]
    new = [rule(port, "10.0.0.0/9") for port in range(3_000)]
    assert group(old, new) == [
        "HIGH widen-network: security group web lets through: too many rules to be compared; read them"
    ]


def test_a_rule_that_is_not_known_is_reported_of_a_group_with_a_space_in_its_name() -> None:
    ingress = [rule(443, UNKNOWN)]
    (found,) = said(find(change(step(GROUP, "web servers", {"ingress": []}, {"ingress": ingress}))))
    assert found.startswith("HIGH widen-network: security group web servers lets through: a rule for ingress")


def test_a_rule_for_all_traffic_is_one_line_whatever_a_narrower_rule_let_through() -> None:
    everything = {"protocol": "-1", "fromPort": 0, "toPort": 0, "cidrBlocks": ["0.0.0.0/0"]}
    (opened,) = group([rule(443, "10.0.0.0/8")], [everything])
    assert opened.endswith("web lets through: all traffic from 0.0.0.0/0 (everyone), of which a part is new")
    (closed,) = group([everything], [rule(443, "10.0.0.0/8")])
    assert closed.endswith("no longer lets through: all traffic from a part of 0.0.0.0/0 (everyone)")
