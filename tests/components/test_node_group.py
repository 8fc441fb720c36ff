"""Node groups of both kinds and their launch templates."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from components.aws.node_group import find_problem
from multiarch.facts.instance_types import get_instance_type
from tests.components import declared
from tests.components.declared import World
from tests.stack.words import plan

GROUPS = (declared.MANAGED, declared.SCALING_GROUP)


def test_every_launch_template_demands_imdsv2_encrypts_its_volumes_and_tags_what_it_launches(full: World) -> None:
    for template in full.all(declared.TEMPLATE):
        inputs: Any = template.inputs
        assert inputs["metadataOptions"] == {
            "httpEndpoint": "enabled",
            "httpTokens": "required",
            "httpPutResponseHopLimit": 1,
            "instanceMetadataTags": "disabled",
        }
        assert inputs["blockDeviceMappings"]
        for mapping in inputs["blockDeviceMappings"]:
            assert mapping["ebs"]["volumeType"] == "gp3"
            assert mapping["ebs"]["encrypted"] == "true"
            assert mapping["ebs"]["deleteOnTermination"] == "true"
        launched = inputs["tagSpecifications"]
        assert [spec["resourceType"] for spec in launched] == ["instance", "network-interface", "volume"]
        for spec in launched:
            assert dict(full.plan.tags).items() <= spec["tags"].items()
            assert spec["tags"]["multiarch-eks/node-group"] == template.name
            assert spec["tags"]["multiarch-eks/cluster"] == "shop-dev"


def disks(found: World, group: str) -> dict[str, int]:
    return {
        m["deviceName"]: m["ebs"]["volumeSize"] for m in found.inputs(declared.TEMPLATE, group)["blockDeviceMappings"]
    }


def test_the_disk_is_the_root_volume_and_bottlerockets_data_volume(changed: World) -> None:
    assert disks(changed, "web") == {"/dev/xvda": 80}
    assert disks(changed, "web-arm") == {"/dev/xvda": 4, "/dev/xvdb": 80}


@pytest.mark.parametrize("status", ["CREATE_FAILED", "DELETE_FAILED", "DEGRADED", "ACTIVE", "UPDATING"])
def test_a_group_that_could_not_be_created_ends_the_run_and_a_degraded_one_is_warned_of(
    status: str, capfd: pytest.CaptureFixture[str]
) -> None:
    problem = find_problem(["shop-dev", "web-1a2b", status])
    said = f"EKS reports node group web-1a2b as {status}"
    assert (problem or "").startswith(said if status.endswith("FAILED") else "")
    assert bool(problem) == status.endswith("FAILED")
    assert (said in capfd.readouterr().err) == (status == "DEGRADED")


def test_a_template_names_a_reservation_or_a_preference(changed: World) -> None:
    chosen = {each.name: each.inputs.get("capacityReservationSpecification") for each in changed.all(declared.TEMPLATE)}
    assert {name: each for name, each in chosen.items() if each} == {
        "reserved": {"capacityReservationPreference": "capacity-reservations-only"},
        "cards": {"capacityReservationTarget": {"capacityReservationId": "cr-0123"}},
        "efa": {"capacityReservationTarget": {"capacityReservationResourceGroupArn": declared.RESERVED}},
    }


def test_each_network_card_with_efa_gets_one_interface_in_the_nodes_security_group(changed: World) -> None:
    templates = {name: changed.inputs(declared.TEMPLATE, name) for name in ("efa", "cards")}
    shared = {
        "associatePublicIpAddress": "false",
        "deleteOnTermination": "true",
        "securityGroups": ["<SecurityGroup:cluster, made by EKS>"],
    }
    (one,) = templates["efa"]["networkInterfaces"]
    assert one == {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "efa", **shared}
    # Its first card has no EFA.
    first, *others = templates["cards"]["networkInterfaces"]
    assert first == {**one, "interfaceType": "interface"}
    assert others == [
        {"networkCardIndex": card, "deviceIndex": 0, "interfaceType": "efa-only", **shared} for card in range(1, 17)
    ]
    assert not [name for name, template in templates.items() if "vpcSecurityGroupIds" in template]


def test_each_group_has_a_launch_template_of_its_own_by_number(full: World) -> None:
    used = [m for group in full.resources if group.type in GROUPS for m in walk_templates(group.inputs)]
    templates = {each.get("id") or each["launchTemplateId"] for each in used}
    assert len(templates) == len(full.plan.node_groups) == 5
    # Never by "$Latest".
    assert [each["version"] for each in used] == ["1"] * 5


def walk_templates(inputs: object) -> list[Any]:
    return [m for m in declared.walk(inputs) if "version" in m and ("id" in m or "launchTemplateId" in m)]


def test_an_arm64_group_has_an_arm64_image_and_types(full: World) -> None:
    groups = {group.name: group.inputs for group in full.all(declared.MANAGED)}
    assert groups["web"]["amiType"] == "AL2023_x86_64_STANDARD"
    assert groups["web-arm"]["amiType"] == "AL2023_ARM_64_STANDARD"
    outputs = full.outputs["nodeGroups"]
    for name, group in outputs.items():
        assert {get_instance_type(each).architecture for each in group["instanceTypes"]} == {group["architecture"]}, (
            name
        )


def test_taints_are_spelled_as_the_eks_api_spells_them_and_may_have_no_value(full: World, changed: World) -> None:
    assert full.inputs(declared.MANAGED, "web-arm")["taints"] == [
        {"key": "arch", "value": "arm64", "effect": "NO_SCHEDULE"}
    ]
    assert full.outputs["nodeGroups"]["web-arm"]["taints"] == ["arch=arm64:NoSchedule"]
    taints = changed.inputs(declared.MANAGED, "web-arm")["taints"]
    for key, effect in {"a": "NO_SCHEDULE", "b": "PREFER_NO_SCHEDULE", "c": "NO_EXECUTE"}.items():
        assert {"key": key, "effect": effect} in taints


def test_an_image_of_the_teams_own_leaves_the_image_to_the_template(full: World) -> None:
    group = full.inputs(declared.MANAGED, "image")
    assert not {"amiType", "releaseVersion", "version"} & set(group)
    template = full.inputs(declared.TEMPLATE, "image")
    assert template["imageId"] == "ami-0123456789abcdef0"
    assert "node.eks.aws" in base64.b64decode(template["userData"]).decode()
    assert full.outputs["nodeGroups"]["image"]["amiType"] == "CUSTOM"


def test_ekss_own_image_is_named_by_type_release_and_version(changed: World) -> None:
    group = changed.inputs(declared.MANAGED, "web")
    release = declared.SET["nodeGroups"]["web"]["ami"]["release"]
    assert (group["amiType"], group["releaseVersion"], group["version"]) == ("AL2023_x86_64_STANDARD", release, "1.35")
    assert "imageId" not in changed.inputs(declared.TEMPLATE, "web")
    # Within its limits.
    assert group["updateConfig"] == {"maxUnavailablePercentage": 25}
    assert group["forceUpdateVersion"] is True


def test_the_number_of_nodes_is_left_to_an_autoscaler(full: World) -> None:
    assert {group.ignore_changes for group in full.all(declared.MANAGED)} == {("scalingConfig.desiredSize",)}
    assert {group.ignore_changes for group in full.all(declared.SCALING_GROUP)} == {("desiredCapacity",)}


def test_eks_sets_profile_and_security_group_of_managed_groups_and_we_of_our_own(full: World) -> None:
    own = full.inputs(declared.TEMPLATE, "own")
    assert own["iamInstanceProfile"]["arn"].endswith("<InstanceProfile:self-managed-nodes>")
    assert own["vpcSecurityGroupIds"] == ["<SecurityGroup:cluster, made by EKS>"]
    managed = full.inputs(declared.TEMPLATE, "web")
    assert not {"iamInstanceProfile", "vpcSecurityGroupIds", "instanceType"} & set(managed)


def test_an_unpinned_self_managed_group_takes_the_published_image_and_knows_the_cluster(full: World) -> None:
    template = full.inputs(declared.TEMPLATE, "own-arm")
    parameter = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/arm64/standard/recommended/image_id"
    assert template["imageId"] == f"resolve:ssm:{parameter}"
    text = base64.b64decode(template["userData"]).decode()
    assert "https://shop-dev.example.invalid" in text
    assert "--register-with-taints=arch=arm64:NoSchedule" in text


def test_spot_groups_buy_spot_alone_or_a_share_and_on_demand_groups_none(full: World, changed: World) -> None:
    def bought(found: World, name: str) -> dict[str, object]:
        return dict(found.inputs(declared.SCALING_GROUP, name)["mixedInstancesPolicy"]["instancesDistribution"])

    assert bought(full, "own-arm")["onDemandPercentageAboveBaseCapacity"] == 0
    assert bought(full, "own-arm")["spotAllocationStrategy"] == "price-capacity-optimized"
    assert bought(full, "own")["onDemandPercentageAboveBaseCapacity"] == 100
    assert bought(full, "own")["onDemandAllocationStrategy"] == "prioritized"
    assert bought(changed, "spot") == {**declared.SHARE, "onDemandAllocationStrategy": "prioritized"}
    assert changed.inputs(declared.TEMPLATE, "spot")["placement"] == {"groupName": "fast"}


def test_a_self_managed_group_keeps_the_teams_order_moves_no_nodes_and_carries_the_clusters_tag(full: World) -> None:
    groups = full.all(declared.SCALING_GROUP)
    assert [group.inputs["capacityRebalance"] for group in groups] == [False, False]
    assert [group.inputs["suspendedProcesses"] for group in groups] == [["AZRebalance"], ["AZRebalance"]]
    own = full.inputs(declared.SCALING_GROUP, "own")
    overrides = own["mixedInstancesPolicy"]["launchTemplate"]["overrides"]
    assert [override["instanceType"] for override in overrides] == ["m7i.large", "m6i.large"]
    tags = {tag["key"]: tag for tag in own["tags"]}
    assert tags["kubernetes.io/cluster/shop-dev"]["value"] == "owned"
    assert all(tag["propagateAtLaunch"] is True for tag in tags.values())


@pytest.mark.parametrize(
    ("strategy", "largest", "healthy"),
    [
        ({"maxUnavailable": 1}, 3, 67),
        ({"maxUnavailable": 1}, 200, 100),
        ({"maxUnavailable": 5}, 3, 0),
        ({"maxUnavailablePercentage": 34}, 3, 66),
        ({}, 10, 90),
    ],
)
def test_an_instance_refresh_keeps_enough_nodes(strategy: dict[str, int], largest: int, healthy: int) -> None:
    group = {"kind": "self-managed", "maxSize": largest, "updateStrategy": strategy}
    made = next(g for g in plan({"nodeGroups": {"web": group}}).node_groups if g.name == "web")
    assert made.min_healthy_percentage == healthy
