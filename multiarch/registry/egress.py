"""Which servers may be connected to, where people who are not trusted choose the names of images.

An operator who runs a command chooses its images. The webhook gets them from everybody who can create a pod, and it
runs inside the network: without bounds, an image's name, a redirect, a token server or a changing DNS answer would make
it connect to instance metadata and to services that its own pod can reach.

Names are checked before a request is sent, and addresses after DNS resolution: those that are checked are those that
are connected to. Both hold for registries, for the targets of redirects, for token servers and for mirrors.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from multiarch.facts.ecr import may_be_vpc_endpoint

__all__ = ["EgressPolicy"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_TLS_PORT = "443"
_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")
# The cluster's DNS zone may have another name than cluster.local; Services have private addresses in any case.
_CLUSTER_ZONES = (".svc", ".cluster.local", ".localhost")


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(text) for text in texts)


# Sources: https://www.iana.org/assignments/iana-ipv4-special-registry/ and …/iana-ipv6-special-registry/;
# 198.18.0.0/15 and 100.64.0.0/10 are CIDR blocks that VPCs use for pods.
_PRIVATE = _networks("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15", "fc00::/7")
_INSTANCE = _networks("169.254.0.0/16", "fe80::/10", "fd00:ec2::/32")
"""Link-local addresses, and AWS's own: instance metadata, credentials of pods, DNS, time."""
_OTHER = _networks(
    "0.0.0.0/8", "127.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/3", "2001::/23", "2001:db8::/32", "3fff::/20",
)  # fmt: skip
"""This machine, examples, relays, multicast and reserved addresses."""
_IPV6_PUBLIC = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class Rejection(NamedTuple):
    """Why a server may not be connected to, without a full stop, and what to change."""

    text: str
    hint: str


class RejectedAddressError(OSError):
    """A name has only addresses that may not be connected to."""

    def __init__(self, rejection: Rejection) -> None:
        """``rejection`` is that of the first address."""
        super().__init__(rejection.text)
        self.rejection = rejection


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """The servers that may be queried. Make one with :meth:`of`.

    ``registries`` are HOST or HOST:PORT with ``*`` for any characters; without a port, an entry is for port 443 only,
    and ``*`` alone is everything. They are the registries of images: these may redirect to other hosts, and use token
    servers of other hosts, at any port.

    A host that the operator names, in ``registries`` without ``*``, for plain HTTP or as a mirror, may be a
    cluster-internal name, and is resolved as every name in its pod; other names are resolved without search domains.

    ``networks`` are those of allowed addresses besides the public ones. Instance metadata and other link-local
    addresses need a network of their own: a wider one does not include them. Without any network, ECR's private
    registries may have private addresses, because that is what VPC endpoints give them.
    """

    registries: tuple[str, ...] = ("*",)
    networks: tuple[Network, ...] = ()

    @classmethod
    def of(cls, registries: Iterable[str], networks: Iterable[str]) -> EgressPolicy:
        """Read entries and CIDR blocks, which :mod:`multiarch.schema.webhook_faults` has checked."""
        return cls(tuple(entry.lower() for entry in registries), tuple(map(ipaddress.ip_network, networks)))

    def names(self, host: str) -> bool:
        """Return whether ``registries`` has this host, without its port, as it is: without ``*``."""
        return any("*" not in entry and _split(entry)[0] == host for entry in self.registries)

    def registry_rejection(self, registry: str) -> Rejection | None:
        """Return why images of ``registry`` (``docker.io`` for Docker Hub) may not be looked up, or None."""
        host, port = _split(registry.lower())
        if any(_matches(entry, host, port) for entry in self.registries):
            return None
        return Rejection(f"{registry} is not in registries.allowed", f"Add {registry} to registries.allowed.")

    def host_rejection(self, host: str, *, named: bool) -> Rejection | None:
        """Return why a server may not be connected to, by its name without a port, or by its address; or None.

        ``named``: the operator names it.
        """
        name = normalise_name(host)
        if (address := parse_address(name)) is not None:
            return self.address_rejection(name, address)
        if not _NAME.fullmatch(name):
            return Rejection(f"{host!r} is not a valid host name", "")
        if named or self.names(name) or ("." in name and not name.endswith(_CLUSTER_ZONES)):
            return None
        hint = f"If it is a registry, add it to registries.allowed without *, such as {name}:5000."
        return Rejection(f"{name} is a cluster-internal name", hint)

    def address_rejection(self, host: str, address: Address) -> Rejection | None:
        """Return why ``address``, which ``host`` has, may not be connected to, or None."""
        found, for_instances = _embedded(address), is_for_instances(address)
        if _is_public(found) or self._allows(found, for_instances=for_instances):
            return None
        if not for_instances and _is_in(found, _PRIVATE) and may_be_vpc_endpoint(normalise_name(host)):
            return None
        what = "link-local or for instance metadata" if for_instances else "not public"
        text = f"{host} is {what}" if str(address) == host else f"{host} has the address {found}, which is {what}"
        network = f"{found}/{found.max_prefixlen}"
        return Rejection(text, f"If a registry is there, add {network} to registries.allowedNetworks.")

    def _allows(self, address: Address, *, for_instances: bool) -> bool:
        for network in self.networks:
            if address not in network:
                continue
            if not for_instances or any(_within(network, each) for each in _INSTANCE):
                return True
        return False


def normalise_name(host: str) -> str:
    """Return a host in lower case, without the dot at the end and without an IPv6 address's brackets."""
    name = host.lower()
    return name[1:-1] if name.startswith("[") and name.endswith("]") else name.rstrip(".")


def parse_address(name: str) -> Address | None:
    """Parse an address as the system does: also 127.1, 0x7f000001, 2130706433 and fe80::1%eth0."""
    try:
        return ipaddress.ip_address(name.replace("%25", "%"))
    except ValueError:
        pass
    if not _NAME.fullmatch(name):
        return None  # inet_aton stops at white space
    try:
        return ipaddress.ip_address(socket.inet_aton(name))
    except OSError:
        return None


def is_for_instances(address: Address) -> bool:
    """Return whether ``address`` is link-local, or one of AWS's own for instances."""
    return _is_in(_embedded(address), _INSTANCE)


def _embedded(address: Address) -> Address:
    """The IPv4 address that is reached by an IPv6 address of a translator or tunnel; other addresses as they are."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _is_public(address: Address) -> bool:
    if _is_in(address, (*_INSTANCE, *_PRIVATE, *_OTHER)):
        return False
    return address.version == 4 or address in _IPV6_PUBLIC  # noqa: PLR2004


def _is_in(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)


def _within(network: Network, other: Network) -> bool:
    if isinstance(network, ipaddress.IPv4Network):
        return isinstance(other, ipaddress.IPv4Network) and network.subnet_of(other)
    return isinstance(other, ipaddress.IPv6Network) and network.subnet_of(other)


def _split(registry: str) -> tuple[str, str]:
    """Return the host, without brackets, and port; the port is empty for 443 and where there is none."""
    host, colon, port = registry.rpartition(":") if not registry.endswith("]") else (registry, "", "")
    return normalise_name(host if colon else registry), "" if port == _TLS_PORT else port if colon else ""


def _matches(entry: str, host: str, port: str) -> bool:
    if entry == "*":
        return True
    wanted, wanted_port = _split(entry)
    return wanted_port in {"*", port} and fnmatchcase(host, wanted)
