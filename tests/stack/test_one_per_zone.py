"""``onePerZone`` makes one node group per zone: their names, zones and sizes, and where their pins go."""

from __future__ import annotations

from typing import Any

import pytest

from tests.stack.words import merged, plan

ZONES = {"network": {"zones": ["eu-west-1b", "eu-west-1a"]}}


def groups(change: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Zones by the names of the groups."""
    return {group.name: group.zones for group in plan(merged(ZONES, change)).node_groups}


def test_a_group_becomes_one_for_each_of_the_networks_zones_with_the_same_settings() -> None:
    change = {"nodeGroups": {"web-arm": {"onePerZone": True, "maxSize": 7, "labels": {"tier": "web"}}}}
    assert groups(change) == {"web": (), "web-arm-a": ("eu-west-1a",), "web-arm-b": ("eu-west-1b",)}
    made = [group for group in plan(merged(ZONES, change)).node_groups if group.name != "web"]
    assert {(group.key, group.sizes.maximum, group.labels) for group in made} == {
        ("nodeGroups.web-arm", 7, (("tier", "web"),))
    }
    assert [group.name_prefix for group in made] == ["web-arm-a-", "web-arm-b-"]


def test_only_the_zones_that_the_group_names_count() -> None:
    change = {"nodeGroups": {"web-arm": {"onePerZone": True, "zones": ["eu-west-1b"]}}}
    assert groups(change) == {"web": (), "web-arm-b": ("eu-west-1b",)}


def test_both_halves_of_a_multi_architecture_group_become_one_for_each_zone() -> None:
    pair = {"instanceTypes": {"amd64": ["m7i.large"], "arm64": ["m7g.large"]}, "onePerZone": True}
    made = groups({"multiArchitectureGroups": {"any": pair}})
    assert list(made) == ["any-amd64-a", "any-amd64-b", "any-arm64-a", "any-arm64-b", "web", "web-arm"]


@pytest.mark.parametrize("decision", [False, None])
def test_without_it_a_group_stays_one(decision: bool | None) -> None:  # noqa: FBT001
    assert groups({"nodeGroups": {"web-arm": {"onePerZone": decision}}}) == {"web": (), "web-arm": ()}


def test_the_cluster_autoscaler_gets_tags_and_a_priority_for_each() -> None:
    change = {"nodeGroups": {"web-arm": {"onePerZone": True}}, "autoscaling": {"use": "cluster-autoscaler"}}
    autoscaler = plan(merged(ZONES, change)).autoscaling.cluster_autoscaler
    assert autoscaler is not None
    assert [name for name, _ in autoscaler.tags] == ["web", "web-arm-a", "web-arm-b"]
    assert {row.group: row.priority for row in autoscaler.priorities} == {"web": 30, "web-arm-a": 70, "web-arm-b": 70}
