"""AWS clients for commands that need them."""

from __future__ import annotations

import os
from typing import Any

from multiarch.aws_errors import failures_as_errors
from multiarch.errors import MultiarchError


def client(service: str, region: str | None, *, region_key: str = "AWS_REGION", profile: str | None = None) -> Any:  # noqa: ANN401  (untyped)
    """A boto3 client. Without ``region``, the environment's or the profile's is used.

    It repeats failed and throttled requests twice (botocore's standard mode), and gives up an endpoint that does not
    answer after 10 s per attempt. Raises MultiarchError if no region is configured; its hint names ``region_key`` and
    --region.
    """
    import boto3
    from botocore.config import Config
    from botocore.exceptions import NoRegionError

    settings = Config(retries={"mode": "standard"}, connect_timeout=10, read_timeout=30)
    with failures_as_errors():
        try:
            # boto3's default session would keep credentials for the life of the process.
            # Of the environment it reads AWS_DEFAULT_REGION only; the other SDKs and Pulumi read AWS_REGION.
            region = region or os.environ.get("AWS_REGION") or None
            return boto3.session.Session(profile_name=profile).client(service, region_name=region, config=settings)
        except NoRegionError as error:
            hint = f"Set {region_key}, or give --region."
            raise MultiarchError("No AWS region is configured.", hint=hint) from error
