"""A stack with Karpenter, from its first `pulumi up` to its destroy.

Things go wrong that go wrong in AWS: an API server that is late, releases, node groups. Then Karpenter's charts get
another version, and the end. The releases are records here, so this shows what the engine does and in which order, not
what the charts install. The tests go on where the one before has ended.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from multiarch.doctor.programs import BROUGHT_BY_EKS
from multiarch.facts.autoscalers import DEVICE_PLUGIN_CHARTS, KARPENTER_CHART
from sandbox import backend
from sandbox.aws.faults import Failure
from sandbox.aws.remote import Remote
from tests.e2e import aws as held
from tests.e2e.cluster_records import node_pools, records, releases
from tests.e2e.conftest import watched
from tests.e2e.order import one_after_the_other, times
from tests.e2e.world import NO_REFRESH, Step, World, done

pytestmark = pytest.mark.e2e
STACK = "checkout-dev"
UP = ("up", "--yes", "--skip-preview", "--json")
POOLS = {
    "general": {"cpuLimit": 9},
    "gpu": {"cpuLimit": 9, "families": ["g5g"], "architectures": ["arm64"]},
    "held": {"cpuLimit": 9, "instanceTypes": ["m7g.large", "m7i.large"], "capacityTypes": ["reserved"]},
}
FLEET = {
    "kind": "self-managed",
    "instanceTypes": ["m7g.large", "m6g.large"],
    "capacityType": "spot",
    "minSize": 2,
    "placementGroup": "fast",
    "instancesDistribution": {"onDemandBaseCapacity": 1, "onDemandPercentageAboveBaseCapacity": 25},
}
HELD = {
    "instanceTypes": ["m7g.large"],
    "capacityReservation": "arn:aws:resource-groups:eu-west-1:111122223333:group/held",
}
NEAR = {"instanceTypes": ["c8gn.48xlarge"], "efa": True}
# Most companies' administrators have a role of this form; its ARN stands in the path of the calls to EKS.
SSO_ADMIN = (
    "arn:aws:iam::111122223333:role/aws-reserved/sso.amazonaws.com/eu-west-1/AWSReservedSSO_Admin_0123456789abcdef"
)
ENTRY = {
    "principal": SSO_ADMIN.replace("Admin", "Shop"),
    "policies": {"AmazonEKSEditPolicy": {"namespaces": ["shop", "shop-*"]}},
    "groups": ["shop-operators", "crd-readers"],
}
OLDER = "1.14.0"
KARPENTER = {
    "controllerGroup": "general",
    "amiAlias": "al2023@v20260715",
    "nodePools": POOLS,
    "version": OLDER,
    "capacityReservations": ["cr-0123456789abcdef0"],
    "placementGroup": "fast",
}
RELEASE = "kubernetes:helm.sh/v3:Release"
CRDS, CONTROLLER = f"{RELEASE} karpenter-crd", f"{RELEASE} karpenter"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world with an AWS server, and a stack with Karpenter of which nothing is up."""
    with watched(tmp_path_factory.mktemp("first") / "clone") as world:
        world.edit(STACK, "autoscaling", value={"use": "karpenter", "karpenter": KARPENTER})
        world.edit(STACK, "access", "admins", value=[SSO_ADMIN])
        world.edit(STACK, "gpuDevicePlugin", value=True)
        world.edit(STACK, "efaDevicePlugin", value=True)
        world.edit(STACK, "nodeGroups", "fleet", value=FLEET)
        world.edit(STACK, "nodeGroups", "held", value=HELD)
        world.edit(STACK, "nodeGroups", "near", value=NEAR)
        world.edit(STACK, "access", "entries", value={"shop": ENTRY})
        world.sandbox("vpc", STACK)  # starts AWS without a run of the engine
        yield world


