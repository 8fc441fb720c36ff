"""A node group's plan: labels that follow from the hardware, and what an empty node gives."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.facts.node_resources import MIB
from multiarch.nodes.model import NodeGroupPlan
from multiarch.nodes.resources import get_node_resources
from tests.stack.words import plan

ACCELERATOR = "k8s.amazonaws.com/accelerator"


def web(**change: Any) -> NodeGroupPlan:
    return plan({"nodeGroups": {"web": change}}).node_groups[0]


@pytest.mark.parametrize("name", ["g6.xlarge", "g5g.xlarge", "p5.48xlarge"])
@pytest.mark.parametrize("kind", ["managed", "self-managed"])
def test_nodes_with_nvidia_gpus_carry_the_label_by_which_the_autoscaler_waits_for_them(name: str, kind: str) -> None:
    group = web(instanceTypes=[name], kind=kind, labels={"tier": "gpu"})
    assert dict(group.labels) == {ACCELERATOR: "nvidia", "tier": "gpu"}
    assert [row.value for row in group.derived if row.key == "label"] == [f"{ACCELERATOR}=nvidia"]


@pytest.mark.parametrize("name", ["m7i.large", "inf2.xlarge", "f2.6xlarge"])
def test_nodes_without_nvidia_gpus_do_not(name: str) -> None:
    # The autoscaler would wait for nvidia.com/gpu for ever.
    group = web(instanceTypes=[name])
    assert group.labels == ()
    assert "label" not in {row.key for row in group.derived}


def test_a_value_that_the_team_sets_stays() -> None:
    assert dict(web(instanceTypes=["g4dn.xlarge"], labels={ACCELERATOR: "nvidia-tesla-t4"}).labels) == {
        ACCELERATOR: "nvidia-tesla-t4"
    }


def test_an_empty_node_gives_the_least_that_any_of_its_types_gives() -> None:
    given = get_node_resources(web(instanceTypes=["c7i.2xlarge", "m7i.xlarge", "r7i.xlarge"]))
    assert given == get_node_resources(web(instanceTypes=["m7i.xlarge"]))
    assert given["pods"] == 58
    assert given["memory"] % MIB == 0


def test_devices_are_as_many_as_every_type_has() -> None:
    near = {"instanceTypes": ["c8gn.48xlarge"], "zones": None}
    assert get_node_resources(web(**near, efa=True))["vpc.amazonaws.com/efa"] == 2
    assert "vpc.amazonaws.com/efa" not in get_node_resources(web(**near))
    assert get_node_resources(web(instanceTypes=["g6.12xlarge", "g6.xlarge"]))["nvidia.com/gpu"] == 1
