"""The taint, subnets and autoscaler of a stack on a cluster; and what a cluster may not be."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from multiarch.errors import MultiarchError
from multiarch.existing.proposal import choose_subnets, choose_taint, find_autoscaler, plan_addition
from multiarch.existing.stack_file import write_stack_file
from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import CapacityType, NodeGroupKind
from multiarch.observed.eks.model import InCluster, NodeSettings, ObservedPool, ObservedSubnet
from tests.existing.clusters import SUBNETS, cluster, group, taint

TODAY = date(2026, 11, 21)
OTHER = {"taints": ("kubernetes.io/arch=arm64:NoSchedule",)}


def inside(**more: Any) -> InCluster:
    return InCluster("here", **more)


def test_the_taint_in_use_is_taken() -> None:
    assert choose_taint(cluster(group()))[0] == taint("arch=arm64:NoSchedule")
    of_group = cluster(group(), group("g", "m7g.large", **OTHER))
    assert choose_taint(of_group) == (taint("kubernetes.io/arch=arm64:NoSchedule"), "the taint of the group g")
    used = {Architecture.ARM64: {taint("cpu=graviton:NoExecute"): "ip-1", taint("team=a:NoSchedule"): "ip-1"}}
    of_node = cluster(group(), inside=inside(taints=used))
    assert choose_taint(of_node) == (taint("cpu=graviton:NoExecute"), "the taint of the node ip-1")


def test_subnets_are_the_private_ones_of_groups_then_those_of_the_cluster_then_public_ones() -> None:
    public = tuple(ObservedSubnet(f"public-{each.zone}", each.zone, 9, public=True) for each in SUBNETS)
    names = tuple(each.id for each in public)
    every = {"subnets": (*SUBNETS, *public)}
    assert choose_subnets(cluster(group(subnets=(*names, "subnet-a", "subnet-b")), **every))[0] == SUBNETS
    assert choose_subnets(cluster(group(subnets=names), **every))[0] == SUBNETS
    # Whether nodes of a private subnet without a route reach AWS can't be told, unless nodes of a group do.
    unrouted = tuple(replace(each, routed=False) for each in SUBNETS)
    assert choose_subnets(cluster(group(), subnets=unrouted))[0] == unrouted
    assert choose_subnets(cluster(group(subnets=names), subnets=(*unrouted, *public)))[1].startswith("the subnets")
    found, source = choose_subnets(cluster(group(subnets=names), subnets=public, subnet_ids=names))
    assert (found, "public" in source) == (public, True)


@pytest.mark.parametrize(
    ("more", "use", "source"),
    [
        ({}, "none", "no autoscaler was found"),
        ({"inside": inside(cluster_autoscalers=("kube-system/ca",))}, "cluster-autoscaler", "kube-system/ca"),
        ({"service_accounts": frozenset({"kube-system/cluster-autoscaler"})}, "cluster-autoscaler", "service account"),
        (
            {"inside": inside(karpenters=("k/karpenter",), karpenter_roles=("nodes",)), "groups": ()},
            *("karpenter", "the Deployment k/karpenter"),
        ),
        ({"karpenter_nodes": 3, "karpenter_roles": ("nodes",)}, "karpenter", "3 instances"),
        ({"auto_mode": True, "auto_mode_role": "auto", "karpenter_nodes": 3}, "auto-mode", "computeConfig"),
    ],
)
def test_the_autoscaler_is_found(more: dict[str, Any], use: str, source: str) -> None:
    found = find_autoscaler(cluster(**{"groups": (group(),), **more}))
    assert (found.use, source in found.source) == (use, True)


def test_tags_of_managed_groups_prove_no_autoscaler_because_eks_writes_them() -> None:
    assert find_autoscaler(cluster(group(owners=("shop-prod",)))).use == "none"
    own = group("asg", kind=NodeGroupKind.SELF_MANAGED, owners=("shop-prod",))
    assert find_autoscaler(cluster(own)).use == "cluster-autoscaler"


def test_node_pools_without_arm64_get_one_and_others_are_named() -> None:
    def pool(name: str, *architectures: Architecture, weight: int = 0) -> ObservedPool:
        return ObservedPool(name, architectures, (CapacityType.SPOT,), {}, (), 64, auto_mode=False, weight=weight)

    pools = (pool("amd", Architecture.AMD64, weight=95), pool("both", *Architecture))
    in_it = inside(karpenters=("k/karpenter",), karpenter_roles=("a", "b"), pools=pools)
    found = plan_addition(cluster(group("g", "g5.xlarge"), inside=in_it), TODAY)
    assert ([each.name for each in found.pools], found.autoscaler.role) == (["amd"], "a")
    assert any("NodePool both allows arm64 already" in note for note in found.notes)
    assert any("several roles" in note for note in found.notes)
    assert any("NodePool amd has the weight 95" in note for note in found.notes)
    assert [each.what for each in found.skipped] == ["group g"]


@pytest.mark.parametrize(
    ("more", "says", "fix"),
    [
        (
            {"status": "CREATING"},
            "is CREATING, and takes no nodes",
            "aws eks wait cluster-active --name shop-prod --region eu-west-1",
        ),
        ({"status": "FAILED"}, "is FAILED", "`aws eks describe-cluster --name shop-prod --region eu-west-1` says more"),
        ({"version": "1.30"}, "1.30, which EKS does not support any more", "update-cluster-version --name shop-prod"),
        ({"version": "1.99"}, "1.99, which is unknown", "Known are"),
        (
            {"subnets": tuple(ObservedSubnet(each.id, each.zone, 0, public=False) for each in SUBNETS)},
            *("no two zones with free addresses: subnet-a, subnet-b", "update-cluster-config --name shop-prod"),
        ),
        ({"subnets": SUBNETS[:1]}, "are in one zone: eu-west-1a", "update-cluster-config"),
        (
            {"inside": inside(cluster_autoscalers=("a/ca", "b/ca"))},
            *("Several cluster autoscalers own the groups of shop-prod: a/ca, b/ca", "Remove all but one"),
        ),
        ({"groups": (group(owners=("other", "shop-prod")),)}, "k8s.io/cluster-autoscaler/other", "Remove the tag"),
        (
            {"groups": (group(), group("g", "m7g.large", taints=("arch=fast:NoSchedule",)))},
            *("the group g have the taint arch=fast:NoSchedule, of another value", "Give it arch=arm64:NoSchedule"),
        ),
        (
            {"groups": (group("g", "m7g.large", **OTHER), group("h", "m7g.large", taints=("arch=arm64:NoSchedule",)))},
            *("have different taints: arch=arm64:NoSchedule on the group h, kubernetes.io/arch", "one taint"),
        ),
        ({"karpenter_nodes": 1}, "the role of its nodes was not found", "--context"),
        ({"groups": ()}, "it has no node groups", "by hand"),
        ({"groups": (group("g", "g5.xlarge"),)}, "group g: its instance types have accelerators", "by hand"),
    ],
)
def test_a_cluster_that_cannot_have_a_stack_is_one_error_with_the_fix(
    more: dict[str, Any], says: str, fix: str
) -> None:
    with pytest.raises(MultiarchError) as caught:
        plan_addition(cluster(**{"groups": (group(),), **more}), TODAY)
    assert says in caught.value.message
    assert fix in str(caught.value)
    assert "\n" not in str(caught.value)


def test_security_groups_that_new_nodes_do_not_have_are_named() -> None:
    alone, with_own = (NodeSettings(security_groups=each) for each in (("sg-1",), ("sg-1", "sg-cluster")))
    found = plan_addition(cluster(group("a", settings=alone), group("b", "c7i.large", settings=with_own)), TODAY)
    said = [note for note in found.notes if "security groups" in note]
    assert len(said) == 1
    assert "Nodes of a have the security groups sg-1, and new nodes have sg-cluster" in said[0]


def test_security_groups_that_all_nodes_have_are_those_of_new_nodes() -> None:
    settings = NodeSettings(security_groups=("sg-1",))
    found = plan_addition(cluster(group("a", settings=settings), node_security_groups=("sg-1",)), TODAY)
    assert not any("security groups" in note for note in found.notes)
    text = write_stack_file(found, "shop", "prod", owner="a@example.com", cost_center="1")
    assert "    securityGroups: [sg-1]\n" in text


def test_a_private_endpoint_is_no_error_and_what_was_not_read_is_named() -> None:
    found = plan_addition(cluster(group(), public_endpoint=False, why_outside="It did not answer."), TODAY)
    assert "It did not answer. Its endpoint is private: run the command from within its VPC." in found.notes[0]