@pytest.fixture
def there(first: World) -> World:
    """The world with the stack up, also for a test that runs alone."""
    if not backend.checkpoint(first.layout, STACK).resources:
        first.pulumi(STACK, *UP)
    return first


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
    eks, cluster = first.aws(STACK).client("eks"), first.plan(STACK).cluster.name
    assert SSO_ADMIN in eks.list_access_entries(clusterName=cluster)["accessEntries"]
    of = {"clusterName": cluster, "principalArn": ENTRY["principal"]}
    (policy,) = eks.list_associated_access_policies(**of)["associatedAccessPolicies"]
    assert policy["accessScope"] == {"type": "namespace", "namespaces": ["shop", "shop-*"]}
    assert eks.describe_access_entry(**of)["accessEntry"]["kubernetesGroups"] == sorted(ENTRY["groups"])
    # The last group goes too: AWS's provider would keep it if the list were omitted.
    first.edit(STACK, "access", "entries", "shop", "groups", value=[])
    (step,) = first.up(STACK, NO_REFRESH)
    assert (step.op, step.what.partition(" ")[0]) == ("update", "aws:eks/accessEntry:AccessEntry")
    assert eks.describe_access_entry(**of)["accessEntry"]["kubernetesGroups"] == []


def test_scarce_capacity_is_asked_for_as_the_stack_says(there: World) -> None:
    aws, plan = there.aws(STACK), there.plan(STACK)
    found = {each.name: held.group(aws, plan.cluster.name, each) for each in plan.node_groups}
    fleet = found["fleet"].scaling["MixedInstancesPolicy"]["InstancesDistribution"]
    assert (int(fleet["OnDemandBaseCapacity"]), int(fleet["OnDemandPercentageAboveBaseCapacity"])) == (1, 25)
    assert found["fleet"].template["Placement"] == {"GroupName": "fast"}
    target = found["held"].template["CapacityReservationSpecification"]["CapacityReservationTarget"]
    assert target == {"CapacityReservationResourceGroupArn": HELD["capacityReservation"]}
    made = releases(there, STACK)
    assert {name: made[name]["version"] for name in DEVICE_PLUGIN_CHARTS} == {
        name: version for name, (_, version) in DEVICE_PLUGIN_CHARTS.items()
    }
    near = found["near"].template["NetworkInterfaces"]
    assert [(each["NetworkCardIndex"], each["DeviceIndex"], each["InterfaceType"]) for each in near] == [
        (0, 0, "efa"),
        (1, 0, "efa-only"),
    ]
    told = aws.client("eks").describe_cluster(name=plan.cluster.name)["cluster"]["resourcesVpcConfig"]
    assert {group for each in near for group in each["Groups"]} == {told["clusterSecurityGroupId"]}
    assert "SecurityGroupIds" not in found["near"].template


def test_a_failed_upgrade_is_repaired_at_once_without_a_refresh_and_a_pending_one_by_a_rollback(
    there: World, remote: Remote
) -> None:
    remote.set_faults(Failure("release", "karpenter"))
    there.edit(STACK, "autoscaling", "karpenter", "spotToSpotConsolidation", value=True)
    assert "Helm release" in ended(there, NO_REFRESH)
    remote.set_faults()
    there.pulumi(STACK, *UP, NO_REFRESH)
    assert there.preview(STACK) == []
    set_status(there, "karpenter", "pending-upgrade")
    assert "kube-system/karpenter is pending-upgrade (revision 3), not deployed" in ended(there)
    set_status(there, "karpenter", "deployed")
    there.pulumi(STACK, *UP)


def test_a_node_group_that_could_not_be_created_is_named_until_it_is_deleted(there: World, remote: Remote) -> None:
    remote.set_faults(Failure("nodegroup", "extra"))
    there.edit(STACK, "nodeGroups", "extra", value={"instanceTypes": ["m7i.large"]})
    ended(there, NO_REFRESH)
    said = ended(there)
    eks, cluster = there.aws(STACK).client("eks"), there.plan(STACK).cluster.name
    group = held.managed_group(there.aws(STACK), cluster, "extra")["nodegroupName"]
    assert f"EKS reports node group {group} as CREATE_FAILED" in said
    assert f"`aws eks delete-nodegroup --cluster-name {cluster} --nodegroup-name {group}`" in said
    eks.delete_nodegroup(clusterName=cluster, nodegroupName=group)
    remote.set_faults()
    there.pulumi(STACK, *UP)
    assert held.managed_group(there.aws(STACK), cluster, "extra")["status"] == "ACTIVE"


