"""What a stack's plan lets pass has user data: nothing is rejected only when the engine already runs."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from multiarch.facts.ami_families import NODE_FAMILIES, AmiFamily
from multiarch.nodes.user_data import render_user_data
from tests.nodes.builders import CLUSTER
from tests.nodes.user_data import reading
from tests.stack.words import plan

KINDS = ("managed", "self-managed")


@pytest.mark.parametrize(("family", "kind", "dense"), list(product(NODE_FAMILIES, KINDS, [False, True])))
def test_every_group_of_an_accepted_stack_has_user_data(family: str, kind: str, *, dense: bool) -> None:
    words = {
        "kubernetesVersion": "1.32",
        "amiFamily": str(family),
        "addons": {"vpcCni": {"prefixDelegation": dense}},
        "nodeGroups": {"web": {"kind": kind}, "web-arm": {"kind": kind}},
    }
    # EKS needs to be told nothing but max pods that it would not find itself; on AL2 it can't be told, and finds them.
    needed = kind == "self-managed" or (dense and family != AmiFamily.AL2)
    assert [bool(render_user_data(group, CLUSTER)) for group in plan(words).node_groups] == [needed, needed]


@pytest.mark.tools
@pytest.mark.parametrize(
    "change", [{"addons": {"vpcCni": {"prefixDelegation": True}}}, {"network": {"podCidr": "100.64.0.0/16"}}]
)
def test_prefixes_and_custom_networking_reach_the_kubelet_where_eks_merges(change: dict[str, Any]) -> None:
    group = plan(change).node_groups[0]
    document = reading.part(render_user_data(group, CLUSTER), reading.NODE_CONFIG)
    spec = reading.node_config(document, partial=True)["spec"]
    assert spec["kubelet"]["flags"] == [f"--max-pods={group.max_pods}"]
