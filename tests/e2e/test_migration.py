"""The documented steps from one autoscaler to the other, played: what changes, what stays, and in which order.

The sandbox shows AWS's resources and the cluster's objects. It runs neither autoscaler, so what they would do between
two steps (a drained group loses its nodes) is done here in their place; tests/cluster runs the real Karpenter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.autoscaling.chosen import chosen
from tests.e2e import aws as held
from tests.e2e.cluster_records import identities, node_pools, releases
from tests.e2e.order import Times, one_after_the_other, times
from tests.e2e.world import World, done
from tests.migration_steps import BACK, STACK, TO_KARPENTER, Step, steps, write
from tests.quotations import matches

pytestmark = pytest.mark.e2e

RELEASE = "kubernetes:helm.sh/v3:Release"
POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
GROUP, TEMPLATE = "aws:eks/nodeGroup:NodeGroup", "aws:ec2/launchTemplate:LaunchTemplate"
SUBNET, ROLE = "aws:ec2/subnet:Subnet", "aws:iam/role:Role"
AUTOSCALER_TAG = "k8s.io/cluster-autoscaler/"
POOLS = ["general-arm64-spot", "general-arm64-on-demand", "general-amd64-spot", "general-amd64-on-demand"]
NEW_CONTROLLER, OLD_CONTROLLER = {"karpenter", "karpenter-crd"}, {"cluster-autoscaler"}


def previewed(world: World, step: Step) -> None:
    """The preview that `make preview` prints is the one that is quoted."""
    real = world.sandbox("preview", STACK).stdout
    assert matches(step.previewed, real), f"step {step.number}\n--- quoted\n{step.previewed}--- real\n{real}"


def applied(world: World, step: Step) -> tuple[list[tuple[str, str]], Times]:
    """Make a step; return what was done, of resources alone, and when. The next preview shows what it left."""
    write(world.stack_file(STACK), step)
    previewed(world, step)
    said = world.pulumi(STACK, "up", "--yes", "--skip-preview", "--json")
    did = [(made.op, made.what) for made in done(said) if not made.what.startswith("multiarch-eks:")]
    return sorted(did), times(said)


def changes(did: Sequence[tuple[str, str]], *, without: str) -> list[tuple[str, str]]:
    """What was done besides one kind of operation."""
    return [(op, what) for op, what in did if op != without]


def kinds(did: Sequence[tuple[str, str]], operation: str) -> set[str]:
    return {what.partition(" ")[0] for op, what in did if op == operation}


def resize(world: World, group: str, **sizes: int) -> None:
    """What an autoscaler, or a person with the AWS CLI, does to a group's number of nodes."""
    aws = world.aws(STACK)
    name = held.managed_group(aws, STACK, group)["nodegroupName"]
    aws.client("eks").update_nodegroup_config(clusterName=STACK, nodegroupName=name, scalingConfig=sizes)


def groups(world: World) -> dict[str, held.Group]:
    return {plan.name: held.group(world.aws(STACK), STACK, plan) for plan in world.plan(STACK).node_groups}


def nodes(world: World, group: str) -> set[str]:
    return {row["InstanceId"] for row in groups(world)[group].instances}


def names_at_eks(world: World) -> set[str]:
    return set(world.aws(STACK).client("eks").list_nodegroups(clusterName=STACK)["nodegroups"])


def seen_by_the_autoscaler(world: World) -> dict[str, bool]:
    """Whether each group's Auto Scaling Group carries the cluster autoscaler's tags."""
    found = {name: held.pairs(group.scaling["Tags"]) for name, group in groups(world).items()}
    return {name: {f"{AUTOSCALER_TAG}enabled", f"{AUTOSCALER_TAG}{STACK}"} <= set(tags) for name, tags in found.items()}


def grows_first(world: World, *names: str) -> set[str]:
    """Which of some groups the priority expander would choose, by the map that the release carries."""
    scaling = {groups(world)[name].scaling["AutoScalingGroupName"]: name for name in names}
    written = releases(world, STACK)["cluster-autoscaler"]["values"]["expanderPriorities"]
    return {scaling[name] for name in chosen(written, sorted(scaling))}


