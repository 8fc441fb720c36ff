"""boto3's clients, and its exceptions as errors of multiarch."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from multiarch.errors import MultiarchError, OutsideError

REGION_HINT = "Set {}, or give --region."
_ACTION = re.compile(r"not authorized to perform: (?P<action>[a-z0-9-]+:\w+)")


def open_clients(
    region: str | None,
    *,
    region_hint: str = REGION_HINT.format("AWS_REGION"),
    profile: str | None = None,
    role_arn: str | None = None,
) -> Callable[[str], Any]:
    """Return a function that gives boto3's client of a service, each opened once, all of one session.

    Without ``region``, the environment's or the profile's is used; the role, if any, is assumed first. A client repeats
    failed and throttled requests up to four times (botocore's standard mode), and gives up an endpoint that does not
    answer after 10 s per attempt. The function raises MultiarchError with ``region_hint`` if no region is configured.
    """
    # Of the environment boto3 reads AWS_DEFAULT_REGION only; the other SDKs and Pulumi read AWS_REGION.
    region = region or os.environ.get("AWS_REGION") or None

    def configure() -> Any:  # noqa: ANN401  (boto3 is untyped)
        from botocore.config import Config  # noqa: PLC0415 (takes long to load)

        return Config(retries={"mode": "standard", "total_max_attempts": 5}, connect_timeout=10, read_timeout=30)

    @cache
    def open_session() -> Any:  # noqa: ANN401  (as above)
        import boto3  # noqa: PLC0415 (takes long to load)

        # boto3's default session would keep credentials for the life of the process.
        session = boto3.session.Session(profile_name=profile, region_name=region)
        if role_arn is None:
            return session
        made = session.client("sts", config=configure()).assume_role(RoleArn=role_arn, RoleSessionName="multiarch")[
            "Credentials"
        ]
        keys = (made["AccessKeyId"], made["SecretAccessKey"], made["SessionToken"])
        return boto3.session.Session(*keys, region_name=session.region_name)

    @cache
    def open_one(service: str) -> Any:  # noqa: ANN401  (as above)
        from botocore.exceptions import NoRegionError  # noqa: PLC0415

        with translate_failures():
            try:
                return open_session().client(service, config=configure())
            except NoRegionError as error:
                raise MultiarchError("No AWS region is configured.", hint=region_hint) from error

    return open_one


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
