"""The AWS CLI, which Pulumi's plugins run: pulumi-eks before a cluster exists, the Kubernetes provider for tokens."""

from __future__ import annotations

import shutil

from multiarch.errors import MultiarchError


def require_aws_cli(path: str | None = None) -> None:
    """Raise MultiarchError if the program ``aws`` is not on ``path``, by default PATH.

    Source: pulumi/pulumi-eks, nodejs/eks/dependencies.ts, assertCompatibleAWSCLIExists.
    """
    if shutil.which("aws", path=path) is None:
        raise MultiarchError(
            "The program `aws` is not on PATH; `pulumi preview` and `pulumi up` need it for EKS and its tokens.",
            hint="Install the AWS CLI: https://docs.aws.amazon.com/cli/latest/userguide/getting-started-install.html",
        )
