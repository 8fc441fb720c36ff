"""The section ``rebalance`` of the stack file: a CronJob that moves pods back to arm64 nodes."""

from typing import Annotated

from pydantic import Field

from multiarch.schema.autoscaling import QuietHours
from multiarch.schema.base import Label, Section
from multiarch.schema.iam import EcrRepository
from multiarch.schema.webhook import PullSecret
from multiarch.schema.webhook_installation import Image, PullSecretReference


class Rebalance(Section):
    """A CronJob that runs ``multiarch rebalance``: it moves pods that could run on arm64 off amd64 nodes."""

    enabled: bool = False
    """Install it; needs a way to the Kubernetes API when Pulumi runs."""
    image: Image | None = None
    """The project's image, with its registry and a tag or, better, a digest. Default: ``admissionWebhook.image``, which
    is the same.
    """
    image_pull_secrets: list[PullSecretReference] = []
    """Secrets in the namespace multiarch-rebalance to pull the image with."""
    dry_run: bool = False
    """Only log what would be moved."""
    schedule: Annotated[str, Field(examples=["*/30 * * * *"])] = "*/30 * * * *"
    """When a run starts, as cron in UTC. Runs do not overlap."""
    max_pods: Annotated[int, Field(ge=1, le=10_000)] = 20
    """The maximum number of pods that one run moves."""
    pace: Annotated[str, Field(examples=["30s"])] = "30s"
    """The time between two evictions."""
    quiet_hours: QuietHours | None = None
    """When nothing is moved."""
    evict_single: bool = False
    """Also move a workload's only ready pod if no PodDisruptionBudget selects it."""
    delete_empty_dir_data: bool = False
    """Move also pods with emptyDir volumes, whose data is deleted."""
    namespaces: list[Label] = []
    """Move pods of these namespaces only; the service account may evict nothing elsewhere. Default: all namespaces."""
    pull_secrets: list[PullSecret] = []
    """Secrets that the run may read images with, as NAMESPACE/NAME. Images that need others are unknown, and pods with
    an unknown image are not moved.
    """
    ecr_repositories: list[EcrRepository] = ["*"]
    """Amazon ECR repositories that the run may read: names in the stack's account and region, with ``*`` for any part,
    or ARNs. Empty: no IAM role.
    """
    memory_mib: Annotated[int, Field(ge=128, le=65536)] = 512
    """The memory request and limit of a run in MiB. A run reads the whole cluster: 512 are enough for 30,000 pods."""
    network_policy: bool = True
    """Allow the run's pods connections to DNS, port 443 (the API server, registries, AWS) and the EKS Pod Identity
    agent, and no others.
    """


class RebalancePlan(Rebalance):
    """The section as it is installed, its image and the stack file that its runs read; lists are sorted."""

    image: str
    """With its registry."""
    stack_file: str = Field(repr=False)
    """The text of a stack file."""
