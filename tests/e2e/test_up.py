"""What is in AWS after `make up` is what the stack's plan says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import NodeGroupKind, NodeGroupPlan
from multiarch.stack.model import Plan
from sandbox.inventory import Aws
from tests.e2e import aws as held
from tests.e2e.world import STACKS, World

pytestmark = [pytest.mark.e2e, pytest.mark.parametrize("stack", STACKS)]
AWS_SAYS = {Architecture.AMD64: "x86_64", Architecture.ARM64: "arm64"}


def groups(world: World, stack: str, kind: NodeGroupKind | None = None) -> Iterator[tuple[NodeGroupPlan, held.Group]]:
    plan, aws = world.plan(stack), world.aws(stack)
    for group in plan.node_groups:
        if kind in (None, group.kind):
            yield group, held.group(aws, plan.cluster.name, group)


def cluster(aws: Aws, plan: Plan) -> dict[str, Any]:
    told: dict[str, Any] = aws.client("eks").describe_cluster(name=plan.cluster.name)["cluster"]
    return told


def test_a_preview_right_after_shows_no_change(platform: World, stack: str) -> None:
    said = json.loads(platform.pulumi(stack, "preview", "--expect-no-changes", "--json").stdout)
    assert set(said["changeSummary"]) == {"same"}
    rows = platform.resources(stack)
    # The engine adds providers of its own, and does not count them.
    added = [row for row in rows if row["type"].startswith("pulumi:providers:") and "::default" in row["urn"]]
    assert said["changeSummary"]["same"] == len(rows) - len(added)


def test_instances_and_their_images_have_the_groups_architecture(platform: World, stack: str) -> None:
    ec2 = platform.aws(stack).client("ec2")
    for plan, group in groups(platform, stack):
        word = AWS_SAYS[plan.architecture]
        types = {instance.name for instance in plan.instance_types}
        for instance in group.instances:
            assert instance["Architecture"] == word
            assert instance["InstanceType"] in types
            image = ec2.describe_images(ImageIds=[instance["ImageId"]])["Images"][0]
            assert image["Architecture"] == word, image["Name"]
        template = ec2.describe_images(ImageIds=[group.template["ImageId"]])["Images"][0]
        assert template["Architecture"] == word, template["Name"]
        offered = ec2.describe_instance_types(InstanceTypes=sorted(types))["InstanceTypes"]
        assert all(word in row["ProcessorInfo"]["SupportedArchitectures"] for row in offered)


def test_groups_have_the_planned_sizes_and_as_many_running_instances(platform: World, stack: str) -> None:
    for plan, group in groups(platform, stack):
        scaling = group.scaling
        sizes = (scaling["MinSize"], scaling["DesiredCapacity"], scaling["MaxSize"])
        assert sizes == (plan.sizes.minimum, plan.sizes.desired, plan.sizes.maximum)
        assert len(group.instances) == plan.sizes.desired
        assert {row["InstanceId"] for row in scaling["Instances"]} == {row["InstanceId"] for row in group.instances}


def test_the_stacks_outputs_name_what_is_there(platform: World, stack: str) -> None:
    plan, aws = platform.plan(stack), platform.aws(stack)
    outputs = platform.outputs(stack)
    assert outputs["cluster"] == {"name": plan.cluster.name, "version": plan.cluster.version}
    told = cluster(aws, plan)
    configured = json.loads(outputs["kubeconfig"])
    assert configured["clusters"][0]["cluster"]["server"] == told["endpoint"]
    assert set(configured["users"][0]["user"]) == {"exec"}
    for group, there in groups(platform, stack):
        shown = outputs["nodeGroups"][group.name]
        assert shown["autoScalingGroup"] == there.scaling["AutoScalingGroupName"]
        assert shown["architecture"] == str(group.architecture)
        assert shown["taints"] == [str(taint) for taint in group.taints]
    document = aws.client("ssm").list_documents(Filters=[{"Key": "Owner", "Values": ["Self"]}])
    names = [row["Name"] for row in document["DocumentIdentifiers"]]
    assert all(any(name in line for name in names) for line in outputs["sessions"].values())
