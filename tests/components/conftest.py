"""Worlds that many tests look at and none changes."""

from __future__ import annotations

import pytest

from components.rendering import RenderedStack, render
from tests.components import autoscaled, declared
from tests.stack.test_rebalance import rebalance
from tests.stack.test_webhook import webhook
from tests.stack.words import AUTO_MODE, merged, plan


@pytest.fixture(scope="session")
def small() -> declared.World:
    return declared.world({"storageClass": True})


@pytest.fixture(scope="session")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> RenderedStack:
    """A rendering to look at and to copy: a change of its files would reach other tests."""
    return render(plan(declared.FULL), tmp_path_factory.mktemp("rendered"))


@pytest.fixture(scope="session")
def full(rendered: RenderedStack) -> declared.World:
    return declared.World(rendered.declared.resources, dict(rendered.declared.outputs), plan(declared.FULL))


@pytest.fixture(scope="session")
def changed() -> declared.World:
    return declared.world(declared.SET)


@pytest.fixture(scope="session")
def bare() -> declared.World:
    return declared.world(declared.BARE)


@pytest.fixture(scope="session")
def auto() -> declared.World:
    """EKS Auto Mode alone, with an add-on of the stack's choice."""
    return declared.world(merged(AUTO_MODE, {**declared.PUBLIC, "addons": {"extra": {"metrics-server": {}}}}))


@pytest.fixture(scope="session")
def ipv6() -> declared.World:
    return declared.world({"network": {"ipFamily": "ipv6"}})


@pytest.fixture(scope="session")
def in_china() -> declared.World:
    access = {"admins": ["arn:aws-cn:iam::111122223333:role/platform"]}
    return declared.world({**declared.FULL, "access": access}, region="cn-north-1")


@pytest.fixture(scope="session")
def with_own_network() -> declared.World:
    """Subnets that are there already."""
    return declared.world({"network": declared.OWN_NETWORK, "nodeGroups": {"web": {"onePerZone": True}}})


@pytest.fixture(scope="session")
def installing() -> declared.World:
    """The admission webhook, and the CronJob that rebalances."""
    own = webhook(ecrRepositories=[declared.OTHERS, "shop/api"])
    return declared.world({**declared.PUBLIC, **declared.NO_NETWORK, **own, **rebalance()})


@pytest.fixture(scope="session")
def with_cluster_autoscaler() -> declared.World:
    return autoscaled.world(autoscaled.autoscaling(cluster_autoscaler=True), declared.NO_NETWORK)


@pytest.fixture(scope="session")
def with_karpenter() -> declared.World:
    return autoscaled.world(autoscaled.autoscaling(karpenter=True))


@pytest.fixture(scope="session")
def migrating() -> declared.World:
    return autoscaled.world(autoscaled.autoscaling(cluster_autoscaler=True, karpenter=True))


@pytest.fixture(scope="session")
def charted() -> declared.World:
    """A stack with every chart."""
    both = autoscaled.autoscaling(cluster_autoscaler=True, karpenter=True)
    return autoscaled.world(both, autoscaled.EVERY_CHART)


@pytest.fixture(scope="session")
def copied() -> declared.World:
    """A stack with every chart, whose charts and images come from copies."""
    both = autoscaled.autoscaling(cluster_autoscaler=True, karpenter=True)
    images = {"public.ecr.aws": "r.example/p", "registry.k8s.io": "r.example/k", "nvcr.io": "r.example/n"}
    charts = {"registry": "oci://r.example:5000/c", "imageRegistries": images}
    return autoscaled.world(both, {**autoscaled.EVERY_CHART, "charts": charts})
