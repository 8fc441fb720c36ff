"""Amazon ECR: a token for 12 hours, from boto3, with its usual AWS credentials.

The token is valid for every registry that its owner may read, including other accounts' in the same region.
Source: https://docs.aws.amazon.com/AmazonECR/latest/userguide/registry_auth.html
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import time
from collections.abc import Callable
from typing import Any

from multiarch.facts.ecr import EcrHost, parse_ecr_host
from multiarch.registry.credentials.model import Credential
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.reference import Reference

RENEWED_BEFORE = 30 * 60.0
"""A token is replaced this many seconds before it expires."""

_FAILED_SECONDS = 60.0
_NEW_SECONDS = 300.0
"""A new token is used at least this long, even if this machine's clock is wrong."""


def open_default_client(host: EcrHost) -> Any:  # noqa: ANN401 (boto3 has no types)
    """Return a boto3 client that can get tokens for ``host``."""
    import boto3  # noqa: PLC0415 (large: only images in ECR need it)
    from botocore.config import Config  # noqa: PLC0415 (large)

    config = Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard", "max_attempts": 3})
    config = config.merge(Config(use_fips_endpoint=True)) if host.fips else config
    service = "ecr-public" if host.public else "ecr"
    # A separate session: boto3's default one keeps credentials as long as the process.
    return boto3.session.Session().client(service, region_name=host.region, config=config)


class EcrCredentials:
    """Tokens for ECR registries, one per region; nothing for others. The public gallery works without one."""

    def __init__(self, client: Callable[[EcrHost], Any] = open_default_client) -> None:
        """``client`` makes a boto3 client; it is called in a thread."""
        self._client = client
        self._tokens: dict[EcrHost, Credential] = {}
        self._failed: dict[EcrHost, tuple[float, str]] = {}
        self._locks: dict[EcrHost, asyncio.Lock] = {}

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        """Return the token for the repository's registry.

        Raises:
            RegistryError: CREDENTIALS, if AWS gives no token; the public gallery is then read anonymously.
        """
        host = parse_ecr_host(reference.registry)
        if host is None:
            return ()
        region_host = EcrHost("", host.region, host.fips, host.public)
        async with self._locks.setdefault(region_host, asyncio.Lock()):
            known = self._tokens.get(region_host)
            if known is not None and known.expires is not None and time.time() < known.expires:
                return (known,)
            until, fault = self._failed.get(region_host, (0.0, ""))
            if time.monotonic() >= until:
                try:
                    self._tokens[region_host] = await asyncio.to_thread(self._fetch, region_host)
                except _NoTokenError as error:
                    fault = str(error)
                    self._failed[region_host] = time.monotonic() + _FAILED_SECONDS, fault
                else:
                    return (self._tokens[region_host],)
        if host.public:
            return ()
        raise RegistryError(
            RegistryReason.CREDENTIALS,
            fault,
            reference,
            "Set AWS credentials that allow ecr:GetAuthorizationToken.",
        )

    def _fetch(self, region_host: EcrHost) -> Credential:
        """Get a token from AWS. Runs in a thread; raises _NoTokenError."""
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError  # noqa: PLC0415 (large)

        try:
            answer = self._client(region_host).get_authorization_token()
        except NoCredentialsError as error:
            raise _NoTokenError("no AWS credentials found") from error
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "no error code")
            raise _NoTokenError(f"AWS rejected ecr:GetAuthorizationToken in {region_host.region} ({code})") from error
        except BotoCoreError as error:
            raise _NoTokenError(f"AWS returned no ECR token in {region_host.region} ({error})") from error
        data = answer["authorizationData"]
        row = data if isinstance(data, dict) else data[0]
        try:
            user, _, password = base64.b64decode(row["authorizationToken"], validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError) as error:
            raise _NoTokenError(f"AWS returned an invalid ECR token in {region_host.region}") from error
        ends = max(row["expiresAt"].timestamp() - RENEWED_BEFORE, time.time() + _NEW_SECONDS)
        return Credential(user, password, source=f"ECR in {region_host.region}", expires=ends)


class _NoTokenError(Exception):
    """AWS gave no token; the message contains no secret."""
