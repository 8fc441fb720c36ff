"""The aws stand-in, in front of the sandbox's AWS."""

from __future__ import annotations

import pytest

from tests.sandbox.providers.driven import Driven
from tests.sandbox.served import REGION, Served


@pytest.fixture
def driven(aws: Served, monkeypatch: pytest.MonkeyPatch) -> Driven:
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws.endpoint)
    return Driven({"region": REGION})
