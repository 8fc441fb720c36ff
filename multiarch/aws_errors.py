"""boto3's clients, and its exceptions as errors of multiarch."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from multiarch.errors import MultiarchError, OutsideError

_ACTION = re.compile(r"not authorized to perform: (?P<action>[a-z0-9-]+:\w+)")


def open_client(
    service: str,
    region: str | None,
    *,
    region_key: str = "AWS_REGION",
    profile: str | None = None,
) -> Any:  # noqa: ANN401  (boto3 is untyped)
    """Return a boto3 client. Without ``region``, the environment's or the profile's is used.

    It repeats failed and throttled requests up to four times (botocore's standard mode), and gives up an endpoint that
    does not answer after 10 s per attempt. Raises MultiarchError if no region is configured; its hint names
    ``region_key`` and --region.
    """
    import boto3  # noqa: PLC0415 (as below)
    from botocore.config import Config  # noqa: PLC0415
    from botocore.exceptions import NoRegionError  # noqa: PLC0415

    settings = Config(retries={"mode": "standard", "total_max_attempts": 5}, connect_timeout=10, read_timeout=30)
    with translate_failures():
        try:
            # boto3's default session would keep credentials for the life of the process.
            # Of the environment it reads AWS_DEFAULT_REGION only; the other SDKs and Pulumi read AWS_REGION.
            region = region or os.environ.get("AWS_REGION") or None
            return boto3.session.Session(profile_name=profile).client(service, region_name=region, config=settings)
        except NoRegionError as error:
            hint = f"Set {region_key}, or give --region."
            raise MultiarchError("No AWS region is configured.", hint=hint) from error


@contextmanager
def translate_failures() -> Iterator[None]:
    """Turn boto3's exceptions into OutsideError (exit code 3), with a hint."""
    from botocore.exceptions import (  # noqa: PLC0415 (botocore takes long to load)
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
        hint = _hint(code, find_denied_action(error))
        message = f"AWS rejected {error.operation_name} ({code}): {what}".rstrip(": .") + "."
        raise OutsideError(message, hint=hint) from error
    except BotoCoreError as error:
        hint = "" if "AWS_ENDPOINT_URL" not in os.environ else "AWS_ENDPOINT_URL is set: is that server running?"
        raise OutsideError(f"Can't reach AWS: {error}.", hint=hint) from error


def find_denied_action(error: Exception) -> str:
    """Return the IAM action that a ClientError says is missing (``ssm:SendCommand``); empty for other errors.

    Some services do not name it in their message; then it is the operation (``DescribeInstances``).
    """
    response = getattr(error, "response", {}).get("Error", {})
    code = response.get("Code", "")
    if "AccessDenied" not in code and code != "UnauthorizedOperation":
        return ""
    named = _ACTION.search(response.get("Message", ""))
    return named["action"] if named else str(getattr(error, "operation_name", ""))


def _hint(code: str, action: str) -> str:
    if "Token" in code or code in {"InvalidClientTokenId", "SignatureDoesNotMatch"}:
        return "Renew the credentials, for example with `aws sso login`."
    if action:
        return f"Use credentials that allow {action}."
    return ""