def test_values_of_an_add_on_that_has_none_in_the_file_are_reset(there: World) -> None:
    eks, cluster = there.aws(STACK).client("eks"), there.plan(STACK).cluster.name
    eks.update_addon(clusterName=cluster, addonName="kube-proxy", configurationValues='{"mode": "ipvs"}')
    changed = frozenset({"configurationValues"})
    assert there.up(STACK) == [Step("update", "aws:eks/addon:Addon kube-proxy", changed)]
    addon = eks.describe_addon(clusterName=cluster, addonName="kube-proxy")["addon"]
    assert addon["configurationValues"] == "{}"


def test_a_preview_is_empty_for_everybodys_profile(there: World, tmp_path: Path) -> None:
    profiles = tmp_path / "config"
    profiles.write_text("[profile team]\nregion = eu-west-1\n")
    told = there.pulumi(STACK, "preview", "--json", AWS_PROFILE="team", AWS_CONFIG_FILE=str(profiles))
    assert set(json.loads(told.stdout)["changeSummary"]) == {"same"}
    (cluster,) = [row for row in there.resources(STACK) if row["type"] == "aws:eks/cluster:Cluster"]
    assert f"default_{BROUGHT_BY_EKS['aws'].replace('.', '_')}" in cluster["provider"]


def charts(world: World) -> dict[str, Any]:
    return {name: row["version"] for name, row in releases(world, STACK).items() if name.startswith("karpenter")}


def test_a_new_chart_brings_its_crds_before_its_controller_and_touches_no_node(there: World) -> None:
    assert charts(there) == {"karpenter": OLDER, "karpenter-crd": OLDER}
    nodes, pools = there.instance_ids(STACK), node_pools(there, STACK)
    assert pools
    there.edit(STACK, "autoscaling", "karpenter", "version", value=KARPENTER_CHART)
    said = there.pulumi(STACK, *UP, NO_REFRESH)
    assert sorted(done(said), key=lambda step: step.what) == [
        Step("update", CONTROLLER, frozenset({"version"})),
        Step("update", CRDS, frozenset({"version"})),
    ]
    one_after_the_other(times(said), [[("update", CRDS)], [("update", CONTROLLER)]])
    assert charts(there) == {"karpenter": KARPENTER_CHART, "karpenter-crd": KARPENTER_CHART}
    # Helm leaves CRDs of a chart's own folder as they are, so the controller's chart must not bring any.
    assert releases(there, STACK)["karpenter"]["skipCrds"] is True
    assert (there.instance_ids(STACK), node_pools(there, STACK)) == (nodes, pools)


def test_a_destroy_ends_nodes_while_karpenter_is_there_to_do_it(there: World) -> None:
    pools = [("delete", f"kubernetes:karpenter.sh/v1:NodePool {name}") for name in node_pools(there, STACK)]
    said = there.pulumi(STACK, "destroy", "--yes", "--skip-preview", "--json")
    order = times(said)
    controller = ("delete", CONTROLLER)
    groups = order.of("delete", "aws:eks/nodeGroup:NodeGroup")
    one_after_the_other(
        order,
        [
            pools,
            [("delete", "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass default")],
            [controller],
            [("delete", CRDS)],
            groups,
            [("delete", "aws:eks/cluster:Cluster cluster-eksCluster")],
        ],
    )
    # Until the controller is gone it needs its rights, the events about its nodes, and a way to AWS.
    needed = [
        ("delete", "aws:eks/podIdentityAssociation:PodIdentityAssociation karpenter"),
        ("delete", "aws:sqs/queue:Queue interruption"),
        ("delete", "aws:eks/addon:Addon eks-pod-identity-agent"),
        ("delete", "aws:eks/addon:Addon coredns"),
        *(
            step
            for step in order.of("delete", "aws:iam/rolePolicyAttachment:RolePolicyAttachment")
            if step[1].split(" ")[1].startswith("karpenter-") and " karpenter-nodes-" not in step[1]
        ),
        *order.of("delete", "aws:ec2/natGateway:NatGateway"),
    ]
    assert len(needed) == 4 + 6 + 1
    one_after_the_other(order, [[controller], needed])
    assert records(there, STACK) == {}
