"""Node groups of both kinds and their launch templates."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from components.aws.node_group import find_problem
from multiarch.facts.instance_types import get_instance_type
from tests.components import declared
from tests.components.declared import World, world
from tests.stack.words import plan

RESERVED = "arn:aws:resource-groups:eu-west-1:111122223333:group/reserved/0222xxbw4wbpdi7mg47ppcu8kr"


def test_every_launch_template_demands_imdsv2_and_hides_tags_from_it(full: World) -> None:
    for template in full.all(declared.TEMPLATE):
        options: Any = template.inputs["metadataOptions"]
        assert options == {
            "httpEndpoint": "enabled",
            "httpTokens": "required",
            "httpPutResponseHopLimit": 1,
            "instanceMetadataTags": "disabled",
        }


def test_every_volume_is_encrypted_gp3_and_goes_with_its_node(full: World) -> None:
    for template in full.all(declared.TEMPLATE):
        mappings: Any = template.inputs["blockDeviceMappings"]
        assert mappings
        for mapping in mappings:
            assert mapping["ebs"]["volumeType"] == "gp3"
            assert mapping["ebs"]["encrypted"] == "true"
            assert mapping["ebs"]["deleteOnTermination"] == "true"


def disks(found: World, group: str) -> dict[str, int]:
    return {
        m["deviceName"]: m["ebs"]["volumeSize"] for m in found.inputs(declared.TEMPLATE, group)["blockDeviceMappings"]
    }


def test_the_disk_is_the_root_volume_and_bottlerockets_data_volume() -> None:
    found = world({"nodeGroups": {"web": {"diskSize": 80}, "web-arm": {"diskSize": 80, "amiFamily": "Bottlerocket"}}})
    assert disks(found, "web") == {"/dev/xvda": 80}
    assert disks(found, "web-arm") == {"/dev/xvda": 4, "/dev/xvdb": 80}


def test_what_a_template_launches_is_tagged(full: World) -> None:
    for template in full.all(declared.TEMPLATE):
        launched: Any = template.inputs["tagSpecifications"]
        assert [spec["resourceType"] for spec in launched] == ["instance", "network-interface", "volume"]
        for spec in launched:
            assert dict(full.plan.tags).items() <= spec["tags"].items()
            assert spec["tags"]["multiarch-eks/node-group"] == template.name
            assert spec["tags"]["multiarch-eks/cluster"] == "shop-dev"


@pytest.mark.parametrize("status", ["CREATE_FAILED", "DELETE_FAILED", "DEGRADED", "ACTIVE", "UPDATING"])
def test_a_group_that_could_not_be_created_ends_the_run_and_a_degraded_one_is_warned_of(
    status: str, capfd: pytest.CaptureFixture[str]
) -> None:
    problem = find_problem(["shop-dev", "web-1a2b", status])
    said = f"EKS reports node group web-1a2b as {status}"
    assert (problem or "").startswith(said if status.endswith("FAILED") else "")
    assert bool(problem) == status.endswith("FAILED")
    assert (said in capfd.readouterr().err) == (status == "DEGRADED")


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (None, None),
        ("capacity-reservations-only", {"capacityReservationPreference": "capacity-reservations-only"}),
        ("cr-0123", {"capacityReservationTarget": {"capacityReservationId": "cr-0123"}}),
        (RESERVED, {"capacityReservationTarget": {"capacityReservationResourceGroupArn": RESERVED}}),
    ],
)
def test_a_template_names_a_reservation_or_a_preference(chosen: str | None, expected: object) -> None:
    group = {"instanceTypes": ["m7i.large"], "zones": ["eu-west-1a"], "capacityReservation": chosen}
    network = {"zones": ["eu-west-1a", "eu-west-1b"]}
    made = world({"network": network, "nodeGroups": {"web": group}}).inputs(declared.TEMPLATE, "web")
    assert made.get("capacityReservationSpecification") == expected


@pytest.mark.parametrize("kind", ["managed", "self-managed"])
def test_each_network_card_with_efa_gets_one_interface_in_the_nodes_security_group(kind: str) -> None:
    group = {"instanceTypes": ["p6-b300.48xlarge"], "kind": kind, "efa": True}
    made = world({"nodeGroups": {"web": group, "one": {**group, "instanceTypes": ["c7gn.16xlarge"]}}})
    found: Any = {name: made.inputs(declared.TEMPLATE, name) for name in ("web", "one")}
    shared = {
        "associatePublicIpAddress": "false",
        "deleteOnTermination": "true",
        "securityGroups": ["<SecurityGroup:cluster, made by EKS>"],
    }
    (one,) = found["one"]["networkInterfaces"]
    assert one == {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "efa", **shared}
    # Its first card has no EFA.
    first, *others = found["web"]["networkInterfaces"]
    assert first == {**one, "interfaceType": "interface"}
    assert others == [
        {"networkCardIndex": card, "deviceIndex": 0, "interfaceType": "efa-only", **shared} for card in range(1, 17)
    ]
    assert "vpcSecurityGroupIds" not in found["web"]


def test_no_two_groups_share_a_launch_template(full: World) -> None:
    managed = [group.inputs["launchTemplate"]["id"] for group in full.all(declared.MANAGED)]  # type: ignore[index]
    own = [
        group.inputs["mixedInstancesPolicy"]["launchTemplate"]["launchTemplateSpecification"]["launchTemplateId"]  # type: ignore[index]
        for group in full.all(declared.SCALING_GROUP)
    ]
    assert len({*managed, *own}) == len(full.plan.node_groups) == 5


def test_a_template_is_used_by_number_and_never_by_latest(full: World) -> None:
    versions = [
        mapping.get("version") for group in full.all(declared.MANAGED) for mapping in walk_templates(group.inputs)
    ]
    versions += [
        mapping.get("version") for group in full.all(declared.SCALING_GROUP) for mapping in walk_templates(group.inputs)
    ]
    assert versions == ["1"] * 5


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


def test_taints_are_spelled_as_the_eks_api_spells_them(full: World) -> None:
    assert full.inputs(declared.MANAGED, "web-arm")["taints"] == [
        {"key": "arch", "value": "arm64", "effect": "NO_SCHEDULE"}
    ]
    assert full.outputs["nodeGroups"]["web-arm"]["taints"] == ["arch=arm64:NoSchedule"]


@pytest.mark.parametrize(
    ("effect", "spelled"),
    [("NoSchedule", "NO_SCHEDULE"), ("PreferNoSchedule", "PREFER_NO_SCHEDULE"), ("NoExecute", "NO_EXECUTE")],
)
def test_a_taint_may_have_no_value(effect: str, spelled: str) -> None:
    found = world({"nodeGroups": {"web-arm": {"taints": [f"batch:{effect}"]}}})
    assert {"key": "batch", "effect": spelled} in found.inputs(declared.MANAGED, "web-arm")["taints"]


def test_an_image_of_the_teams_own_leaves_the_image_to_the_template(full: World) -> None:
    group = full.inputs(declared.MANAGED, "image")
    assert not {"amiType", "releaseVersion", "version"} & set(group)
    template = full.inputs(declared.TEMPLATE, "image")
    assert template["imageId"] == "ami-0123456789abcdef0"
    assert "node.eks.aws" in base64.b64decode(template["userData"]).decode()
    assert full.outputs["nodeGroups"]["image"]["amiType"] == "CUSTOM"


def test_ekss_own_image_is_named_by_type_release_and_version() -> None:
    release = "1.35.0-20260715"
    found = world({"nodeGroups": {"web": {"ami": {"release": release}}}})
    group = found.inputs(declared.MANAGED, "web")
    assert (group["amiType"], group["releaseVersion"], group["version"]) == ("AL2023_x86_64_STANDARD", release, "1.35")
    assert "imageId" not in found.inputs(declared.TEMPLATE, "web")


def test_the_number_of_nodes_is_left_to_an_autoscaler(full: World) -> None:
    assert {group.ignore_changes for group in full.all(declared.MANAGED)} == {("scalingConfig.desiredSize",)}
    assert {group.ignore_changes for group in full.all(declared.SCALING_GROUP)} == {("desiredCapacity",)}


def test_eks_sets_profile_and_security_group_of_managed_groups_and_we_of_our_own(full: World) -> None:
    own = full.inputs(declared.TEMPLATE, "own")
    assert own["iamInstanceProfile"]["arn"].endswith("<InstanceProfile:self-managed-nodes>")
    assert own["vpcSecurityGroupIds"] == ["<SecurityGroup:cluster, made by EKS>"]
    managed = full.inputs(declared.TEMPLATE, "web")
    assert not {"iamInstanceProfile", "vpcSecurityGroupIds", "instanceType"} & set(managed)


def test_an_unpinned_self_managed_group_takes_the_published_image(full: World) -> None:
    parameter = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/arm64/standard/recommended/image_id"
    assert full.inputs(declared.TEMPLATE, "own-arm")["imageId"] == f"resolve:ssm:{parameter}"


def test_user_data_of_a_self_managed_group_knows_the_cluster(full: World) -> None:
    text = base64.b64decode(full.inputs(declared.TEMPLATE, "own-arm")["userData"]).decode()
    assert "https://shop-dev.example.invalid" in text
    assert "--register-with-taints=arch=arm64:NoSchedule" in text


def test_spot_groups_buy_spot_alone_and_on_demand_groups_none(full: World) -> None:
    def bought(name: str) -> dict[str, object]:
        return dict(full.inputs(declared.SCALING_GROUP, name)["mixedInstancesPolicy"]["instancesDistribution"])

    assert bought("own-arm")["onDemandPercentageAboveBaseCapacity"] == 0
    assert bought("own-arm")["spotAllocationStrategy"] == "price-capacity-optimized"
    assert bought("own")["onDemandPercentageAboveBaseCapacity"] == 100
    assert bought("own")["onDemandAllocationStrategy"] == "prioritized"


def test_a_share_of_on_demand_nodes_and_a_placement_group_are_declared() -> None:
    share = {
        "onDemandBaseCapacity": 2,
        "onDemandPercentageAboveBaseCapacity": 30,
        "spotAllocationStrategy": "lowest-price",
    }
    group = {"kind": "self-managed", "capacityType": "spot", "placementGroup": "fast", "instancesDistribution": share}
    made = world({"nodeGroups": {"web": group}})
    policy = made.inputs(declared.SCALING_GROUP, "web")["mixedInstancesPolicy"]["instancesDistribution"]
    assert policy == {**share, "onDemandAllocationStrategy": "prioritized"}
    assert made.inputs(declared.TEMPLATE, "web")["placement"] == {"groupName": "fast"}


def test_nothing_ends_nodes_of_a_self_managed_group_to_move_them(full: World) -> None:
    groups = full.all(declared.SCALING_GROUP)
    assert [group.inputs["capacityRebalance"] for group in groups] == [False, False]
    assert [group.inputs["suspendedProcesses"] for group in groups] == [["AZRebalance"], ["AZRebalance"]]


def test_instance_types_keep_the_teams_order(full: World) -> None:
    policy = full.inputs(declared.SCALING_GROUP, "own")["mixedInstancesPolicy"]["launchTemplate"]
    assert [override["instanceType"] for override in policy["overrides"]] == ["m7i.large", "m6i.large"]


def test_nodes_of_a_self_managed_group_carry_the_clusters_tag(full: World) -> None:
    tags = {tag["key"]: tag for tag in full.inputs(declared.SCALING_GROUP, "own")["tags"]}
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


def test_a_managed_group_is_updated_within_its_limits() -> None:
    strategy = {"maxUnavailablePercentage": 25, "force": True}
    group = world({"nodeGroups": {"web": {"updateStrategy": strategy}}}).inputs(declared.MANAGED, "web")
    assert group["updateConfig"] == {"maxUnavailablePercentage": 25}
    assert group["forceUpdateVersion"] is True