def discovered(world: World) -> int:
    """How many subnets Karpenter would find."""
    filters = [{"Name": "tag:karpenter.sh/discovery", "Values": [STACK]}]
    return len(world.aws(STACK).client("ec2").describe_subnets(Filters=filters)["Subnets"])


def of_karpenter(world: World) -> dict[str, list[str]]:
    """Queues, rules and roles of Karpenter in AWS."""
    aws = world.aws(STACK)
    return {
        "queues": aws.client("sqs").list_queues(QueueNamePrefix=STACK).get("QueueUrls", []),
        "rules": [row["Name"] for row in aws.client("events").list_rules()["Rules"]],
        "roles": roles(world, "karpenter"),
    }


def roles(world: World, name: str) -> list[str]:
    found = world.aws(STACK).client("iam").list_roles()["Roles"]
    return sorted(row["RoleName"] for row in found if row["RoleName"].startswith(f"{STACK}-{name}"))


def limits(world: World) -> list[tuple[str, Any, int]]:
    """Limit and weight of each NodePool, the highest weight first."""
    rows = [(name, spec.get("limits"), spec["weight"]) for name, spec in node_pools(world, STACK).items()]
    return sorted(rows, key=lambda row: -row[2])


def test_a_stack_goes_to_karpenter_and_back_in_the_documented_steps(world: World) -> None:
    world.sandbox("up", STACK)
    _go_to_karpenter(world)
    _go_back(world)
    assert world.preview(STACK) == []


def _go_to_karpenter(world: World) -> None:
    install, close, take_out = steps(TO_KARPENTER)
    assert set(releases(world, STACK)) == OLD_CONTROLLER
    resize(world, "general", minSize=2, maxSize=4, desiredSize=2)
    began, at_eks = {name: nodes(world, name) for name in ("general", "graviton")}, names_at_eks(world)

    did, _ = applied(world, install)
    assert changes(did, without="create") == [
        ("update", f"{SUBNET} private-0"),
        ("update", f"{SUBNET} private-1"),
        ("update", f"{RELEASE} cluster-autoscaler"),
    ]
    assert not kinds(did, "create") & {GROUP, TEMPLATE}
    assert set(releases(world, STACK)) == NEW_CONTROLLER | OLD_CONTROLLER
    assert {"karpenter", "cluster-autoscaler"} <= set(identities(world, STACK))
    assert limits(world) == [(name, {"cpu": "64"}, 90 - 20 * place) for place, name in enumerate(POOLS)]
    assert discovered(world) == 2
    # The group that is being left grows when nothing else does; the one that the controllers run on does not wait.
    assert releases(world, STACK)["cluster-autoscaler"]["values"]["extraArgs"]["new-pod-scale-up-delay"] == "180s"
    assert grows_first(world, "general", "graviton") == {"general"}
    assert grows_first(world, "graviton") == {"graviton"}
    assert seen_by_the_autoscaler(world) == {"general": True, "graviton": True}
    assert {name: nodes(world, name) for name in began} == began
    assert names_at_eks(world) == at_eks

    did, _ = applied(world, close)
    assert did == [("update", f"{GROUP} graviton")]
    closed = groups(world)["graviton"].scaling
    assert (closed["MinSize"], closed["DesiredCapacity"], closed["MaxSize"]) == (0, 1, 1)
    assert {name: nodes(world, name) for name in began} == began

    resize(world, "graviton", desiredSize=0)  # drained, and taken away by the cluster autoscaler
    pools = node_pools(world, STACK)
    did, order = applied(world, take_out)
    assert {op for op, _ in did} == {"delete"}
    assert kinds(did, "delete") == {
        RELEASE,
        ROLE,
        "aws:iam/rolePolicy:RolePolicy",
        "aws:eks/podIdentityAssociation:PodIdentityAssociation",
        "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy",
        "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding",
        "aws:autoscaling/tag:Tag",
        GROUP,
        TEMPLATE,
    }
    release = ("delete", f"{RELEASE} cluster-autoscaler")
    one_after_the_other(order, [[release], order.of("delete", "aws:iam/rolePolicy:RolePolicy")])
    one_after_the_other(order, [[release], [("delete", f"{GROUP} graviton")], [("delete", f"{TEMPLATE} graviton")]])
    assert set(releases(world, STACK)) == NEW_CONTROLLER
    assert "cluster-autoscaler" not in identities(world, STACK)
    assert roles(world, "cluster-autoscaler") == []
    assert seen_by_the_autoscaler(world) == {"general": False}
    assert not [tag for tag in held.pairs(groups(world)["general"].scaling["Tags"]) if tag.startswith(AUTOSCALER_TAG)]
    # What stays is as it was.
    assert node_pools(world, STACK) == pools
    assert nodes(world, "general") == began["general"]
    assert names_at_eks(world) == {name for name in at_eks if name.startswith("general-")}


