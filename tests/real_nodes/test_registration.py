"""A real kubelet of the group's architecture registers with what the stack's plan says, started by its user data."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.nodes.model import NodeGroupPlan
from multiarch.nodes.user_data import render
from multiarch.stack.load import load_file
from multiarch.stack.plan import make_plan
from sandbox.cluster.bootstrap.groups import expected, group_start
from sandbox.cluster.bootstrap.registration import Registration
from sandbox.cluster.cluster import Nodes
from sandbox.cluster.kube import Object
from sandbox.layout import CLONE
from tests.nodes.builders import CLUSTER
from tests.stack.words import TODAY

STACKS = sorted((CLONE / "config" / "stacks").glob("Pulumi.*.yaml"))
# What every kubelet says about its machine.
OWN_LABELS = {f"{domain}kubernetes.io/{name}" for domain in ("", "beta.") for name in ("arch", "os", "hostname")}


def groups() -> Mapping[str, NodeGroupPlan]:
    plans = {file.stem.removeprefix("Pulumi."): load_file(file, project_file=CLONE / "Pulumi.yaml") for file in STACKS}
    return {
        f"{stack}-{group.name}": group
        for stack, loaded in plans.items()
        for group in make_plan(loaded, today=TODAY).node_groups
    }


GROUPS = groups()


def registered(nodes: Nodes, group: NodeGroupPlan, user_data: str) -> Object:
    """The Node that a kubelet of the group's architecture registers with this user data."""
    node, start = nodes.by_architecture[group.architecture], group_start(group, user_data, CLUSTER)
    node.stop_kubelet()
    node.start_kubelet(start.flags, start.config)
    try:
        return node.registered()
    finally:
        node.stop_kubelet()


def registration_of(node: Object) -> Registration:
    labels = {key: value for key, value in node["metadata"]["labels"].items() if key not in OWN_LABELS}
    # The control plane taints nodes that are not ready, and this one has just begun.
    taints = [each for each in node["spec"].get("taints", ()) if not each["key"].startswith("node.kubernetes.io/")]
    made = (Taint(each["key"], each.get("value", ""), each["effect"]) for each in taints)
    return Registration(labels, tuple(sorted(made)))


@pytest.mark.parametrize("name", GROUPS)
def test_the_nodes_of_a_group_register_as_planned(real_nodes: Nodes, name: str) -> None:
    group = GROUPS[name]
    node = registered(real_nodes, group, render(group, CLUSTER))
    assert registration_of(node) == expected(group)
    assert node["status"]["nodeInfo"]["architecture"] == str(group.architecture)


def test_every_stack_has_a_group_whose_nodes_register_with_the_taint_of_arm64() -> None:
    tainted = {name.rpartition("-")[0] for name, group in GROUPS.items() if expected(group).taints}
    assert Architecture.ARM64 in {group.architecture for group in GROUPS.values()}
    assert tainted


def test_a_node_without_the_taint_in_its_user_data_is_found_out(real_nodes: Nodes) -> None:
    group = next(
        group
        for group in GROUPS.values()
        if group.architecture is Architecture.ARM64 and "arch=arm64:NoSchedule" in render(group, CLUSTER)
    )
    node = registered(real_nodes, group, render(group, CLUSTER).replace("arch=arm64:NoSchedule", ""))
    assert registration_of(node).taints == ()
    assert registration_of(node) != expected(group)
