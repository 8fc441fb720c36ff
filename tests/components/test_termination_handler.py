"""The node termination handler drains nodes of self-managed groups, and Auto Scaling waits for it."""

from __future__ import annotations

from typing import Any

from tests.components import autoscaled, declared
from tests.components.declared import World, goes_before, world

NAME = "aws-node-termination-handler"
PUBLIC = {"apiEndpoint": {"public": True, "publicCidrs": ["203.0.113.7/32"]}}
OWN = {
    "nodeGroups": {
        "own": {"instanceTypes": ["m7i.large"], "kind": "self-managed"},
        "own-arm": {"instanceTypes": ["m7g.large"], "kind": "self-managed", "capacityType": "spot"},
    }
}


def test_it_drains_before_a_spot_interruption_and_when_auto_scaling_ends_a_node() -> None:
    release: Any = world({**PUBLIC, **OWN}).inputs(autoscaled.RELEASE, NAME)
    assert release["chart"] == f"oci://public.ecr.aws/aws-ec2/helm/{NAME}"
    values = release["values"]
    on = {key for key, value in values.items() if value is True}
    assert on == {"enableASGLifecycleDraining", "enableScheduledEventDraining", "enableSpotInterruptionDraining"}
    assert values["nodeTerminationGracePeriod"] == 120


def test_its_image_comes_from_the_registry_that_has_a_copy_also_without_internet_access() -> None:
    endpoints = ["ec2", "ec2messages", "ecr", "eks", "eks-auth", "logs", "s3", "ssm", "ssmmessages", "sts"]
    isolated = {"network": {"nat": "none", "endpoints": endpoints}}
    assert world({**PUBLIC, **OWN, **isolated}).plan.termination_handler is False
    copied = {"charts": {"imageRegistries": {"public.ecr.aws": "registry.example.com"}}}
    release: Any = world({**PUBLIC, **OWN, **isolated, **copied}).inputs(autoscaled.RELEASE, NAME)
    assert release["values"]["image"] == {"repository": f"registry.example.com/aws-ec2/{NAME}"}


def test_auto_scaling_waits_longer_than_a_drain_takes_in_each_self_managed_group() -> None:
    found = world({**PUBLIC, **OWN})
    hooks: Any = {hook.name: hook.inputs for hook in found.all(declared.HOOK)}
    assert set(hooks) == {"own", "own-arm"}
    release: Any = found.inputs(autoscaled.RELEASE, NAME)
    for name, hook in hooks.items():
        assert hook["autoscalingGroupName"] == f"shop-dev-{name}-RENDERED"
        assert hook["lifecycleTransition"] == "autoscaling:EC2_INSTANCE_TERMINATING"
        assert hook["defaultResult"] == "CONTINUE"
        assert hook["heartbeatTimeout"] > release["values"]["nodeTerminationGracePeriod"]


def test_a_hook_comes_after_the_handler_and_goes_before_it_and_before_the_group() -> None:
    found = world({**PUBLIC, **OWN})
    release = found.one(autoscaled.RELEASE, NAME)
    for hook in found.all(declared.HOOK):
        assert goes_before(found, hook, release)
        assert goes_before(found, hook, found.one(declared.SCALING_GROUP, hook.name))


def test_it_runs_on_nodes_that_neither_eks_nor_karpenter_drains() -> None:
    release: Any = world({**PUBLIC, **OWN}).inputs(autoscaled.RELEASE, NAME)
    affinity = release["values"]["daemonsetAffinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert {(each["key"], each["operator"]) for each in term["matchExpressions"]} == {
        ("eks.amazonaws.com/compute-type", "DoesNotExist"),
        ("eks.amazonaws.com/nodegroup", "DoesNotExist"),
        ("karpenter.sh/nodepool", "DoesNotExist"),
    }


def test_without_self_managed_groups_or_a_way_to_the_api_it_is_not_declared(small: World, full: World) -> None:
    for found in (small, full, world(PUBLIC), world({**PUBLIC, **OWN, "nodeTerminationHandler": False})):
        assert not found.all(declared.HOOK)
        assert NAME not in {release.name for release in found.all(autoscaled.RELEASE)}
