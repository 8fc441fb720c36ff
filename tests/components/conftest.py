"""Worlds that many tests look at and none changes."""

from __future__ import annotations

import pytest

from tests.components import autoscaled, declared


@pytest.fixture(scope="session")
def small() -> declared.World:
    return declared.world({"storageClass": True})


@pytest.fixture(scope="session")
def full() -> declared.World:
    return declared.world(declared.FULL)


@pytest.fixture(scope="session")
def with_cluster_autoscaler() -> declared.World:
    return autoscaled.world(autoscaled.autoscaling(cluster_autoscaler=True))


@pytest.fixture(scope="session")
def with_karpenter() -> declared.World:
    return autoscaled.world(autoscaled.autoscaling(karpenter=True))


@pytest.fixture(scope="session")
def migrating() -> declared.World:
    return autoscaled.world(autoscaled.autoscaling(cluster_autoscaler=True, karpenter=True))