def _go_back(world: World) -> None:
    install, take_out = steps(BACK)
    assert set(releases(world, STACK)) == NEW_CONTROLLER
    began, at_eks = nodes(world, "general"), names_at_eks(world)
    controller = releases(world, STACK)["karpenter"]

    did, order = applied(world, install)
    closed = [("update", f"{POOL} {name}") for name in sorted(POOLS)]
    assert changes(did, without="create") == closed
    assert {GROUP, TEMPLATE} <= kinds(did, "create")
    # Nobody would add a node if the old pools were closed first.
    one_after_the_other(order, [[("create", f"{RELEASE} cluster-autoscaler")], closed])
    assert limits(world) == [(name, {"cpu": "0"}, 4 - place) for place, name in enumerate(POOLS)]
    assert releases(world, STACK)["karpenter"] == controller
    assert seen_by_the_autoscaler(world) == {"general": True, "graviton": True}
    assert "new-pod-scale-up-delay" not in releases(world, STACK)["cluster-autoscaler"]["values"]["extraArgs"]
    assert grows_first(world, "general", "graviton") == {"graviton"}
    new = groups(world)["graviton"]
    assert (new.scaling["MinSize"], new.scaling["MaxSize"], new.instances) == (0, 4, [])
    assert nodes(world, "general") == began
    assert at_eks < names_at_eks(world)

    resize(world, "graviton", desiredSize=2)  # grown by the cluster autoscaler, for pods that left Karpenter's nodes
    there = nodes(world, "graviton")
    assert len(there) == 2
    assert all(of_karpenter(world).values())
    did, order = applied(world, take_out)
    assert changes(did, without="delete") == [("update", f"{SUBNET} private-0"), ("update", f"{SUBNET} private-1")]
    assert not kinds(did, "delete") & {GROUP, TEMPLATE, "aws:autoscaling/tag:Tag"}
    controller_gone = ("delete", f"{RELEASE} karpenter")
    one_after_the_other(
        order,
        [
            order.of("delete", POOL),
            [("delete", f"{NODE_CLASS} default")],
            [controller_gone],
            [("delete", f"{RELEASE} karpenter-crd")],
        ],
    )
    rights = [
        step
        for step in order.of("delete", "aws:iam/rolePolicyAttachment:RolePolicyAttachment")
        if " karpenter-nodes-" not in step[1]
    ]
    assert len(rights) == 6
    one_after_the_other(order, [[controller_gone], [*rights, ("delete", "aws:sqs/queue:Queue interruption")]])
    assert set(releases(world, STACK)) == OLD_CONTROLLER
    assert node_pools(world, STACK) == {}
    assert of_karpenter(world) == {"queues": [], "rules": [], "roles": []}
    assert "karpenter" not in identities(world, STACK)
    assert discovered(world) == 0
    assert (nodes(world, "general"), nodes(world, "graviton")) == (began, there)
