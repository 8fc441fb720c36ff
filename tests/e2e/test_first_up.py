"""A `pulumi up` on which things go wrong that go wrong in AWS: an API server that is late, releases, node groups."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from multiarch.doctor.programs import BROUGHT_BY_EKS
from sandbox.aws.faults import Failure
from sandbox.aws.remote import Remote
from tests.e2e import aws as held
from tests.e2e.cluster_records import node_pools
from tests.e2e.conftest import watched
from tests.e2e.world import Removed, Step, World

pytestmark = pytest.mark.e2e
STACK = "checkout-dev"
UP = ("up", "--yes", "--skip-preview", "--json")
POOLS = {"general": {"cpuLimit": 9}}
KARPENTER = {"controllerGroup": "general", "amiAlias": "al2023@v20260715", "nodePools": POOLS}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world with an AWS server, and a stack with Karpenter of which nothing is up."""
    with watched(tmp_path_factory.mktemp("first") / "clone") as world:
        world.edit(STACK, "autoscaling", value={"use": "karpenter", "karpenter": KARPENTER})
        world.sandbox("preview", STACK)
        yield world


@pytest.fixture
def remote(first: World) -> Iterator[Remote]:
    """The switches of its AWS."""
    remote = Remote(first.server.url)
    yield remote
    remote.set_faults()
    remote.set_kubernetes_down(0)


def set_status(world: World, release: str, status: str) -> None:
    """Give a release a status: `deployed` is what `helm rollback` to the same revision leaves."""
    file: Path = world.layout.manifests(STACK) / f"multiarch-sandbox_helmrelease_kube-system_{release}.yaml"
    found = yaml.safe_load(file.read_text())
    found["status"]["status"] = status
    file.write_text(yaml.safe_dump(found))


def ended(world: World, *options: str) -> str:
    """What a `pulumi up` says that ends with an error."""
    errors = world.pulumi(STACK, *UP, *options, expect=1).errors()
    assert "Traceback" not in errors
    return errors


def test_up_waits_for_the_api_server_and_is_red_until_helm_has_deployed_a_release(first: World, remote: Remote) -> None:
    remote.set_kubernetes_down(3600)
    remote.set_faults(Failure("release", "karpenter"))
    with first.running(STACK, *UP) as (process, _):
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line) if line.startswith("{") else {}
            urn = event.get("resourcePreEvent", {}).get("metadata", {}).get("urn", "")
            if urn.endswith("Platform$pulumi:providers:kubernetes::cluster"):
                break  # before, the provider connected now, and all objects failed at the end
        remote.set_kubernetes_down(0)
        told = process.stdout.read()
        assert process.wait() == 1
    assert "unreachable" not in told
    assert "kube-system/karpenter-crd" in told
    remote.set_faults()
    problem = "Helm release kube-system/karpenter-crd is failed (revision 1), not deployed."
    assert problem in first.pulumi(STACK, "preview").stdout
    said = ended(first)
    assert problem in said
    assert "`helm rollback karpenter-crd 1 --namespace kube-system --wait`" in said
    assert node_pools(first, STACK) == {}
    set_status(first, "karpenter-crd", "deployed")
    first.pulumi(STACK, *UP)
    assert len(node_pools(first, STACK)) == len(first.plan(STACK).autoscaling.karpenter.pools)  # type: ignore[union-attr]
    assert first.preview(STACK) == []


def test_a_failed_upgrade_is_repaired_at_once_without_a_refresh_and_a_pending_one_by_a_rollback(
    first: World, remote: Remote
) -> None:
    first.pulumi(STACK, *UP)
    remote.set_faults(Failure("release", "karpenter"))
    first.edit(STACK, "autoscaling", "karpenter", "spotToSpotConsolidation", value=True)
    assert "Helm release" in ended(first)
    remote.set_faults()
    first.pulumi(STACK, *UP, "--refresh=false")
    assert first.preview(STACK) == []
    set_status(first, "karpenter", "pending-upgrade")
    assert "kube-system/karpenter is pending-upgrade (revision 3), not deployed" in ended(first)
    set_status(first, "karpenter", "deployed")
    first.pulumi(STACK, *UP)


def test_a_node_group_that_could_not_be_created_is_named_until_it_is_deleted(first: World, remote: Remote) -> None:
    first.pulumi(STACK, *UP)
    remote.set_faults(Failure("nodegroup", "extra"))
    first.edit(STACK, "nodeGroups", "extra", value={"instanceTypes": ["m7i.large"]})
    ended(first)
    said = ended(first)
    eks, cluster = first.aws(STACK).client("eks"), first.plan(STACK).cluster.name
    group = held.managed_group(first.aws(STACK), cluster, "extra")["nodegroupName"]
    assert f"EKS reports node group {group} as CREATE_FAILED" in said
    assert f"`aws eks delete-nodegroup --cluster-name {cluster} --nodegroup-name {group}`" in said
    eks.delete_nodegroup(clusterName=cluster, nodegroupName=group)
    remote.set_faults()
    first.pulumi(STACK, *UP)
    assert held.managed_group(first.aws(STACK), cluster, "extra")["status"] == "ACTIVE"
    first.edit(STACK, "nodeGroups", "extra", value=Removed)
    first.pulumi(STACK, *UP)


def test_values_of_an_add_on_that_has_none_in_the_file_are_reset(first: World) -> None:
    first.pulumi(STACK, *UP)
    eks, cluster = first.aws(STACK).client("eks"), first.plan(STACK).cluster.name
    eks.update_addon(clusterName=cluster, addonName="kube-proxy", configurationValues='{"mode": "ipvs"}')
    changed = frozenset({"configurationValues"})
    assert first.preview(STACK) == [Step("update", "aws:eks/addon:Addon kube-proxy", changed)]
    first.pulumi(STACK, *UP)
    addon = eks.describe_addon(clusterName=cluster, addonName="kube-proxy")["addon"]
    assert addon["configurationValues"] == "{}"


def test_a_preview_is_empty_for_everybodys_profile(first: World, tmp_path: Path) -> None:
    first.pulumi(STACK, *UP)
    profiles = tmp_path / "config"
    profiles.write_text("[profile team]\nregion = eu-west-1\n")
    told = first.pulumi(STACK, "preview", "--json", AWS_PROFILE="team", AWS_CONFIG_FILE=str(profiles))
    assert set(json.loads(told.stdout)["changeSummary"]) == {"same"}
    (cluster,) = [row for row in first.resources(STACK) if row["type"] == "aws:eks/cluster:Cluster"]
    assert f"default_{BROUGHT_BY_EKS['aws'].replace('.', '_')}" in cluster["provider"]
