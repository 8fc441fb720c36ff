"""Generated from multiarch/schema/webhook_installation.py by ``make generate``: arguments of components."""

from typing import Any, NotRequired, TypedDict


class IssuerSettings(TypedDict):
    """A cert-manager issuer."""

    name: str
    """The issuer's name."""

    kind: NotRequired[str]
    """An Issuer has to be in the webhook's namespace. One of Issuer, ClusterIssuer. Default: ClusterIssuer."""


class NetworkPolicySettings(TypedDict):
    """What the webhook's pods may connect to."""

    enabled: NotRequired[bool]
    """Allow connections to DNS, registries (port 443 and the ports that configuration.registries names), the EKS Pod
    Identity agent, and no others. Default: true.
    """

    extraEgress: NotRequired[list[dict[str, Any]]]
    """More egress rules."""


class ResourcesSettings(TypedDict):
    """What a replica gets."""

    cpu: NotRequired[str]
    """The CPU request. There is no limit: it would add to the latency of every pod's creation. Default: 100m."""

    memoryMib: NotRequired[int]
    """The memory request and limit in MiB. Default: 160, and 1.5 for each MiB of configuration.cache.memoryMib."""


class ServiceMonitorSettings(TypedDict):
    """A ServiceMonitor of the Prometheus operator."""

    enabled: NotRequired[bool]
    """Create it. The operator's CustomResourceDefinitions must be installed. Default: false."""

    labels: NotRequired[dict[str, str]]
    """Labels that the Prometheus object selects."""
