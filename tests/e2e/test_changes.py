"""A change of a stack file changes what it must, and nothing else, in AWS.

An update says what it changes as a preview does; a change in place and one that replaces a group compare the two.

Each change stays when its test has passed, so a test begins with whatever is up; it must not count on the words that
the repository's stack files hold.
"""

from __future__ import annotations

import pytest

from multiarch.facts.ami_families import get_ami_type
from multiarch.nodes.model import NodeGroupPlan
from sandbox.aws.facts import earlier_release, latest_release
from tests.e2e import aws as held
from tests.e2e.world import NO_REFRESH, Step, World, done, names

pytestmark = pytest.mark.e2e

ADDON = "aws:eks/addon:Addon"
MANAGED = "aws:eks/nodeGroup:NodeGroup"
SCALING = "aws:autoscaling/group:Group"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
VERSION = "mixedInstancesPolicy.launchTemplate.launchTemplateSpecification.version"
# The controllers among the add-ons tolerate the arm64 taint, so they follow it.
TOLERATIONS = [
    Step("update", f"{ADDON} aws-ebs-csi-driver", frozenset({"configurationValues"})),
    Step("update", f"{ADDON} coredns", frozenset({"configurationValues"})),
]


AUTOSCALER_TAG = "aws:autoscaling/tag:Tag"
RELEASE = "kubernetes:helm.sh/v3:Release"
TAINT_TAG = "k8s.io/cluster-autoscaler/node-template/taint"


def without_autoscaler(steps: list[Step]) -> tuple[list[Step], list[str]]:
    """Steps apart from those of the cluster autoscaler, and what these are about."""
    own = (f"{AUTOSCALER_TAG} ", f"{RELEASE} ")
    return [s for s in steps if not s.what.startswith(own)], [s.what for s in steps if s.what.startswith(own)]


def in_order(steps: list[Step]) -> list[Step]:
    return sorted(steps, key=lambda step: step.what)


def replaced(before: dict[str, set[str]], after: dict[str, set[str]]) -> set[str]:
    """Groups of which not one instance is still there; the instances of all others are the same as before."""
    rolled = {name for name in before if not before[name] & after[name]}
    assert {name: after[name] for name in before if name not in rolled} == {
        name: before[name] for name in before if name not in rolled
    }
    return rolled


def group_of(world: World, stack: str, name: str) -> tuple[NodeGroupPlan, held.Group]:
    plan = world.plan(stack)
    group = next(group for group in plan.node_groups if group.name == name)
    return group, held.group(world.aws(stack), plan.cluster.name, group)


def test_raising_one_groups_max_size_updates_exactly_that_group_and_keeps_what_an_autoscaler_has_started(
    platform: World,
) -> None:
    stack, aws = "checkout-dev", platform.aws("checkout-dev")
    cluster = platform.plan(stack).cluster.name
    # What cluster-autoscaler and Karpenter do goes past Pulumi, and EKS tells of it with the group's sizes.
    held.set_nodes(aws, cluster, "graviton", 3)
    before = platform.instance_ids(stack)
    assert len(before["graviton"]) == 3
    with platform.changed(stack, "nodeGroups", "graviton", "maxSize", value=9) as previewed:
        assert previewed == [Step("update", f"{MANAGED} graviton", frozenset({"scalingConfig.maxSize"}))]
        assert names(platform.up(stack)) == names(previewed)
        assert group_of(platform, stack, "graviton")[1].scaling["MaxSize"] == 9
        assert group_of(platform, stack, "general")[1].scaling["MaxSize"] != 9
        assert platform.instance_ids(stack) == before
    held.set_nodes(aws, cluster, "graviton", 1)


def test_a_new_arm64_taint_goes_to_managed_arm64_groups_and_to_what_tolerates_it(platform: World) -> None:
    stack = "checkout-dev"
    with platform.made(stack, "arm64Taint", value="arch=graviton:NoSchedule") as steps:
        taint = Step("update", f"{MANAGED} graviton", frozenset({"taints[0].value"}))
        apart, autoscalers = without_autoscaler(steps)
        assert in_order(apart) == in_order([taint, *TOLERATIONS])
        # The cluster autoscaler tolerates the taint too, and learns of it from a tag while the group has no node.
        assert sorted(autoscalers) == [f"{AUTOSCALER_TAG} graviton-{TAINT_TAG}/arch", f"{RELEASE} cluster-autoscaler"]
        managed = group_of(platform, stack, "graviton")[1].managed
        assert managed is not None
        assert managed["taints"] == [{"key": "arch", "value": "graviton", "effect": "NO_SCHEDULE"}]


