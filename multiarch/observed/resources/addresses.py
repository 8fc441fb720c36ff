"""Blocks of addresses that are the internet, in one piece or in several."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network

_SHORTEST_PREFIX = {4: 8, 6: 32}
"""By IP version, the shortest prefix of addresses that can be somebody's.

Source: Amazon S3 user guide, 'The meaning of "public"'.
"""


def reach_everybody(cidrs: Iterable[str]) -> bool:
    """Return whether blocks together have one that is nobody's network: ``0.0.0.0/0``, also as two halves, ``::/1``.

    Strings that are not CIDR blocks are passed over.
    """
    networks = [each for text in cidrs if (each := read_network(text)) is not None and not each.is_private]
    merged: list[IPv4Network | IPv6Network] = [
        *collapse_addresses(each for each in networks if isinstance(each, IPv4Network)),
        *collapse_addresses(each for each in networks if isinstance(each, IPv6Network)),
    ]
    return any(each.prefixlen < _SHORTEST_PREFIX[each.version] for each in merged)


def read_network(cidr: str) -> IPv4Network | IPv6Network | None:
    """Return a CIDR block; None for what is not one."""
    try:
        return ip_network(cidr, strict=False)
    except ValueError:
        return None
