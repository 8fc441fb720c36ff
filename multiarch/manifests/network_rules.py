"""What pods may connect to: rules of NetworkPolicies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Object = dict[str, Any]

HTTPS = 443
HTTP = 80
_POD_IDENTITY_AGENT = ("169.254.170.23/32", "fd00:ec2::23/128")
"""EKS user guide, "EKS Pod Identity agent": it answers on port 80 of these addresses of each node."""


def tcp(ports: Iterable[int]) -> Object:
    """TCP ports of any address."""
    return {"ports": [tcp_port(port) for port in ports]}


def tcp_port(port: int) -> Object:
    """One TCP port."""
    return {"protocol": "TCP", "port": port}


def dns() -> Object:
    """DNS, by either protocol."""
    return {"ports": [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]}


def pod_identity_agent() -> Object:
    """The EKS Pod Identity agent, which hands out credentials for AWS."""
    return {**tcp([HTTP]), "to": [{"ipBlock": {"cidr": cidr}} for cidr in _POD_IDENTITY_AGENT]}
