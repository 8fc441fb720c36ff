"""Generated from multiarch/schema/admission_webhook.py by ``make generate``: arguments of components."""

from typing import Any, NotRequired, TypedDict

from .webhook import WebhookConfigurationSettings
from .webhook_installation import IssuerSettings, NetworkPolicySettings, ResourcesSettings, ServiceMonitorSettings


class AdmissionWebhookSettings(TypedDict):
    """The admission webhook: it adds the arm64 toleration to pods whose images support both architectures."""

    image: NotRequired[str]
    """The webhook's image, with its registry and a tag or, better, a digest. Required with `enabled`: there is no
    public one, so build it, and push it to a registry that the nodes can pull from.
    """

    imagePullSecrets: NotRequired[list[str]]
    """Secrets in the webhook's namespace to pull the image with."""

    replicas: NotRequired[int]
    """How many replicas run, at least. Default: 2."""

    maxReplicas: NotRequired[int]
    """The most replicas that the HorizontalPodAutoscaler starts; it needs the metrics server. With no more than
    replicas, there is no HorizontalPodAutoscaler. Default: 6.
    """

    cpuPercent: NotRequired[int]
    """The CPU use in percent of the request at which the HorizontalPodAutoscaler adds replicas. Default: 70."""

    resources: NotRequired[ResourcesSettings]
    """What a replica gets."""

    priorityClassName: NotRequired[str]
    """The pods' priority class; empty for none. Default: system-cluster-critical."""

    nodeSelector: NotRequired[dict[str, str]]
    """More labels of the nodes that the pods may run on, besides kubernetes.io/os=linux."""

    tolerations: NotRequired[list[dict[str, Any]]]
    """More tolerations of the webhook's own pods, besides those for configuration.taints."""

    serviceAccountAnnotations: NotRequired[dict[str, str]]
    """Annotations of the webhook's ServiceAccount, such as eks.amazonaws.com/role-arn."""

    certificates: NotRequired[str]
    """Who issues the webhook's certificate: Helm, once for ten years, or cert-manager, which must be installed and
    renews it. One of self-managed, cert-manager. Default: self-managed.
    """

    issuer: NotRequired[IssuerSettings]
    """The cert-manager issuer. Default: a certificate authority of the installation."""

    excludedNamespaces: NotRequired[list[str]]
    """Namespaces that the webhook is never called for, besides kube-system and its own."""

    networkPolicy: NotRequired[NetworkPolicySettings]
    """What the webhook's pods may connect to."""

    serviceMonitor: NotRequired[ServiceMonitorSettings]
    """A ServiceMonitor of the Prometheus operator."""

    extraVolumes: NotRequired[list[dict[str, Any]]]
    """More volumes of the webhook's pods, for files that configuration names, such as registries.caFiles."""

    extraVolumeMounts: NotRequired[list[dict[str, Any]]]
    """Where the webhook's container has them."""

    configuration: NotRequired[WebhookConfigurationSettings]
    """How it decides. `taints` are by default the stack's `arm64Taint`, `architectures` those of its groups and pools.
    """

    enabled: NotRequired[bool]
    """Install it; needs a way to the Kubernetes API when Pulumi runs. Default: false."""

    ecrRepositories: NotRequired[list[str]]
    """Amazon ECR repositories that the webhook may read: names in the stack's account and region, with `*` for any
    part, or ARNs.
    """
