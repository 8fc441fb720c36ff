"""The real Karpenter in the rig: what the tests of its placements (test_agreement.py) take for granted."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from sandbox.cluster.bootstrap import al2023
from sandbox.cluster.bootstrap.registration import registration
from sandbox.cluster.kube import Object
from sandbox.cluster.programs import wait_for
from tests.cluster.objects import ARM64_TAINT, node_class, node_pool, pod, replica_set
from tests.cluster.placements import Placement, Rejected
from tests.cluster.rig import Rig

Result = Mapping[str, Placement | Rejected]


def three_pools(rig: Rig) -> list[Object]:
    """Pools in the order arm64 spot, arm64 on-demand, amd64."""
    return [
        node_class(rig.aws.cluster, rig.aws.node_role),
        node_pool("arm-spot", "arm64", "spot", 90, taints=[ARM64_TAINT]),
        node_pool("arm", "arm64", "on-demand", 50, taints=[ARM64_TAINT]),
        node_pool("x86", "amd64", "on-demand", 10),
    ]


def placed(result: Result) -> dict[str, Placement]:
    rejected = {name: said.reason for name, said in result.items() if isinstance(said, Rejected)}
    assert rejected == {}
    return {name: where for name, where in result.items() if isinstance(where, Placement)}


def test_a_tolerating_pod_gets_arm64_spot_by_user_data_with_the_pools_taints_and_runs_there(rig: Rig) -> None:
    rig.apply(three_pools(rig))
    where = placed(rig.run_pods([pod("web", tolerates_arm64=True)]))["web"]
    assert (where.pool, where.architecture, where.capacity_type) == ("arm-spot", "arm64", "spot")
    found = rig.kube.get("v1", "Node", where.node)
    assert found is not None
    assert found["metadata"]["labels"]["kubernetes.io/arch"] == "arm64"
    assert found["metadata"]["labels"]["karpenter.sh/nodepool"] == "arm-spot"
    assert {"key": "karpenter.sh/unregistered", "effect": "NoExecute"} not in found["spec"]["taints"]
    assert ARM64_TAINT in found["spec"]["taints"]

    starts = [al2023.read([text]) for text in _launched_user_data(rig)]
    # Karpenter also makes templates for no pool, to check its permissions.
    registered = {each.labels.get("karpenter.sh/nodepool"): each for each in map(registration, starts)}
    assert {start.cluster for start in starts} == {rig.aws.cluster}
    assert {start.ignored for start in starts} == {()}
    taints = ["arch=arm64:NoSchedule", "karpenter.sh/unregistered:NoExecute"]
    assert list(map(str, registered["arm-spot"].taints)) == taints


def test_a_spot_interruption_warning_replaces_the_instance(rig: Rig) -> None:
    rig.apply(three_pools(rig))
    owner = replica_set("web", 1, pod("web", tolerates_arm64=True))
    rig.kube.apply(owner)
    before = _only_pod(rig)
    assert before.capacity_type == "spot"
    instance = rig.interrupt(before.node)
    wait_for(
        lambda: instance not in {row["InstanceId"] for row in rig.aws.running_instances()},
        "the instance to be terminated",
        timeout=60,
    )
    after = _only_pod(rig, other_than=before.node)
    assert (after.pool, after.architecture) == ("arm-spot", "arm64")
    wait_for(lambda: before.node not in rig.nodes(), "the interrupted node to go", timeout=30)
    queue = rig.aws.client("sqs").get_queue_attributes(QueueUrl=rig.aws.queue_url, AttributeNames=["All"])["Attributes"]
    assert (queue["ApproximateNumberOfMessages"], queue["ApproximateNumberOfMessagesNotVisible"]) == ("0", "0")


def _only_pod(rig: Rig, *, other_than: str = "") -> Placement:
    def name() -> str | None:
        items = rig.kube.list("v1", "Pod", "default", selector="app=web")
        going = [item for item in items if "deletionTimestamp" in item["metadata"]]
        nodes = [item["spec"].get("nodeName") for item in items]
        return None if going or len(items) != 1 or other_than in nodes else str(items[0]["metadata"]["name"])

    found = wait_for(name, "one pod", timeout=60)
    return placed(rig.placements([("default", found)]))[found]


def test_instances_of_a_managed_group_join_with_its_labels_and_taints_and_leave_with_it(rig: Rig) -> None:
    eks, cluster = rig.aws.client("eks"), rig.aws.cluster
    role = rig.aws.client("iam").get_role(RoleName=rig.aws.node_role)["Role"]["Arn"]
    eks.create_nodegroup(
        clusterName=cluster,
        nodegroupName="system",
        subnets=list(rig.aws.subnets),
        nodeRole=role,
        instanceTypes=["m7g.large"],
        amiType="AL2023_ARM_64_STANDARD",
        scalingConfig={"minSize": 1, "maxSize": 1, "desiredSize": 1},
        taints=[{"key": "arch", "value": "arm64", "effect": "NO_SCHEDULE"}],
    )
    rig.kube.create(pod("web", tolerates_arm64=True))
    where = placed(rig.placements([("default", "web")]))["web"]
    assert (where.pool, where.claim, where.instance_type) == ("", "", "m7g.large")
    eks.delete_nodegroup(clusterName=cluster, nodegroupName="system")
    wait_for(lambda: not rig.nodes(), "the node to go", timeout=30)


def _launched_user_data(rig: Rig) -> list[str]:
    """The user data of every launch template."""
    ec2 = rig.aws.client("ec2")
    versions = [
        ec2.describe_launch_template_versions(LaunchTemplateId=row["LaunchTemplateId"], Versions=["$Latest"])
        for row in ec2.describe_launch_templates()["LaunchTemplates"]
    ]
    data = [row["LaunchTemplateData"]["UserData"] for each in versions for row in each["LaunchTemplateVersions"]]
    return [base64.b64decode(text).decode() for text in data]
