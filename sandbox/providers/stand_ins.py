"""Serve a stand-in to a Pulumi engine."""

from __future__ import annotations

import importlib.metadata
import sys


def serve(name: str) -> None:
    """Serve until the engine ends it; each stand-in imports what it needs, and no more."""
    arguments = sys.argv[1:]  # the SDK reads them there
    if name == "eks":
        import pulumi_aws  # noqa: F401, PLC0415 (makes resource references in inputs known)
        from pulumi.provider import main as serve_component  # noqa: PLC0415

        from sandbox.providers.eks.provider import EksProvider  # noqa: PLC0415

        serve_component(EksProvider(), arguments)
        return
    from sandbox.providers import serving  # noqa: PLC0415

    if name == "aws":
        from sandbox.providers.aws.provider import AwsProvider as Provider  # noqa: PLC0415
    else:
        from sandbox.providers.kubernetes.provider import KubernetesProvider as Provider  # type: ignore[assignment]  # noqa: PLC0415
    serving.main(arguments, importlib.metadata.version(f"pulumi_{name}"), Provider())


def load_all() -> None:
    """Load what any stand-in needs, also what it would load at its first request."""
    from sandbox.clients import get_client  # noqa: PLC0415
    from sandbox.providers.aws.provider import ROWS  # noqa: PLC0415
    from sandbox.providers.aws.sdk import read_properties  # noqa: PLC0415

    for token in ROWS:
        read_properties(token)  # the SDK loads a class at the first look; programs need them too
    for service in ("autoscaling", "ec2", "eks", "events", "iam", "kms", "logs", "sqs", "ssm", "sts"):
        get_client(service, "http://127.0.0.1", "us-east-1")
