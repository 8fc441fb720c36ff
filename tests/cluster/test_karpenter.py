"""The real Karpenter in the rig: what the tests of its placements (test_agreement.py) take for granted."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from multiarch.autoscaling.karpenter import build_node_class
from sandbox.cluster.bootstrap import al2023
from sandbox.cluster.bootstrap.model import KubeletStart
from sandbox.cluster.bootstrap.registration import registration
from sandbox.cluster.kube import Object
from sandbox.cluster.programs import wait_for
from tests.cluster.karpenter_rounds import position
from tests.cluster.objects import ARM64_TAINT, NODE_CLASS, node_class, node_pool, pod
from tests.cluster.placements import Placement, Rejected
from tests.cluster.rig import NODE_CLAIMS, NODE_CLASSES, NODE_POOLS, Rig
from tests.components import autoscaled

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

    starts = [_read_start(each) for each in _launch_data(rig)]
    # Karpenter also makes templates for no pool, to check its permissions.
    registered = {each.labels.get("karpenter.sh/nodepool"): each for each in map(registration, starts)}
    taints = ["arch=arm64:NoSchedule", "karpenter.sh/unregistered:NoExecute"]
    assert list(map(str, registered["arm-spot"].taints)) == taints


def test_a_pod_gets_its_node_and_everything_goes_again_with_the_rights_of_the_release(rig: Rig) -> None:
    before = position(rig.controller.log)
    rig.apply([node_class(rig.aws.cluster, rig.aws.node_role), node_pool("x86", "amd64", "on-demand", 10)])
    where = placed(rig.run_pods([pod("web")]))["web"]
    assert (where.pool, where.node in rig.nodes()) == ("x86", True)
    for kind in (NODE_POOLS, NODE_CLASSES):
        for item in rig.kube.list(*kind):
            rig.kube.delete({"apiVersion": kind[0], "kind": kind[1], **item})
        wait_for(partial(_none, rig, kind), f"{kind[1]} to go", timeout=90)
    wait_for(lambda: not rig.nodes() and _none(rig, NODE_CLAIMS), "nodes and claims to go", timeout=60)
    assert rig.aws.running_instances() == []
    assert rig.aws.client("ec2").describe_launch_templates()["LaunchTemplates"] == []
    assert b"is forbidden: User" not in rig.controller.log.read_bytes()[before:]


def _none(rig: Rig, kind: tuple[str, str]) -> bool:
    return not rig.kube.list(*kind)


def test_without_iam_nodes_get_the_stacks_instance_profile_also_where_karpenter_made_one_before(rig: Rig) -> None:
    iam, profile = rig.aws.client("iam"), "of-the-stack"
    planned = replace(autoscaled.KARPENTER.node_class, name=NODE_CLASS, ami_alias="al2023@latest")
    rig.apply([build_node_class(planned, cluster=rig.aws.cluster, role=rig.aws.node_role, tags=())])
    made = {each["InstanceProfileName"] for each in iam.list_instance_profiles()["InstanceProfiles"]}
    iam.create_instance_profile(InstanceProfileName=profile)
    iam.add_role_to_instance_profile(InstanceProfileName=profile, RoleName=rig.aws.node_role)
    isolated = build_node_class(planned, cluster=rig.aws.cluster, role="", tags=(), instance_profile=profile)
    rig.apply([isolated, node_pool("arm", "arm64", "on-demand", 50, taints=[ARM64_TAINT])])
    placed(rig.run_pods([pod("web", tolerates_arm64=True)]))
    used = {
        each["IamInstanceProfile"]["Name"]
        for each in _launch_data(rig)
        if registration(_read_start(each)).labels.get("karpenter.sh/nodepool") == "arm"
    }
    assert used == {profile}
    # The one that Karpenter made is still there: nothing of IAM can be called.
    assert {each["InstanceProfileName"] for each in iam.list_instance_profiles()["InstanceProfiles"]} == {
        *made,
        profile,
    }
    iam.remove_role_from_instance_profile(InstanceProfileName=profile, RoleName=rig.aws.node_role)
    iam.delete_instance_profile(InstanceProfileName=profile)


def _launch_data(rig: Rig) -> list[dict[str, Any]]:
    """What every launch template says."""
    ec2 = rig.aws.client("ec2")
    versions = [
        ec2.describe_launch_template_versions(LaunchTemplateId=row["LaunchTemplateId"], Versions=["$Latest"])
        for row in ec2.describe_launch_templates()["LaunchTemplates"]
    ]
    return [row["LaunchTemplateData"] for each in versions for row in each["LaunchTemplateVersions"]]


def _read_start(template: Mapping[str, Any]) -> KubeletStart:
    return al2023.read([base64.b64decode(template["UserData"]).decode()])
