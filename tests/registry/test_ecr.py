"""ECR's tokens, from moto. Moto's tokens open no registry: that a token lets in is not shown here."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import NoCredentialsError
from moto import mock_aws

from multiarch.facts.ecr import PUBLIC_REGION, EcrHost, parse_ecr_host
from multiarch.registry.credentials.ecr import EcrCredentials, open_default_client
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.reference import Reference, parse_reference

ACCOUNT = "123456789012"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        yield


class Counting:
    """Makes boto3's clients, and remembers for what."""

    def __init__(self) -> None:
        self.made: list[EcrHost] = []

    def __call__(self, host: EcrHost) -> Any:  # noqa: ANN401 (boto3 has no types)
        self.made.append(host)
        return open_default_client(host)


def image(host: str) -> Reference:
    return parse_reference(f"{host}/team/app:1.0")


@pytest.mark.parametrize(
    ("host", "found"),
    [
        (f"{ACCOUNT}.dkr.ecr.eu-west-1.amazonaws.com", EcrHost(ACCOUNT, "eu-west-1")),
        (f"{ACCOUNT}.dkr.ecr-fips.us-gov-west-1.amazonaws.com", EcrHost(ACCOUNT, "us-gov-west-1", fips=True)),
        (f"{ACCOUNT}.dkr.ecr.cn-north-1.amazonaws.com.cn", EcrHost(ACCOUNT, "cn-north-1")),
        (f"{ACCOUNT}.dkr.ecr.us-iso-east-1.c2s.ic.gov", EcrHost(ACCOUNT, "us-iso-east-1")),
        (f"{ACCOUNT}.dkr-ecr.eu-west-1.on.aws", EcrHost(ACCOUNT, "eu-west-1")),
        (f"{ACCOUNT}.dkr-ecr-fips.us-east-1.on.aws", EcrHost(ACCOUNT, "us-east-1", fips=True)),
        (f"{ACCOUNT}.dkr-ecr.cn-north-1.on.amazonwebservices.com.cn", EcrHost(ACCOUNT, "cn-north-1")),
        ("public.ecr.aws", EcrHost("", PUBLIC_REGION, public=True)),
        # A token must not go to somebody who only has a name that looks alike.
        (f"{ACCOUNT}.dkr.ecr.cn-north-1.amazonaws.com", None),
        (f"{ACCOUNT}.dkr.ecr.eu-west-1.amazonaws.com.evil.example", None),
        (f"{ACCOUNT}.dkr.ecr.eu-west-1.on.aws", None),
        (f"{ACCOUNT}.dkr.ecr.xx-west-1.amazonaws.com", None),
        (f"evil.{ACCOUNT}.dkr.ecr.eu-west-1.amazonaws.com", None),
        ("12345.dkr.ecr.eu-west-1.amazonaws.com", None),
        (f"{ACCOUNT}.dkr.ecr.eu-west-1.amazonaws.com:443", None),
        ("quay.io", None),
    ],
)
def test_only_ecrs_own_names_are_ecr(host: str, found: EcrHost | None) -> None:
    assert parse_ecr_host(host) == found


@pytest.mark.usefixtures("aws")
def test_one_token_serves_all_accounts_of_a_region_for_twelve_hours() -> None:
    clients = Counting()
    credentials = EcrCredentials(clients)

    async def ask() -> None:
        hosts = [f"{account}.dkr.ecr.{region}.amazonaws.com" for account in (ACCOUNT, "999999999999")
                 for region in ("eu-west-1", "us-east-1")]  # fmt: skip
        found = await asyncio.gather(*(credentials.for_repository(image(host)) for host in hosts * 5))
        assert {credential.username for (credential,) in found} == {"AWS"}
        assert all(credential.password and credential.password not in repr(credential) for (credential,) in found)

    asyncio.run(ask())
    assert sorted(host.region for host in clients.made) == ["eu-west-1", "us-east-1"]


@pytest.mark.usefixtures("aws")
def test_a_registry_that_is_not_ecrs_gets_nothing_and_aws_is_not_asked() -> None:
    clients = Counting()
    assert asyncio.run(EcrCredentials(clients).for_repository(image("quay.io"))) == ()
    assert clients.made == []


class Expiring:
    """Stands in for a boto3 client: moto's tokens all ended in 2015."""

    def __init__(self) -> None:
        self.asked = 0

    def get_authorization_token(self) -> dict[str, object]:
        self.asked += 1
        ends = dt.datetime.now(dt.UTC) + dt.timedelta(hours=12)
        return {"authorizationData": [{"authorizationToken": "QVdTOnRva2Vu", "expiresAt": ends}]}


def test_a_token_is_replaced_half_an_hour_before_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Expiring()
    credentials = EcrCredentials(lambda _: client)
    started = time.time()

    async def asked_after(hours: float) -> int:
        monkeypatch.setattr("multiarch.registry.credentials.ecr.time.time", lambda: started + hours * 3600)
        await credentials.for_repository(image(f"{ACCOUNT}.dkr.ecr.eu-west-1.amazonaws.com"))
        return client.asked

    async def ask() -> list[int]:
        return [await asked_after(hours) for hours in (0, 6, 11.4, 11.6)]

    assert asyncio.run(ask()) == [1, 1, 1, 2]


class Failing:
    """Stands in for a boto3 client of somebody without AWS credentials."""

    def __init__(self) -> None:
        self.asked = 0

    def get_authorization_token(self) -> dict[str, object]:
        self.asked += 1
        raise NoCredentialsError


def test_without_aws_credentials_a_private_registry_is_an_error_and_the_public_gallery_is_not() -> None:
    client = Failing()
    credentials = EcrCredentials(lambda _: client)

    async def ask() -> None:
        for _ in range(3):
            with pytest.raises(RegistryError) as caught:
                await credentials.for_repository(image(f"{ACCOUNT}.dkr.ecr.eu-west-1.amazonaws.com"))
            assert caught.value.reason is RegistryReason.CREDENTIALS
            assert "no AWS credentials found. Set AWS credentials that allow" in str(caught.value)
        assert await credentials.for_repository(image("public.ecr.aws")) == ()

    asyncio.run(ask())
    assert client.asked == 2  # once for the region, once for the gallery; not for every image
