"""The groups of the project's stacks, and which group an instance or a Node belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from multiarch.facts.ami_families import AmiFamily
from multiarch.runs.stacks import load_plan
from multiarch.verify.nodes.planned import PlannedGroup, find_group, list_planned_groups

STACKS = Path(__file__).parents[3] / "config" / "stacks"


@pytest.fixture(autouse=True)
def day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795219200")


def groups(stack: str) -> dict[str, PlannedGroup]:
    plan = load_plan(STACKS / f"Pulumi.{stack}.yaml")[1]
    return {each.name: each for each in list_planned_groups(plan)}


def test_a_stacks_groups_have_their_pins_taints_and_labels() -> None:
    found = groups("payments-prod")
    pool = found["general-arm64-spot"]
    assert (pool.family, pool.release, pool.registers) == (AmiFamily.AL2023, "v20260715", False)
    (instance, *_) = pool.owner.instance_types
    labels = pool.labels(instance, "eu-west-1")
    assert labels["karpenter.sh/nodepool"] == "general-arm64-spot"
    assert labels["karpenter.sh/capacity-type"] == "spot"
    assert labels["topology.kubernetes.io/region"] == "eu-west-1"
    assert not {"kubernetes.io/arch", "node.kubernetes.io/instance-type", "beta.kubernetes.io/arch"} & set(labels)
    assert "karpenter.k8s.aws/instance-cpu" not in labels


@pytest.mark.parametrize(
    ("tags", "labels", "name"),
    [
        ({"multiarch-eks/node-group": "graviton"}, {}, "graviton"),
        ({"eks:nodegroup-name": "graviton-20261121"}, {}, "graviton"),
        ({"eks:nodegroup-name": "graviton-blue"}, {}, None),
        ({"karpenter.sh/nodepool": "graviton"}, {}, None),
        ({}, {}, None),
    ],
)
def test_a_group_is_told_by_tags_or_by_labels(tags: dict[str, str], labels: dict[str, str], name: str | None) -> None:
    found, said = find_group(groups("checkout-dev").values(), tags, labels)
    assert (found.name if found else None) == name
    assert bool(said) == bool(tags or labels)


def test_a_pool_is_told_by_karpenters_tag_or_label() -> None:
    both = groups("payments-prod")
    for tags, labels in (
        ({"karpenter.sh/nodepool": "general-arm64-spot"}, {}),
        ({}, {"karpenter.sh/nodepool": "general-arm64-spot"}),
    ):
        found, _ = find_group(both.values(), tags, labels)
        assert found is both["general-arm64-spot"]
