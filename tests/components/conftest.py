"""Worlds that many tests look at and none changes."""

from __future__ import annotations

import pytest

from tests.components import declared


@pytest.fixture(scope="session")
def small() -> declared.World:
    return declared.world({"storageClass": True})


@pytest.fixture(scope="session")
def full() -> declared.World:
    return declared.world(declared.FULL)
