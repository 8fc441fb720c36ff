"""The sandbox's AWS, started once and empty for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sandbox.served import Served, address, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving(policies=False) as process:
        yield Served(address(process))


@pytest.fixture
def aws(server: Served) -> Served:
    server.empty()
    return server
