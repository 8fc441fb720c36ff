"""The admission webhook's installation: the values of its Helm chart."""

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from multiarch.facts.admission import INSTALLATION_NAME
from multiarch.schema.base import Label, Section, declare_form, get_section_default
from multiarch.schema.webhook import SUBDOMAIN_PATTERN, WebhookConfiguration

BASE_MIB = 256
"""Memory of the webhook without its cache, in MiB, with as many connections and bodies as it accepts."""
PER_CACHE_MIB = 1.5
"""Memory for each MiB of ``configuration.cache.memoryMib``: the cache counts its content, not what Python adds."""

NAME_PATTERN = declare_form(
    r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$",
    "at most 40 lower-case letters, digits and hyphens, a letter first, such as multiarch-webhook",
)
_IMAGE = declare_form(r"^[^\s]+$", "an image without spaces, such as registry.example.com/multiarch:1.0")
_OBJECT = declare_form(f"^{SUBDOMAIN_PATTERN}$", "a DNS name in lower case, such as registry-credentials")
_OBJECT_OR_NONE = declare_form(
    f"^(?:{SUBDOMAIN_PATTERN})?$", "a DNS name in lower case, such as system-cluster-critical"
)
_MEMORY = declare_form(r"^[1-9][0-9]*(Mi|Gi)$", "a whole number of Mi or Gi, such as 512Mi")
_CPU = declare_form(r"^([0-9]+m|[0-9]+(\.[0-9]{1,3})?)$", "cores or thousandths of them, such as 0.5 or 500m")
Name = Annotated[str, Field(pattern=NAME_PATTERN)]
"""A DNS label with room for the longest suffix of an object's name."""
Image = Annotated[str, Field(pattern=_IMAGE, examples=["registry.example.com/multiarch@sha256:…"])]
ObjectName = Annotated[str, Field(pattern=_OBJECT, max_length=253)]
"""A DNS subdomain, as most objects' names are."""
Port = Annotated[int, Field(ge=1024, le=65535)]
_Memory = Annotated[str, Field(pattern=_MEMORY)]
_Cpu = Annotated[str, Field(pattern=_CPU)]
Fields = dict[str, Any]
"""Fields of a Kubernetes object, passed on as they are."""


class _Values(Section):
    """Sections that Python code makes with the fields' names."""

    model_config = ConfigDict(validate_by_name=True)


class PullSecretReference(_Values):
    """A Secret to pull images with."""

    name: ObjectName
    """Its name, in the pods' namespace."""


class ResourceRequests(_Values):
    """CPU and memory that are requested."""

    cpu: _Cpu = "100m"
    """In cores."""
    memory: _Memory | None = None
    """In Mi or Gi. Default: the limit."""


class ResourceLimits(_Values):
    """CPU and memory that a replica can't exceed."""

    cpu: _Cpu | None = None
    """In cores. Default: none, because it would add to the latency of every pod's creation."""
    memory: _Memory | None = None
    """In Mi or Gi. Default: the request, or else 256 MiB and 1.5 for each MiB of configuration.cache.memoryMib."""


class Resources(_Values):
    """What a replica gets."""

    requests: ResourceRequests = get_section_default(ResourceRequests)
    """CPU and memory that are requested."""
    limits: ResourceLimits = get_section_default(ResourceLimits)
    """CPU and memory that a replica can't exceed."""


class Issuer(_Values):
    """A cert-manager issuer."""

    name: str
    """The issuer's name."""
    kind: Literal["Issuer", "ClusterIssuer"] = "ClusterIssuer"
    """An Issuer has to be in the webhook's namespace."""


class NetworkPolicy(_Values):
    """What the webhook's pods may connect to, and what may connect to them."""

    enabled: bool = True
    """Allow connections to DNS, registries (port 443 and the ports that configuration.registries names), the EKS Pod
    Identity agent, and no others.
    """
    ingress_from: list[Fields] = []
    """Sources of reviews, as entries of ``from`` in a NetworkPolicy, such as ``ipBlock`` with the cluster's subnets.
    Default: all, because no selector matches an API server.
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
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    """When the image is pulled. Default: Kubernetes', which depends on the tag."""
    image_pull_secrets: list[PullSecretReference] = []
    """Secrets in the webhook's namespace to pull the image with."""
    common_labels: dict[str, str] = {}
    """Labels of all objects and of the pods."""
    pod_labels: dict[str, str] = {}
    """Labels of the pods."""
    pod_annotations: dict[str, str] = {}
    """Annotations of the pods."""
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
    revision_history_limit: Annotated[int, Field(ge=0, le=100)] | None = None
    """How many old ReplicaSets of the Deployment are kept. Default: Kubernetes'."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The log's level: decisions are info, warning if an image could not be read; debug has all."""
    extra_env: list[Fields] = []
    """More variables of the webhook's container, as containers have them in env, such as HTTPS_PROXY and NO_PROXY."""
    host_network: bool = False
    """Run the pods in the network of their nodes: where the control plane reaches no pods, as on EKS with another CNI
    than Amazon's. The webhook's namespace must admit such pods: Pod Security enforces ``privileged`` there. A
    NetworkPolicy has no effect on them.
    """
    secure_port: Port = 8443
    """The port for reviews, over HTTPS. Security groups must let the control plane through to it."""
    metrics_port: Port = 8080
    """The port for probes and metrics, over HTTP."""
    priority_class_name: Annotated[str, Field(pattern=_OBJECT_OR_NONE, max_length=253)] = "system-cluster-critical"
    """The pods' priority class; empty for none."""
    node_selector: dict[str, str] = {}
    """More labels of the nodes that the pods may run on, besides kubernetes.io/os=linux."""
    affinity: Fields = {}
    """The pods' affinity."""
    tolerations: list[Fields] = []
    """More tolerations of the webhook's own pods, as pods have them, besides those for configuration.taints."""
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
    """What the webhook's pods may connect to, and what may connect to them."""
    service_monitor: ServiceMonitor = get_section_default(ServiceMonitor)
    """A ServiceMonitor of the Prometheus operator."""
    extra_volumes: list[Fields] = []
    """More volumes of the webhook's pods, for files that configuration names, such as registries.caFiles."""
    extra_volume_mounts: list[Fields] = []
    """Where the webhook's container has them, as its volumeMounts."""
    configuration: WebhookConfiguration = get_section_default(WebhookConfiguration)
    """How the webhook decides."""

    def chart_values(self) -> dict[str, object]:
        """Return the values of the Helm chart: the keys that were written, the others are the chart's defaults."""
        return self.model_dump(by_alias=True, exclude_unset=True, exclude_none=True)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        needed = BASE_MIB + int(PER_CACHE_MIB * self.configuration.cache.memory_mib)
        limit = self.resources.limits.memory or self.resources.requests.memory
        if limit and _count_mib(limit) < needed:
            key = f"resources.{'limits' if self.resources.limits.memory else 'requests'}.memory"
            cache = f"configuration.cache.memoryMib {self.configuration.cache.memory_mib}"
            raise ValueError(f"{key} is {limit}; with {cache} it must be at least {needed}Mi")
        if self.issuer and self.certificates != "cert-manager":
            raise ValueError("issuer needs certificates: cert-manager")
        if self.secure_port == self.metrics_port:
            raise ValueError("securePort and metricsPort must differ")
        return self


def _count_mib(memory: str) -> int:
    return int(memory[:-2]) * (1024 if memory.endswith("Gi") else 1)


class ChartValues(InstallationValues):
    """The values of the Helm chart."""

    name: Name = INSTALLATION_NAME
    """The name of most objects; the others add something to it."""
