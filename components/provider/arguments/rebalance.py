"""Generated from multiarch/schema/rebalance.py by ``make generate``: arguments of components."""

from typing import NotRequired, TypedDict

from .autoscaling import QuietHoursSettings


class RebalanceSettings(TypedDict):
    """A CronJob that runs `multiarch rebalance`: it moves pods that could run on arm64 off amd64 nodes."""

    enabled: NotRequired[bool]
    """Install it; needs a way to the Kubernetes API when Pulumi runs. Default: false."""

    image: NotRequired[str]
    """The project's image, with its registry and a tag or, better, a digest. Default: `admissionWebhook.image`, which
    is the same.
    """

    imagePullSecrets: NotRequired[list[str]]
    """Secrets in the namespace multiarch-rebalance to pull the image with."""

    dryRun: NotRequired[bool]
    """Only log what would be moved. Default: false."""

    schedule: NotRequired[str]
    """When a run starts, as cron in UTC. Runs do not overlap. Default: */30 * * * *."""

    maxPods: NotRequired[int]
    """The most pods that one run moves. Default: 20."""

    pace: NotRequired[str]
    """The time between two evictions. Default: 30s."""

    quietHours: NotRequired[QuietHoursSettings]
    """When nothing is moved."""

    evictSingle: NotRequired[bool]
    """Also move a workload's only ready pod if no PodDisruptionBudget selects it. Default: false."""

    deleteEmptyDirData: NotRequired[bool]
    """Move also pods with emptyDir volumes, whose data is deleted. Default: false."""

    namespaces: NotRequired[list[str]]
    """Move pods of these namespaces only; the service account may evict nothing elsewhere. Default: all namespaces."""

    pullSecrets: NotRequired[list[str]]
    """Secrets that the run may read images with, as NAMESPACE/NAME. Images that need others are unknown, and pods with
    an unknown image are not moved.
    """

    ecrRepositories: NotRequired[list[str]]
    """Amazon ECR repositories that the run may read: names in the stack's account and region, with `*` for any part,
    or ARNs. Empty: no IAM role.
    """

    memoryMib: NotRequired[int]
    """The memory request and limit of a run in MiB. A run reads the whole cluster: 512 are enough for 30,000 pods.
    Default: 512.
    """

    networkPolicy: NotRequired[bool]
    """Allow the run's pods connections to DNS, port 443 (the API server, registries, AWS) and the EKS Pod Identity
    agent, and no others. Default: true.
    """