def test_charts_from_another_registry_update_the_releases_alone_and_what_was_deleted_outside_is_made_again(
    platform: World,
) -> None:
    stack, registry = "checkout-dev", "oci://111122223333.dkr.ecr.eu-west-1.amazonaws.com/charts"
    eks, of = platform.aws(stack).client("eks"), {"clusterName": platform.plan(stack).cluster.name}
    eks.delete_addon(**of, addonName="coredns")
    with platform.made(stack, "charts", value={"registry": registry}) as steps:
        assert names(steps) == [("create", f"{ADDON} coredns"), ("update", f"{RELEASE} cluster-autoscaler")]
        assert "coredns" in eks.list_addons(**of)["addons"]
        (release,) = (each for each in platform.resources(stack) if each["type"] == RELEASE)
        assert release["inputs"]["chart"] == f"{registry}/cluster-autoscaler"


@pytest.mark.parametrize(
    ("stack", "taint", "rolled"),
    [
        ("legacy-al2", "arch=graviton:NoSchedule", {"arm64"}),
        # Pods that tolerate the taint may use either half, so both halves carry it.
        ("gke-parity", "kubernetes.io/arch=aarch64:NoSchedule", {"either-amd64", "either-arm64"}),
    ],
)
def test_a_new_arm64_taint_rolls_the_self_managed_groups_that_carry_it(
    platform: World, stack: str, taint: str, rolled: set[str]
) -> None:
    before = platform.instance_ids(stack)
    with platform.made(stack, "arm64Taint", value=taint) as steps:
        templates = [Step("update", f"{TEMPLATE} {name}", frozenset({"userData"})) for name in rolled]
        scaling = [Step("update", f"{SCALING} {name}", frozenset({VERSION})) for name in rolled]
        assert in_order(steps) == in_order([*templates, *scaling, *TOLERATIONS])
        assert replaced(before, platform.instance_ids(stack)) == rolled
        for name in rolled:
            assert taint.partition("=")[2] in held.user_data(group_of(platform, stack, name)[1].template)


def test_a_pinned_image_outlasts_a_change_of_the_launch_template_and_a_release_alone_does_not(
    platform: World,
) -> None:
    stack, file = "checkout-dev", platform.stack_file("checkout-dev")
    before, kept = file.read_bytes(), ("general", "graviton", "old")
    row = get_ami_type("AL2023_ARM_64_STANDARD")
    old, newest = (find(row, platform.plan(stack).cluster.version) for find in (earlier_release, latest_release))

    def images() -> dict[str, set[str]]:
        found = {name: group_of(platform, stack, name)[1].instances for name in (*kept, "alone")}
        return {name: {row["ImageId"] for row in rows} for name, rows in found.items()}

    try:
        platform.edit(stack, "nodeGroups", "old", value={"instanceTypes": ["m7g.large"], "ami": {"release": old}})
        alone = {"instanceTypes": ["m7g.large"], "ami": {"release": old}, "bootstrap": {"mode": "eks"}}
        platform.edit(stack, "nodeGroups", "alone", value=alone)
        platform.multiarch(stack, "stack", "pin", stack)
        platform.up(stack, NO_REFRESH)
        first, ran = images(), platform.instance_ids(stack)
        assert first["alone"] == first["old"] != first["graviton"]

        platform.edit(stack, "costCenter", value="4712")
        platform.edit(stack, "nodeGroups", "old", "diskSize", value=60)
        platform.up(stack)
        assert replaced(ran, platform.instance_ids(stack)) == {*kept, "alone"}
        assert images() == {**first, "alone": first["graviton"]}
        managed = group_of(platform, stack, "alone")[1].managed
        assert managed is not None
        assert managed["releaseVersion"] == newest
        # The way back, which EKS rejects.
        said = platform.pulumi(stack, "up", "--yes", "--skip-preview", "--json", NO_REFRESH, expect=1)
        assert "You cannot roll back a node group to an earlier" in said.errors()
        assert images() == {**first, "alone": first["graviton"]}
    finally:
        file.write_bytes(before)
        platform.up(stack, NO_REFRESH)


