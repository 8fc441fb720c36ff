"""The section ``admissionWebhook`` of the stack file: the installation's values, and what only a stack has."""

from multiarch.schema.base import get_section_default
from multiarch.schema.iam import EcrRepository
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.schema.webhook_installation import Image, InstallationValues


class AdmissionWebhook(InstallationValues):
    """The admission webhook: it adds the arm64 toleration to pods whose images support both architectures."""

    enabled: bool = False
    """Install it; needs a way to the Kubernetes API when Pulumi runs."""
    image: Image | None = None  # type: ignore[assignment]  # required only where the webhook is enabled: a rule
    """The webhook's image, with its registry and a tag or, better, a digest. Required with ``enabled``: there is no
    public one, so build it, and push it to a registry that the nodes can pull from.
    """
    ecr_repositories: list[EcrRepository] = ["*"]
    """Amazon ECR repositories that the webhook may read: names in the stack's account and region, with ``*`` for any
    part, or ARNs.
    """
    configuration: WebhookConfiguration = get_section_default(WebhookConfiguration)
    """How it decides. ``taints`` are by default the stack's ``arm64Taint``, ``architectures`` those of its groups and
    pools.
    """
