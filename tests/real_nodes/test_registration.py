"""A real kubelet registers with what the stack's plan says, started by a group's user data.

All are kubelets for amd64: under the emulator each needs seconds of processor time to start. With user data of
checkout-dev the arm64 one starts in ``test_lifecycle.py``.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.manifests.quantities import parse_quantity
from multiarch.nodes.model import NodeGroupPlan
from sandbox.cluster.bootstrap.groups import expected, group_start
from sandbox.cluster.bootstrap.registration import Registration
from sandbox.cluster.cluster import Nodes
from sandbox.cluster.kube import Object
from tests.nodes.builders import CLUSTER
from tests.real_nodes.groups import GROUPS, user_data

TAINT = "arch=arm64:NoSchedule"
# What every kubelet says about its machine.
OWN_LABELS = {f"{domain}kubernetes.io/{name}" for domain in ("", "beta.") for name in ("arch", "os", "hostname")}


def registered(nodes: Nodes, group: NodeGroupPlan, text: str) -> Object:
    """The Node that a kubelet registers with this user data."""
    node, start = nodes.by_architecture[Architecture.AMD64], group_start(group, text, CLUSTER)
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


def kept_by(group: NodeGroupPlan) -> dict[str, Fraction]:
    """What the stack reserves of CPU and memory. The images' own reservations, and evictions, are not there."""
    reserved = group.kubelet.reservations.system
    return {name: Fraction(amount) / (1000 if name == "cpu" else 1) for name, amount in reserved}


@pytest.mark.parametrize(("stack", "name"), GROUPS)
def test_the_nodes_of_a_group_register_as_planned(real_nodes: Nodes, stack: str, name: str) -> None:
    group = GROUPS[stack, name]
    node = registered(real_nodes, group, user_data(group))
    assert registration_of(node) == expected(group)
    for resource, kept in kept_by(group).items():
        had, gives = (node["status"][each][resource] for each in ("capacity", "allocatable"))
        assert parse_quantity(had) - parse_quantity(gives) == kept
    if group.architecture is Architecture.ARM64 and stack != "gke-parity":  # it has the taint that GKE sets
        assert TAINT in map(str, registration_of(node).taints)


def test_a_node_without_the_taint_in_its_user_data_registers_otherwise(real_nodes: Nodes) -> None:
    group = next(group for group in GROUPS.values() if TAINT in user_data(group))
    node = registered(real_nodes, group, user_data(group).replace(TAINT, ""))
    assert registration_of(node).taints == ()
    assert registration_of(node) != expected(group)
