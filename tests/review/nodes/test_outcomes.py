"""What an edit does to nodes, by the plans alone, is what the components declare, and what the page of changes says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, cast

import pytest

from multiarch.nodes.model import NodeGroupPlan
from multiarch.review.nodes import planned_rolls
from multiarch.review.nodes.group_states import GroupKind
from multiarch.review.nodes.outcomes import list_node_outcomes
from multiarch.review.nodes.planned_rolls import ENDING, NodeOutcome, Outcome
from multiarch.review.planned import with_planned_steps
from tests.components.declared import MANAGED, SCALING_GROUP, TEMPLATE, World, world
from tests.review.by_hand import change
from tests.simulate.simulated import pooled
from tests.stack.words import EXISTING_CLUSTER, merged, plan

STAYS, ROLLS, REPLACED, DELETED, NEW = (
    Outcome.STAYS,
    Outcome.ROLLS,
    Outcome.REPLACED,
    Outcome.DELETED,
    Outcome.NEW,
)
IMAGE, OTHER_IMAGE = {"id": "ami-0123456789abcdef0"}, {"id": "ami-0fedcba9876543210"}
ROLES = {f"{kind}-nodes": f"arn:aws:iam::111122223333:role/{kind}" for kind in ("managed", "self-managed")}
LARGE = {"instanceTypes": ["m7g.16xlarge"]}
ZONES = {"network": {"zones": ["eu-west-1a", "eu-west-1b"]}}
KINDS: Mapping[str, Mapping[str, Any]] = {
    "managed": {"instanceTypes": ["m7g.large"]},
    "image": {"instanceTypes": ["m7g.large"], "ami": IMAGE},
    "own": {"instanceTypes": ["m7g.large"], "kind": "self-managed", "ami": IMAGE},
}
BASE: Mapping[str, Any] = {**ZONES, "nodeGroups": {"web-arm": None, **KINDS}}
_ROLLING = {
    "userData",
    "imageId",
    "blockDeviceMappings",
    "capacityReservationSpecification",
    "metadataOptions",
    "networkInterfaces",
    "placement",
    "tagSpecifications",
    "vpcSecurityGroupIds",
}
_FORCED = {
    "amiType",
    "capacityType",
    "clusterName",
    "instanceTypes",
    "namePrefix",
    "nodeGroupNamePrefix",
    "nodeRoleArn",
    "subnetIds",
}
"""Inputs of node groups that replace them. Sources: terraform-provider-aws, ``node_group.go`` and ``group.go``."""


def each(**settings: Any) -> dict[str, Any]:
    """The same settings for every group."""
    return {"nodeGroups": dict.fromkeys(KINDS, settings)}


def outcomes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, NodeOutcome]:
    made = change(plans=(plan(old), plan(new)), succeeded=False)
    return {found.name: found for found in list_node_outcomes(with_planned_steps(made))}


def declared(old: World, new: World, name: str) -> Outcome:
    """What the provider does with what the components declare."""
    groups = [
        next(found for found in side.resources if found.type in (MANAGED, SCALING_GROUP) and found.name == name)
        for side in (old, new)
    ]
    was, now = (found.inputs for found in groups)
    differ = {key for key in {*was, *now} if was.get(key) != now.get(key)}
    cases = {key: next(g.case for g in side.plan.node_groups if g.name == name) for key, side in enumerate((old, new))}
    if groups[0].type != groups[1].type or differ & _FORCED or (groups[0].type == MANAGED and cases[0] != cases[1]):
        return REPLACED
    templates = [side.inputs(TEMPLATE, name) for side in (old, new)]
    rolls = any(templates[0].get(key) != templates[1].get(key) for key in _ROLLING)
    return ROLLS if rolls or differ & {"mixedInstancesPolicy", "releaseVersion", "version"} else STAYS


OF_GROUPS: Sequence[tuple[dict[str, Any], Outcome, Outcome, Outcome]] = (
    ({"minSize": 2, "maxSize": 9, "updateStrategy": {"maxUnavailable": 2}}, STAYS, STAYS, STAYS),
    ({"labels": {"tier": "web"}}, STAYS, ROLLS, ROLLS),
    ({"taints": ["a=b:NoSchedule"]}, STAYS, ROLLS, ROLLS),
    ({"ami": OTHER_IMAGE}, REPLACED, ROLLS, ROLLS),
    ({"diskSize": 80}, ROLLS, ROLLS, ROLLS),
    ({"imdsHopLimit": 2}, ROLLS, ROLLS, ROLLS),
    ({"maxPods": 20}, ROLLS, ROLLS, ROLLS),
    ({"capacityReservation": "capacity-reservations-only"}, ROLLS, ROLLS, ROLLS),
    ({"placementGroup": "fast"}, ROLLS, ROLLS, ROLLS),
    ({"bootstrap": {"preBootstrap": "echo"}}, ROLLS, ROLLS, ROLLS),
    ({"kubelet": {"evictionHard": {"memory.available": "300Mi"}}}, ROLLS, ROLLS, ROLLS),
    ({"instanceTypes": ["c7g.large"]}, REPLACED, REPLACED, ROLLS),
    ({"capacityType": "spot"}, REPLACED, REPLACED, ROLLS),
    ({"amiFamily": "Bottlerocket"}, REPLACED, ROLLS, ROLLS),
    ({"zones": ["eu-west-1a"]}, REPLACED, REPLACED, STAYS),
    ({"kind": "self-managed"}, REPLACED, REPLACED, STAYS),
    ({"efa": True}, ROLLS, ROLLS, ROLLS),
)
ON_CLUSTER: Mapping[str, Any] = merged(EXISTING_CLUSTER, {"nodeGroups": BASE["nodeGroups"]})
"""Half as many resources as a stack with a cluster of its own has."""
OF_STACKS: Sequence[tuple[Mapping[str, Any], dict[str, Any], Outcome, Outcome, Outcome]] = (
    (ON_CLUSTER, {"arm64Taint": "arm=yes:NoSchedule"}, STAYS, ROLLS, ROLLS),
    (ON_CLUSTER, {"arm64Taint": "none"}, ROLLS, ROLLS, ROLLS),
    (ON_CLUSTER, {"nodeGroups": {"managed": {"ami": {"release": "1.35.2-20260901"}}}}, ROLLS, STAYS, STAYS),
    (ON_CLUSTER, {"registryMirrors": {"docker.io": ["https://mirror.example.com"]}}, ROLLS, ROLLS, ROLLS),
    (ON_CLUSTER, {"owner": "other@example.com"}, ROLLS, ROLLS, ROLLS),
    (ON_CLUSTER, {"iam": {"roles": ROLES}}, REPLACED, REPLACED, STAYS),
    (BASE, {"addons": {"vpcCni": {"prefixDelegation": True}}}, ROLLS, ROLLS, ROLLS),
    (BASE, {"network": {"podCidr": "100.64.0.0/16"}}, ROLLS, ROLLS, ROLLS),
    (BASE, {"kubernetesVersion": "1.34"}, ROLLS, STAYS, STAYS),
    (BASE, {"network": {"zones": ["eu-west-1a", "eu-west-1b", "eu-west-1c"]}}, REPLACED, REPLACED, STAYS),
    (BASE, {"clusterName": "other"}, REPLACED, REPLACED, REPLACED),
    (BASE, {"logging": {"types": []}, "deletionProtection": False}, STAYS, STAYS, STAYS),
)


@pytest.mark.exhaustive
def test_the_plans_say_what_the_components_declare_for_a_group() -> None:
    """One stack has three groups for each edit."""
    rows = [(f"{kind}-{at}", kind, row) for at, row in enumerate(OF_GROUPS) for kind in KINDS]
    groups = {name: {**KINDS[kind], **LARGE} if "efa" in row[0] else KINDS[kind] for name, kind, row in rows}
    old = {**ZONES, "nodeGroups": {"web-arm": None, **groups}}
    new = merged(old, {"nodeGroups": {name: row[0] for name, _, row in rows}})
    expected = {name: row[1 + [*KINDS].index(kind)] for name, kind, row in rows}
    found, worlds = outcomes(old, new), (world(old), world(new))
    assert {name: found[name].outcome for name in expected} == expected
    assert {name: declared(*worlds, name) for name in expected} == expected


@pytest.mark.exhaustive
def test_the_plans_say_what_the_components_declare_for_a_stack() -> None:
    for base, words, *outcome in OF_STACKS:
        expected, new = dict(zip(KINDS, outcome, strict=True)), merged(base, words)
        found, worlds = outcomes(base, new), (world(base), world(new))
        assert {name: found[name].outcome for name in expected} == expected, words
        assert {name: declared(*worlds, name) for name in expected} == expected, words


def test_every_field_of_a_plan_is_judged_or_changes_no_node() -> None:
    """A new field of node groups needs a row, or a place in the list here."""
    read: set[str] = set()
    group = plan({"nodeGroups": {"web": {"maxPods": 20}}}).node_groups[0]

    class Asked:
        def __getattr__(self, name: str) -> object:
            read.add(name)
            return getattr(group, name)

    for _, of in planned_rolls._ROWS:  # noqa: SLF001  (the table itself)
        of(cast("NodeGroupPlan", Asked()))
    of_cluster_or_network = {"launch_template_prefix", "name_prefix", "zones"}
    no_node = {"derived", "name", "node_repair", "path", "sizes", "update"}
    assert read | of_cluster_or_network | no_node == {each.name for each in fields(NodeGroupPlan)}


@pytest.mark.parametrize(
    ("strategy", "managed", "own"),
    [
        ({"maxUnavailable": 2}, "2 at a time", "at least 60 % stay in service"),
        ({"maxUnavailablePercentage": 40}, "40 % of them at a time", "at least 60 % stay in service"),
    ],
)
def test_the_pace_is_that_of_the_update_strategy(strategy: dict[str, int], managed: str, own: str) -> None:
    words = merged(BASE, each(updateStrategy=strategy, maxSize=5))
    found = outcomes(words, merged(words, each(diskSize=80)))
    assert (found["managed"].pace, found["own"].pace) == (managed, own)


def test_what_others_than_the_file_decide_is_said_of_a_group_that_stays() -> None:
    words = {"nodeGroups": {"web": {"kind": "self-managed"}}}
    (found,) = (each for each in outcomes(words, words).values() if each.reasons)
    assert (found.kind, found.outcome, found.name) == (GroupKind.SELF_MANAGED, STAYS, "web")
    assert found.reasons[0].startswith("unless AWS has released another image")


@pytest.mark.parametrize(
    "words", [{"secretsEncryption": {"enabled": True}}, {"network": {"cidr": "10.9.0.0/16"}}], ids=["cluster", "vpc"]
)
def test_with_the_cluster_or_its_network_every_node_ends(words: dict[str, Any]) -> None:
    old = merged(pooled({"general": {}}), {"secretsEncryption": {"enabled": False}})
    found = outcomes(merged(old, words), old)
    assert {(each.outcome, each.pace) for each in found.values()} == {(REPLACED, "all at the same time")}
    assert {each.kind for each in found.values()} == {GroupKind.MANAGED, GroupKind.NODE_POOL}


@pytest.mark.parametrize(
    ("pool", "more", "pace", "reason"),
    [
        ({"budget": "2", "expireAfter": "24h"}, {}, "2 at a time", "expireAfter 720h → 24h"),
        ({"minGeneration": 7}, {}, "at most 10% of them", "nodes that no longer"),
        ({}, {"imdsHopLimit": 2}, "at most 10% of them", "EC2NodeClass default: metadataOptions"),
        ({"cpuLimit": 64}, {}, "", ""),
        ({}, {"capacityReservations": ["cr-01", "cr-03"]}, "at most 10% of them", "capacityReservationSelectorTerms"),
        ({}, {"capacityReservations": ["cr-01", "cr-02", "cr-03"]}, "", ""),
    ],
)
def test_node_pools_roll_within_their_budgets(
    pool: dict[str, Any], more: dict[str, Any], pace: str, reason: str
) -> None:
    held = (
        {"held": {"capacityTypes": ["reserved"], "architectures": ["arm64"], "instanceTypes": ["m7g.large"]}}
        if "cr-" in str(more)
        else {}
    )
    reserved = {"capacityReservations": ["cr-01", "cr-02"]} if held else {}
    old, new = (
        merged(pooled({"general": each, **held}), {"autoscaling": {"karpenter": settings}})
        for each, settings in (({}, reserved), (pool, more))
    )
    found = outcomes(old, new)
    pools = [each for each in found.values() if each.kind is GroupKind.NODE_POOL]
    assert {each.outcome for each in pools} == {ROLLS if pace else STAYS}
    assert all(each.pace.startswith(pace) and reason in " ".join(each.reasons) for each in pools)


def test_new_and_deleted_groups_are_named_with_their_successors() -> None:
    more = {"nodeGroups": {"batch": {"instanceTypes": ["m7i.large"], "capacityType": "spot"}}}
    other = {"nodeGroups": {"jobs": more["nodeGroups"]["batch"]}}
    found = outcomes(more, other)
    assert (found["jobs"].outcome, found["batch"].outcome) == (NEW, DELETED)
    assert found["batch"].reasons == ("batch is renamed to jobs",)
    assert NEW not in ENDING
    assert DELETED in ENDING
