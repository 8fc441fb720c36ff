"""moto's EKS with the sandbox's operations in front; botocore's model says which operation a path is."""

from __future__ import annotations

import re

from moto.eks import models, urls

from sandbox.aws.eks_access import EksAccess
from sandbox.aws.eks_base import invalid
from sandbox.aws.eks_clusters import EksClusters
from sandbox.aws.eks_nodegroups import EksNodegroups


class SandboxEks(EksClusters, EksNodegroups, EksAccess):
    """The sandbox's EKS: moto's operations, with the gaps filled."""


def check_role_arn(arn: str) -> None:
    """Reject anything but a role's ARN. moto's own check loads all AWS endpoints at every call."""
    if not re.fullmatch(r"arn:aws[a-z-]*:iam::\d{12}:role/.+", arn):
        raise invalid(f"Invalid Role Arn: '{arn}'")


def install() -> None:
    """Route every EKS path to :class:`SandboxEks`, also those that moto does not have."""
    vars(models)["validate_role_arn"] = check_role_arn
    urls.url_paths.clear()
    urls.url_paths["{0}/(?P<path>.+)$"] = SandboxEks.dispatch
