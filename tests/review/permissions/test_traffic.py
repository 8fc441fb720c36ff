"""What one set of traffic has and another has not, held against each packet of a small world."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address, ip_network
from itertools import product
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.review.permissions.effort import Effort, TooMuchEffortError
from multiarch.review.permissions.traffic import (
    Traffic,
    addresses,
    beyond,
    described,
    is_public,
    peers,
    protocol_and_ports,
)


class Rule(NamedTuple):
    protocol: str
    first: int
    last: int
    peer: str


def traffic(rule: Rule) -> Traffic:
    protocols, ports = protocol_and_ports(rule.protocol, rule.first, rule.last)
    return Traffic(protocols, ports, *addresses(rule.peer)) if "/" in rule.peer else named(protocols, ports, rule.peer)


def named(protocols: tuple[int, int], ports: tuple[int, int], name: str) -> Traffic:
    return Traffic(protocols, ports, 0, (0, 0), name)


PEERS = ["10.0.0.0/30", "10.0.0.0/31", "10.0.0.2/31", "10.0.0.1/32", "0.0.0.0/0", "fd00::/126", "::/0", "sg-1", "pl-1"]
RULES = st.lists(
    st.builds(
        lambda protocol, ports, peer: Rule(protocol, min(ports), max(ports), peer),
        st.sampled_from(["tcp", "udp", "-1", "6", "TCP", "50"]),
        st.tuples(st.integers(79, 83), st.integers(79, 83)),
        st.sampled_from(PEERS),
    ),
    max_size=5,
)
PACKETS = list(
    product(
        ("6", "17", "50"), range(78, 85), [*(f"10.0.0.{last}" for last in range(5)), "9.9.9.9", "fd00::3", "fd01::"]
    )
)


def lets(rules: Sequence[Rule], packet: tuple[str, int, str]) -> bool:
    """As the EC2 API reference says it of IpPermission."""
    protocol, port, address = packet
    numbers = {"tcp": "6", "udp": "17"}
    return any(
        (rule.protocol == "-1" or numbers.get(rule.protocol.lower(), rule.protocol) == protocol)
        and (rule.protocol in {"-1", "50"} or rule.first <= port <= rule.last)
        and "/" in rule.peer
        and ip_address(address) in ip_network(rule.peer)
        for rule in rules
    )


@given(RULES, RULES)
def test_exactly_those_packets_are_reported_that_the_old_rules_did_not_let_through(
    old: list[Rule], new: list[Rule]
) -> None:
    found = beyond([traffic(each) for each in new], [traffic(each) for each in old], Effort())
    for packet in PACKETS:
        number, port, address = packet
        family = ip_address(address).version
        reported = [
            each
            for each in found
            if each.protocols[0] <= int(number) <= each.protocols[1]
            and each.ports[0] <= port <= each.ports[1]
            and each.family == family
            and each.addresses[0] <= int(ip_address(address)) <= each.addresses[1]
        ]
        assert len(reported) == (lets(new, packet) and not lets(old, packet))


@given(RULES, RULES)
def test_a_group_is_reported_unless_it_or_every_address_was_let_in(old: list[Rule], new: list[Rule]) -> None:
    found = beyond([traffic(each) for each in new], [traffic(each) for each in old], Effort())
    anyone = [("6", 80, "9.9.9.9"), ("6", 80, "fd01::")]
    for peer in ("sg-1", "pl-1"):
        before, after = ([each for each in rules if each.peer == peer] for rules in (old, new))

        def with_peer(rules: Sequence[Rule]) -> bool:
            return lets([each._replace(peer="0.0.0.0/0") for each in rules], anyone[0])

        wanted = with_peer(after) and not with_peer(before) and not all(lets(old, packet) for packet in anyone)
        reported = [
            each
            for each in found
            if each.name == peer
            and each.protocols[0] <= 6 <= each.protocols[1]
            and each.ports[0] <= 80 <= each.ports[1]
        ]
        assert bool(reported) is wanted


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (("tcp", 443, 443, "10.0.0.0/8"), "tcp 443 from 10.0.0.0/8"),
        (("tcp", 0, 65535, "0.0.0.0/0"), "all tcp from 0.0.0.0/0 (everyone)"),
        (("-1", 0, 0, "sg-1"), "all traffic from sg-1"),
        (("udp", 53, 54, "::/0"), "udp 53-54 from ::/0 (everyone)"),
        (("icmp", 8, -1, "10.0.0.0/8"), "icmp type 8 from 10.0.0.0/8"),
        (("icmp", 3, 4, "10.0.0.0/8"), "icmp type 3 from 10.0.0.0/8"),
        (("icmp", -1, -1, "10.0.0.0/8"), "all icmp from 10.0.0.0/8"),
        (("50", 0, 0, "10.0.0.0/8"), "protocol 50 from 10.0.0.0/8"),
    ],
)
def test_traffic_is_described_as_rules_are_written(rule: tuple[str, int, int, str], words: str) -> None:
    assert described([traffic(Rule(*rule))], "from") == [words]


def test_what_is_left_of_a_range_is_written_as_networks() -> None:
    old, new = (Rule("tcp", 443, 443, each) for each in ("10.0.0.0/16", "10.0.0.0/14"))
    left = beyond([traffic(new)], [traffic(old)], Effort())
    assert described(left, "from") == ["tcp 443 from 10.1.0.0/16, 10.2.0.0/15"]
    assert peers(left) == "10.1.0.0/16, 10.2.0.0/15"


@pytest.mark.parametrize(
    ("cidr", "public"),
    [("0.0.0.0/0", True), ("10.1.0.0/16", False), ("8.8.8.8/32", True), ("fd00::/8", False), ("::/0", True)],
)
def test_public_is_what_is_not_private(cidr: str, public: bool) -> None:  # noqa: FBT001
    assert is_public(traffic(Rule("tcp", 1, 1, cidr))) is public


@pytest.mark.parametrize(
    ("protocol", "port", "message"),
    [
        ("carrier-pigeon", 1, "has the protocol 'carrier-pigeon'"),
        ("999", 1, "has the protocol '999'"),
        ("tcp", "x", "has a port that is not a number"),
        ("tcp", [], "has a port that is not a number"),
    ],
)
def test_a_rule_that_cannot_be_read_says_why(protocol: str, port: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        protocol_and_ports(protocol, port, port)


def test_thousands_of_rules_take_bounded_time() -> None:
    old = [traffic(Rule("tcp", port, port, "10.0.0.0/8")) for port in range(3_000)]
    assert beyond(old, old[::-1], Effort()) == []
    others = [traffic(Rule("tcp", port, port, "10.0.0.0/9")) for port in range(3_000)]
    with pytest.raises(TooMuchEffortError):
        beyond(others, old, Effort(each=10_000))
