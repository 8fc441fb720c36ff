"""AWS clients for commands that need them, and AWS's errors as messages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from multiarch.errors import MultiarchError, OutsideError


def client(service: str, region: str | None, *, region_key: str = "AWS_REGION") -> Any:  # noqa: ANN401  (untyped)
    """A boto3 client. Without ``region``, the environment's or the profile's is used.

    Raises MultiarchError if no region is configured; its hint names ``region_key`` and --region.
    """
    import boto3
    from botocore.exceptions import NoRegionError

    with failures_as_errors():
        try:
            # boto3's default session would keep credentials for the life of the process.
            # Of the environment it reads AWS_DEFAULT_REGION only; the other SDKs and Pulumi read AWS_REGION.
            region = region or os.environ.get("AWS_REGION") or None
            return boto3.session.Session().client(service, region_name=region)
        except NoRegionError as error:
            hint = f"Set {region_key}, or give --region."
            raise MultiarchError("No AWS region is configured.", hint=hint) from error


@contextmanager
def failures_as_errors() -> Iterator[None]:
    """Turn boto3's exceptions into OutsideError (exit code 3), with a hint."""
    from botocore.exceptions import (
        BotoCoreError,
        ClientError,
        CredentialRetrievalError,
        NoCredentialsError,
        PartialCredentialsError,
        ProfileNotFound,
    )

    try:
        yield
    except (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError, ProfileNotFound) as error:
        hint = "Log in as for the AWS CLI: AWS_PROFILE, `aws sso login`, or AWS_ACCESS_KEY_ID."
        raise OutsideError(f"Can't get AWS credentials: {error}.", hint=hint) from error
    except ClientError as error:
        what, code = error.response.get("Error", {}).get("Message", str(error)), error.response["Error"]["Code"]
        raise OutsideError(f"AWS rejected {error.operation_name} ({code}): {what}", hint=_hint(code)) from error
    except BotoCoreError as error:
        hint = "" if "AWS_ENDPOINT_URL" not in os.environ else "AWS_ENDPOINT_URL is set: is that server running?"
        raise OutsideError(f"Can't reach AWS: {error}.", hint=hint) from error


def _hint(code: str) -> str:
    if "Token" in code or code in {"InvalidClientTokenId", "SignatureDoesNotMatch"}:
        return "Renew the credentials, for example with `aws sso login`."
    if "AccessDenied" in code or code == "UnauthorizedOperation":
        return "Use credentials that have this permission."
    return ""
