"""The sandbox's AWS, started once and empty for every test, and the aws stand-in in front of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sandbox.providers.driven import Driven
from tests.sandbox.served import REGION, Served, address, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving(policies=False) as process:
        yield Served(address(process))


@pytest.fixture
def aws(server: Served) -> Served:
    server.empty()
    return server


@pytest.fixture
def driven(aws: Served, monkeypatch: pytest.MonkeyPatch) -> Driven:
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws.endpoint)
    return Driven({"region": REGION})
