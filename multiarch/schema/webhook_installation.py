"""The admission webhook's installation: the values of its Helm chart."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from multiarch.facts.admission import INSTALLATION_NAME
from multiarch.schema.base import Section, get_section_default
from multiarch.schema.webhook import WebhookConfiguration

BASE_MIB = 160
"""Memory of the webhook without its cache, in MiB."""
PER_CACHE_MIB = 1.5
"""Memory for each MiB of ``configuration.cache.memoryMib``: the cache counts its content, not what Python adds."""

LABEL_PATTERN = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
NAME_PATTERN = r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$"
Label = Annotated[str, Field(pattern=LABEL_PATTERN)]
"""A DNS label, as names of namespaces are."""
Name = Annotated[str, Field(pattern=NAME_PATTERN)]
"""A DNS label with room for the longest suffix of an object's name."""
Image = Annotated[str, Field(pattern=r"^[^\s]+$", examples=["registry.example.com/multiarch-webhook@sha256:…"])]
Fields = dict[str, Any]
"""Fields of a Kubernetes object, passed on as they are."""


class _Values(Section):
    """Sections that Python code makes with the fields' names."""

    model_config = ConfigDict(validate_by_name=True)


class Resources(_Values):
    """What a replica gets."""

    cpu: Annotated[str, Field(pattern=r"^[0-9]+m?$")] = "100m"
    """The CPU request. There is no limit: it would add to the latency of every pod's creation."""
    memory_mib: Annotated[int, Field(ge=64, le=262144)] | None = None
    """The memory request and limit in MiB. Default: 160, and 1.5 for each MiB of configuration.cache.memoryMib."""


class Issuer(_Values):
    """A cert-manager issuer."""

    name: str
    """The issuer's name."""
    kind: Literal["Issuer", "ClusterIssuer"] = "ClusterIssuer"
    """An Issuer has to be in the webhook's namespace."""


class NetworkPolicy(_Values):
    """What the webhook's pods may connect to."""

    enabled: bool = True
    """Allow connections to DNS, registries (port 443 and the ports that configuration.registries names), the EKS Pod
    Identity agent, and no others.
    """
    extra_egress: list[Fields] = []
    """More egress rules."""


class ServiceMonitor(_Values):
    """A ServiceMonitor of the Prometheus operator."""

    enabled: bool = False
    """Create it. The operator's CustomResourceDefinitions must be installed."""
    labels: dict[str, str] = {}
    """Labels that the Prometheus object selects."""


class InstallationValues(_Values):
    """Everything that may vary between installations, without their names."""

    image: Image
    """The webhook's image, with its registry and a tag or, better, a digest. It must support both architectures."""
    image_pull_secrets: list[str] = []
    """Secrets in the webhook's namespace to pull the image with."""
    replicas: Annotated[int, Field(ge=1, le=100)] = 2
    """How many replicas run, at least."""
    max_replicas: Annotated[int, Field(ge=1, le=100)] = 6
    """The maximum number of replicas that the HorizontalPodAutoscaler starts; it needs the metrics server. With no more
    than replicas, there is no HorizontalPodAutoscaler.
    """
    cpu_percent: Annotated[int, Field(ge=10, le=400)] = 70
    """The CPU use in percent of the request at which the HorizontalPodAutoscaler adds replicas."""
    resources: Resources = get_section_default(Resources)
    """What a replica gets."""
    priority_class_name: str = "system-cluster-critical"
    """The pods' priority class; empty for none."""
    node_selector: dict[str, str] = {}
    """More labels of the nodes that the pods may run on, besides kubernetes.io/os=linux."""
    tolerations: list[Fields] = []
    """More tolerations of the webhook's own pods, besides those for configuration.taints."""
    service_account_annotations: dict[str, str] = {}
    """Annotations of the webhook's ServiceAccount, such as eks.amazonaws.com/role-arn."""
    certificates: Literal["self-managed", "cert-manager"] = "self-managed"
    """Who issues the webhook's certificate: Helm, once for ten years, or cert-manager, which must be installed and
    renews it.
    """
    issuer: Issuer | None = None
    """The cert-manager issuer. Default: a certificate authority of the installation."""
    excluded_namespaces: list[Label] = []
    """Namespaces that the webhook is never called for, besides kube-system and its own."""
    network_policy: NetworkPolicy = get_section_default(NetworkPolicy)
    """What the webhook's pods may connect to."""
    service_monitor: ServiceMonitor = get_section_default(ServiceMonitor)
    """A ServiceMonitor of the Prometheus operator."""
    extra_volumes: list[Fields] = []
    """More volumes of the webhook's pods, for files that configuration names, such as registries.caFiles."""
    extra_volume_mounts: list[Fields] = []
    """Where the webhook's container has them."""
    configuration: WebhookConfiguration = get_section_default(WebhookConfiguration)
    """How the webhook decides."""

    @property
    def memory_mib(self) -> int:
        """The memory request and limit in MiB."""
        needed = BASE_MIB + int(PER_CACHE_MIB * self.configuration.cache.memory_mib)
        return self.resources.memory_mib or needed

    def chart_values(self) -> dict[str, object]:
        """Return the values of the Helm chart: the keys that were written, the others are the chart's defaults."""
        return self.model_dump(by_alias=True, exclude_unset=True, exclude_none=True)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        least = BASE_MIB // 2 + self.configuration.cache.memory_mib
        if self.memory_mib < least:
            raise ValueError(f"resources.memoryMib must be at least {least} for configuration.cache.memoryMib")
        if self.issuer and self.certificates != "cert-manager":
            raise ValueError("issuer needs certificates: cert-manager")
        return self


class ChartValues(InstallationValues):
    """The values of the Helm chart."""

    name: Name = INSTALLATION_NAME
    """The name of most objects; the others add something to it."""