def test_pinning_the_image_that_runs_changes_nothing_and_another_one_rolls_that_group(platform: World) -> None:
    stack, before = "legacy-al2", platform.instance_ids("legacy-al2")
    image = group_of(platform, stack, "arm64")[1].template["ImageId"]
    with platform.changed(stack, "nodeGroups", "arm64", "ami", value={"id": image}) as previewed:
        assert previewed == []
    other = "/aws/service/eks/optimized-ami/1.31/amazon-linux-2-arm64/recommended/image_id"
    own = platform.aws(stack).client("ssm").get_parameter(Name=other)["Parameter"]["Value"]
    with platform.made(stack, "nodeGroups", "arm64", "ami", value={"id": own}) as steps:
        template = Step("update", f"{TEMPLATE} arm64", frozenset({"imageId"}))
        assert in_order(steps) == in_order([template, Step("update", f"{SCALING} arm64", frozenset({VERSION}))])
        assert replaced(before, platform.instance_ids(stack)) == {"arm64"}
        _, group = group_of(platform, stack, "arm64")
        assert {row["ImageId"] for row in group.instances} == {own}


def test_another_instance_type_makes_a_new_group_before_the_old_one_goes(platform: World) -> None:
    stack = "checkout-dev"
    cluster, aws = platform.plan(stack).cluster.name, platform.aws(stack)
    old, before = held.managed_group(aws, cluster, "graviton"), platform.instance_ids(stack)
    with platform.changed(stack, "nodeGroups", "graviton", "instanceTypes", value=["m6g.large"]) as previewed:
        apart, autoscalers = without_autoscaler(previewed)
        assert apart == [Step("replace", f"{MANAGED} graviton", frozenset({"instanceTypes[0]"}))]
        # Its new Auto Scaling Group gets the autoscaler's tags, and the priority expander its name.
        assert all(what.startswith((f"{AUTOSCALER_TAG} graviton-", RELEASE)) for what in autoscalers)
        finished = done(platform.pulumi(stack, "up", "--yes", "--skip-preview", "--json"))
        group = [step for step in finished if step.what == f"{MANAGED} graviton"]
        assert without_autoscaler(finished)[0] == group
        assert [step.op for step in group] == ["create-replacement", "replace", "delete-replaced"]
        new = held.managed_group(aws, cluster, "graviton")
        assert new["nodegroupName"] != old["nodegroupName"]
        assert new["instanceTypes"] == ["m6g.large"]
        assert replaced(before, platform.instance_ids(stack)) == {"graviton"}
        assert len(aws.client("eks").list_nodegroups(clusterName=cluster)["nodegroups"]) == 2


def test_a_new_tag_for_the_whole_organisation_changes_tags_and_through_them_launch_templates(platform: World) -> None:
    stack, aws = "gke-parity", platform.aws("gke-parity")
    before = platform.settings.read_text()
    assert "data-classification: internal" in before
    platform.settings.write_text(before.replace("data-classification: internal", "data-classification: public"))
    try:
        changes = {step.what: step for step in platform.up(stack)}
        # What is launched gets its tags from the template, and whatever names the template's version follows.
        beyond = {
            what: {path for path in step.paths if not path.startswith(("tags", "tagSpecifications"))}
            for what, step in changes.items()
        }
        assert {step.op for step in changes.values()} == {"update"}
        assert {what: paths for what, paths in beyond.items() if paths} == {
            f"{MANAGED} default": {"launchTemplate.version"},
            f"{SCALING} either-amd64": {VERSION},
            f"{SCALING} either-arm64": {VERSION},
        }
        declared = {row["urn"].rpartition("$")[2].replace("::", " "): row for row in platform.resources(stack)}
        tagged = {what: row for what, row in declared.items() if row.get("inputs", {}).get("tags")}
        assert set(changes) == set(tagged)
        for row in tagged.values():
            assert held.tags(aws, row)["data-classification"] == "public"
    finally:
        platform.settings.write_text(before)
        platform.up(stack, NO_REFRESH)
