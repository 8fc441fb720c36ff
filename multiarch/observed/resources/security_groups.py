"""Rules of security groups: addresses, protocol, ports, in the one form that policies judge and reviews compare.

Source: EC2 API reference, IpPermission.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network

from multiarch.observed.resources.addresses import read_network
from multiarch.observed.resources.properties import get_hidden_reason, require_string

CIDRS = ("cidrBlocks", "ipv6CidrBlocks", "cidrIpv4", "cidrIpv6")
PREFIX_LISTS = ("prefixListIds", "prefixListId")
"""Properties of rules with the addresses that they let in, in themselves or in lists."""
_PROTOCOLS = {"1": "icmp", "6": "tcp", "17": "udp", "58": "icmpv6", "-1": "*", "all": "*"}
"""Protocols by number, as EC2 and people write them; ``*`` are all."""
_EVERY_PORT = range(0x10000)


def require_network(value: object) -> IPv4Network | IPv6Network:
    """Return a CIDR block. Raises ValueError for what is not one, or is not known."""
    cidr = require_string(value, "a CIDR block")
    if (network := read_network(cidr)) is None:
        raise ValueError(f"{cidr!r}, which is not a CIDR block")
    return network


def read_protocol(rule: Mapping[str, object]) -> str:
    """Return a rule's protocol, ``*`` for all. Raises ValueError for one that is not known."""
    written = str(rule.get("protocol", rule.get("ipProtocol"))).lower()
    return require_string(_PROTOCOLS.get(written, written), "a rule with a protocol")


def read_ports(rule: Mapping[str, object]) -> range | str:
    """Return a rule's ports, ``*`` for all; for ICMP, a type and code. Raises ValueError for what is not known."""
    protocol, first, last = (read_protocol(rule), *(_read_number(rule, name) for name in ("fromPort", "toPort")))
    if protocol.startswith("icmp"):
        return "*" if first == -1 else f"type {first} code {'*' if last == -1 else last}"
    ports = range(first, last + 1 if last >= 0 else len(_EVERY_PORT))
    return "*" if protocol not in {"tcp", "udp"} or first == -1 or ports == _EVERY_PORT else ports


def _read_number(rule: Mapping[str, object], name: str) -> int:
    value = rule.get(name)
    try:
        # The engine gives policies numbers as 443.0.
        return -1 if value is None else int(float(str(value)))
    except (OverflowError, ValueError):
        raise ValueError(f"a rule with a {name} that {get_hidden_reason(value) or 'is not a number'}") from None
