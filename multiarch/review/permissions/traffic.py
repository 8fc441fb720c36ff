"""Sets of network traffic: protocols, ports and addresses, and what one set has that another does not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network, summarize_address_range

from multiarch.review.permissions.effort import Effort

_MOST_PORT = 0xFFFF
_PROTOCOLS = {"icmp": 1, "tcp": 6, "udp": 17, "icmpv6": 58}
_NAMES = {number: name for name, number in _PROTOCOLS.items()}
_WITH_PORTS, _WITH_TYPES = frozenset({6, 17}), frozenset({1, 58})
_EVERY_PROTOCOL = (0, 255)
_CODES = 256
_MOST_NETWORKS = 4
_MOST_PARTS = 2
_MOST_PAIRS = 10_000
_LAST = {4: 2**32 - 1, 6: 2**128 - 1}
EVERYONE = ("0.0.0.0/0", "::/0")

_Network = IPv4Network | IPv6Network
Range = tuple[int, int]
"""From the first to the last."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Traffic with a peer: IP addresses, or what only AWS can resolve (a security group, a prefix list) by its name.

    ``protocols`` are IANA's numbers. ``ports`` of ICMP are 256 times the type plus the code. ``family`` is 4 or 6 for
    ``addresses``, which are integers, and 0 for a ``name``.
    """

    protocols: Range
    ports: Range
    family: int
    addresses: Range
    name: str = ""


def protocol_and_ports(protocol: object, first: object, last: object) -> tuple[Range, Range]:
    """A rule's protocol (a name, a number, or -1 for all) and its ports. Raises ValueError, which says why.

    Source: EC2 API reference, IpPermission.
    """
    text = str(protocol).lower()
    if text in {"-1", "all"}:
        return _EVERY_PROTOCOL, (0, _MOST_PORT)
    if text not in _PROTOCOLS and not (text.isascii() and text.isdigit() and int(text) <= _EVERY_PROTOCOL[1]):
        raise ValueError(f"has the protocol {text!r}")
    number = _PROTOCOLS.get(text) or int(text)
    if number not in _WITH_PORTS | _WITH_TYPES:
        return (number, number), (0, _MOST_PORT)
    start, end = _number(first), _number(last)
    if number in _WITH_TYPES:
        return (number, number), _icmp(start, end)
    return (number, number), (0, _MOST_PORT) if start == end == -1 else (start, end)


def _number(value: object) -> int:
    try:
        return -1 if value is None else int(str(value))
    except ValueError:
        raise ValueError("has a port that is not a number") from None


def _icmp(type_: int, code: int) -> Range:
    if type_ == -1:
        return (0, _MOST_PORT)
    return (type_ * _CODES, type_ * _CODES + _CODES - 1) if code == -1 else (type_ * _CODES + code,) * 2


def addresses(cidr: str) -> tuple[int, Range]:
    """The family and the addresses of a CIDR. Raises ValueError."""
    network = ip_network(cidr, strict=False)
    return network.version, (int(network.network_address), int(network.broadcast_address))


def of_addresses(cidrs: Iterable[str]) -> list[Traffic]:
    """All traffic with some addresses. Raises ValueError for what is not a CIDR."""
    return [Traffic(_EVERY_PROTOCOL, (0, _MOST_PORT), *addresses(each)) for each in cidrs]


_PRIVATE = [
    addresses(each)
    for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16")
] + [addresses(each) for each in ("fc00::/7", "fe80::/10", "::1/128")]


def beyond(new: Sequence[Traffic], old: Sequence[Traffic], effort: Effort) -> list[Traffic]:
    """What ``new`` has and ``old`` has not, in parts that do not overlap. Raises TooMuchEffortError."""
    known = set(old)
    everyone = [each for each in old if each.family and each.addresses == (0, _LAST[each.family])]
    found: list[Traffic] = []
    for each in dict.fromkeys(new):
        if each in known:
            continue
        covers = [*old, *found, *(_for_any_peer(everyone, each) if each.name else ())]
        found += _left([each], covers, effort)
    return found


def _for_any_peer(everyone: Sequence[Traffic], peer: Traffic) -> list[Traffic]:
    """What is open to every address is open to a group or a prefix list, whose addresses are of either family."""
    both = [each for each in everyone if any(_same_traffic(each, other) for other in everyone)]
    return [Traffic(each.protocols, each.ports, 0, (0, 0), peer.name) for each in both]


def _same_traffic(one: Traffic, other: Traffic) -> bool:
    return one.family != other.family and _within(one.protocols, other.protocols) and _within(one.ports, other.ports)


def _within(inner: Range, outer: Range) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _left(pieces: list[Traffic], covers: Iterable[Traffic], effort: Effort) -> list[Traffic]:
    for cover in covers:
        effort.spend(1 + len(pieces))
        pieces = [rest for piece in pieces for rest in _without(piece, cover)]
        if not pieces:
            break
    return pieces


def _without(piece: Traffic, cover: Traffic) -> list[Traffic]:
    if (piece.family, piece.name) != (cover.family, cover.name):
        return [piece]
    ranges = [piece.protocols, piece.ports, piece.addresses]
    limits = [cover.protocols, cover.ports, cover.addresses]
    if any(mine[1] < theirs[0] or theirs[1] < mine[0] for mine, theirs in zip(ranges, limits, strict=True)):
        return [piece]
    left: list[Traffic] = []
    for index, limit in enumerate(limits):
        first, last = ranges[index]
        for part in ((first, limit[0] - 1), (limit[1] + 1, last)):
            if part[0] <= part[1]:
                rest = [*ranges]
                rest[index] = part
                left.append(Traffic(rest[0], rest[1], piece.family, rest[2], piece.name))
        ranges[index] = (max(first, limit[0]), min(last, limit[1]))
    return left


def is_public(traffic: Traffic) -> bool:
    """Whether addresses that are not private are among the peers."""
    return bool(traffic.family) and not any(
        traffic.family == family and _within(traffic.addresses, private) for family, private in _PRIVATE
    )


def described(
    traffics: Collection[Traffic], word: str, rules: Sequence[Traffic] = (), *, lost: bool = False
) -> list[str]:
    """One line for each protocol with its ports: ``tcp 443 from 10.0.0.0/8``; ``word`` is from or to.

    ``rules`` are what the traffic is a part of; their addresses are named where the part would take many networks.
    ``lost``: the traffic is what is gone, not what is new.
    """
    groups: dict[tuple[Range, Range], list[Traffic]] = defaultdict(list)
    few = len(rules) * len(traffics) <= _MOST_PAIRS
    whole = [rule for rule in dict.fromkeys(rules) if few and _is_scattered(rule, traffics)]
    parts = [f"{_ports(each.protocols, each.ports)} {word} {_partly(peers([each]), lost=lost)}" for each in whole]
    for each in traffics:
        if any(_is_part(rule, each) for rule in whole):
            continue
        groups[each.protocols, each.ports].append(each)
    return parts + [
        f"{_ports(protocols, ports)} {word} {peers(several, rules, lost=lost)}"
        for (protocols, ports), several in sorted(groups.items())
    ]


def _is_scattered(rule: Traffic, traffics: Collection[Traffic]) -> bool:
    """Whether a rule's part of the traffic would take many lines: the rule itself is easier to read."""
    return len({(each.protocols, each.ports) for each in traffics if _is_part(rule, each)}) > _MOST_PARTS


