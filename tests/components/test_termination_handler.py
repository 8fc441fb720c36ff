"""The node termination handler drains nodes of self-managed groups, and Auto Scaling waits for it."""

from __future__ import annotations

from typing import Any

from tests.components import autoscaled, declared
from tests.components.declared import OWN, PUBLIC, World, goes_before
from tests.stack.test_autoscaling_contradictions import NO_NAT
from tests.stack.words import plan

NAME = "aws-node-termination-handler"
GROUPS: dict[str, Any] = {**PUBLIC, "nodeGroups": {"web": OWN, "web-arm": OWN}}


def values(found: World) -> dict[str, Any]:
    release: Any = found.inputs(autoscaled.RELEASE, NAME)
    return dict(release["values"])


def test_it_drains_before_a_spot_interruption_and_when_auto_scaling_ends_a_node(charted: World) -> None:
    found = values(charted)
    on = {key for key, value in found.items() if value is True}
    assert on == {"enableASGLifecycleDraining", "enableScheduledEventDraining", "enableSpotInterruptionDraining"}
    assert found["nodeTerminationGracePeriod"] == 120
    # On nodes that neither EKS nor Karpenter drains.
    affinity = found["daemonsetAffinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert {(each["key"], each["operator"]) for each in term["matchExpressions"]} == {
        ("eks.amazonaws.com/compute-type", "DoesNotExist"),
        ("eks.amazonaws.com/nodegroup", "DoesNotExist"),
        ("karpenter.sh/nodepool", "DoesNotExist"),
    }


def test_auto_scaling_waits_longer_than_a_drain_takes_in_each_self_managed_group(charted: World) -> None:
    hooks: Any = {hook.name: hook for hook in charted.all(declared.HOOK)}
    assert set(hooks) == {"own", "own-arm"}
    release = charted.one(autoscaled.RELEASE, NAME)
    for name, hook in hooks.items():
        assert hook.inputs["autoscalingGroupName"] == f"shop-dev-{name}-RENDERED"
        assert hook.inputs["lifecycleTransition"] == "autoscaling:EC2_INSTANCE_TERMINATING"
        assert hook.inputs["defaultResult"] == "CONTINUE"
        assert hook.inputs["heartbeatTimeout"] > values(charted)["nodeTerminationGracePeriod"]
        assert goes_before(charted, hook, release)
        assert goes_before(charted, hook, charted.one(declared.SCALING_GROUP, name))


def test_it_is_there_for_self_managed_groups_that_have_its_image_and_a_way_to_the_api(small: World) -> None:
    image = {"charts": {"imageRegistries": {"public.ecr.aws": "registry.example.com"}}}
    assert plan(GROUPS).termination_handler
    assert plan({**GROUPS, **NO_NAT, **image}).termination_handler
    for change in (PUBLIC, {**GROUPS, **NO_NAT}, {**GROUPS, "nodeTerminationHandler": False}, declared.FULL):
        assert not plan(change).termination_handler, change
    assert NAME not in {release.name for release in small.all(autoscaled.RELEASE)}