def _partly(peers_: str, *, lost: bool) -> str:
    return f"a part of {peers_}" if lost else f"{peers_}, of which a part is new"


def peers(traffics: Collection[Traffic], rules: Sequence[Traffic] = (), *, lost: bool = False) -> str:
    """The peers in a sentence. ``rules`` and ``lost`` as for :func:`described`."""
    shown = _written(traffics)
    partly = False
    if len(shown) > _MOST_NETWORKS and rules:
        shown = _written([rule for rule in dict.fromkeys(rules) if any(map(partial(_is_part, rule), traffics))])
        partly = True
    shown = [f"{each} (everyone)" if each in EVERYONE else each for each in shown]
    shown += sorted({each.name for each in traffics if each.name})
    rest = f" and {len(shown) - _MOST_NETWORKS} more" if len(shown) > _MOST_NETWORKS else ""
    text = ", ".join(shown[:_MOST_NETWORKS]) + rest
    return _partly(text, lost=lost) if partly else text


def _is_part(rule: Traffic, part: Traffic) -> bool:
    return rule.family == part.family != 0 and all(
        _within(mine, whole)
        for mine, whole in (
            (part.protocols, rule.protocols),
            (part.ports, rule.ports),
            (part.addresses, rule.addresses),
        )
    )


def _written(traffics: Iterable[Traffic]) -> list[str]:
    """The addresses as networks."""
    ranges: dict[int, list[Range]] = defaultdict(list)
    for each in traffics:
        if each.family:
            ranges[each.family].append(each.addresses)
    return [str(network) for family, several in sorted(ranges.items()) for network in _networks(several, family)]


def _networks(ranges: Iterable[Range], family: int) -> list[_Network]:
    joined: list[Range] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    if family == 4:  # noqa: PLR2004
        return [net for first, last in joined for net in summarize_address_range(IPv4Address(first), IPv4Address(last))]
    return [net for first, last in joined for net in summarize_address_range(IPv6Address(first), IPv6Address(last))]


def _ports(protocols: Range, ports: Range) -> str:
    every_port = ports == (0, _MOST_PORT)
    if protocols[0] != protocols[1]:
        name = "all traffic" if protocols == _EVERY_PROTOCOL else f"protocols {protocols[0]}-{protocols[1]}"
        return name if every_port else f"{name}, ports {ports[0]}-{ports[1]}"
    name = _NAMES.get(protocols[0], f"protocol {protocols[0]}")
    if every_port:
        return f"all {name}" if protocols[0] in _NAMES else name
    if protocols[0] in _WITH_TYPES:
        first, last = ports[0] // _CODES, ports[1] // _CODES
        return f"{name} type {first}" if first == last else f"{name} types {first}-{last}"
    return f"{name} {ports[0]}" if ports[0] == ports[1] else f"{name} {ports[0]}-{ports[1]}"
