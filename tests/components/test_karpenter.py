"""Karpenter: charts and values, rights, queue and rules, what it finds by tags, and an order that does not hang."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from multiarch.autoscaling.model import Autoscaler
from multiarch.observed.resources.declared import DeclaredResource
from multiarch.simulate.shapes import build_pool_shape
from tests.components import autoscaled, declared
from tests.components.declared import World, goes_before, is_component, list_outliving
from tests.stack.words import merged

CRDS, CONTROLLER = "karpenter-crd", "karpenter"
SUBNETS = ["subnet-0aaaaaaaaaaaaaaa1", "subnet-0aaaaaaaaaaaaaaa2"]
EXISTING = {"network": {"vpcId": "vpc-0123456789abcdef0", "privateSubnetIds": SUBNETS}}
ARM64_TOLERATION = {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}


def values(found: World) -> dict[str, Any]:
    release: Any = found.inputs(autoscaled.RELEASE, CONTROLLER)
    return dict(release["values"])


@pytest.fixture(scope="module")
def other() -> World:
    """Karpenter with all that can be set, on subnets that are there already."""
    node_class = replace(autoscaled.KARPENTER.node_class, custom_networking=True, subnet_ids=tuple(SUBNETS))
    wanted = autoscaled.set_karpenter(service_monitor=True, spot_to_spot_consolidation=True)
    plan = replace(wanted, node_class=node_class, isolated=True)
    change = merged(EXISTING, {"nodeGroups": {"web": {"taints": ["dedicated=system:NoSchedule"]}}})
    return autoscaled.world(replace(autoscaled.autoscaling(karpenter=True), karpenter=plan), change)


def test_the_controllers_values_follow_the_plan(with_karpenter: World, other: World) -> None:
    usual, found = values(with_karpenter), values(other)
    critical = {"key": "CriticalAddonsOnly", "operator": "Exists"}
    assert usual["tolerations"] == [critical, ARM64_TOLERATION]
    group = {"key": "dedicated", "operator": "Equal", "value": "system", "effect": "NoSchedule"}
    assert found["tolerations"] == [critical, ARM64_TOLERATION, group]
    assert (usual["serviceMonitor"], found["serviceMonitor"]) == ({"enabled": False}, {"enabled": True})
    gates = [each["settings"]["featureGates"] for each in (usual, found)]
    assert gates == [{"spotToSpotConsolidation": False}, {"spotToSpotConsolidation": True}]
    # Where pods have subnets of their own, the primary interface is not counted.
    assert ("reservedENIs" in usual["settings"], found["settings"]["reservedENIs"]) == (False, "1")
    pool, node_class = autoscaled.KARPENTER.pools[0], autoscaled.KARPENTER.node_class
    instance_type = pool.instance_types[0]
    with_all, without_primary = (
        build_pool_shape(pool, each, instance_type, ()).allocatable.pods
        for each in (node_class, replace(node_class, custom_networking=True))
    )
    assert with_all - without_primary == instance_type.ipv4_per_eni - 1


def test_six_policies_are_kept_apart_and_each_fits_iams_limit(with_karpenter: World) -> None:
    policies = {policy.name: str(policy.inputs["policy"]) for policy in with_karpenter.all(autoscaled.POLICY)}
    assert len(policies) == 6
    for name, text in policies.items():
        assert len("".join(text.split())) <= 6144, name
    role = f"{with_karpenter.inputs(declared.ROLE, CONTROLLER)['namePrefix']}RENDERED"
    attached = {a.inputs["policyArn"] for a in with_karpenter.all(declared.ATTACHMENT) if a.inputs["role"] == role}
    assert attached == {f"arn:aws:iam::111122223333:<Policy:{name}>" for name in policies}


def test_roles_are_for_the_controllers_service_account_and_for_nodes_that_write_session_logs(
    with_karpenter: World,
) -> None:
    association = with_karpenter.inputs(autoscaled.ASSOCIATION, CONTROLLER)
    assert (association["namespace"], association["serviceAccount"]) == ("kube-system", "karpenter")
    assert values(with_karpenter)["serviceAccount"] == {"create": True, "name": "karpenter"}
    role = f"{with_karpenter.inputs(declared.ROLE, 'karpenter-nodes')['namePrefix']}RENDERED"
    assert len([each for each in with_karpenter.all(declared.ATTACHMENT) if each.inputs["role"] == role]) == 4
    assert with_karpenter.one(declared.ROLE_POLICY, "karpenter-nodes-session-logs").inputs["role"] == role
    entry = with_karpenter.inputs(declared.ACCESS_ENTRY, "karpenter-nodes")
    assert entry["type"] == "EC2_LINUX"
    assert entry["principalArn"].endswith("<Role:karpenter-nodes>")
    assert "karpenter-nodes" not in {profile.name for profile in with_karpenter.all(declared.PROFILE)}


def test_a_controller_that_cannot_reach_iam_gets_an_instance_profile_and_no_rights_to_make_one(other: World) -> None:
    profile = other.inputs(declared.PROFILE, "karpenter-nodes")
    assert profile["role"] == f"{other.inputs(declared.ROLE, 'karpenter-nodes')['namePrefix']}RENDERED"
    spec: Any = other.inputs(autoscaled.NODE_CLASS)["spec"]
    assert (spec["instanceProfile"], "role" in spec) == (f"{profile['namePrefix']}RENDERED", False)
    assert values(other)["settings"]["isolatedVPC"] is True
    granted = " ".join(str(policy.inputs["policy"]) for policy in other.all(autoscaled.POLICY))
    assert "iam:PassRole" in granted
    assert "InstanceProfile" not in granted
    assert "pricing:" not in granted


def test_five_rules_alone_send_to_an_encrypted_queue_that_keeps_messages_for_five_minutes(
    with_karpenter: World,
) -> None:
    queue = with_karpenter.inputs(autoscaled.QUEUE)
    assert (queue["messageRetentionSeconds"], queue["sqsManagedSseEnabled"]) == (300, True)
    policy = json.loads(with_karpenter.inputs(autoscaled.QUEUE_POLICY)["policy"])
    allow, deny = policy["Statement"]
    arn = "arn:aws:sqs:eu-west-1:111122223333:shop-dev-karpenter"
    assert {allow["Resource"], deny["Resource"]} == {arn}
    rules = {rule.name: str(rule.inputs["namePrefix"]) for rule in with_karpenter.all(autoscaled.RULE)}
    assert len(rules) == 5
    senders = sorted(f"arn:aws:events:eu-west-1:111122223333:rule/{prefix}*" for prefix in rules.values())
    assert allow["Condition"]["ArnLike"]["aws:SourceArn"] == senders
    targets = {target.name: target.inputs for target in with_karpenter.all(autoscaled.TARGET)}
    assert {name: (each["arn"], each["rule"]) for name, each in targets.items()} == {
        name: (arn, f"{prefix}RENDERED") for name, prefix in rules.items()
    }


def test_private_subnets_of_a_new_network_and_the_security_group_can_be_found(with_karpenter: World) -> None:
    for subnet in with_karpenter.all(declared.SUBNET):
        tags: Any = subnet.inputs["tags"]
        assert tags.get("karpenter.sh/discovery") == ("shop-dev" if subnet.name.startswith("private") else None)
    tags = [tag.inputs for tag in with_karpenter.all(autoscaled.EC2_TAG)]
    assert tags == [
        {
            "resourceId": "<SecurityGroup:cluster, made by EKS>",
            "key": "karpenter.sh/discovery",
            "value": "shop-dev",
        }
    ]


def test_the_node_class_launches_with_the_declared_role_where_the_tags_or_the_plans_ids_are(
    with_karpenter: World, other: World
) -> None:
    node_class = with_karpenter.inputs(autoscaled.NODE_CLASS)
    spec = node_class["spec"]
    assert spec["role"] == f"{with_karpenter.inputs(declared.ROLE, 'karpenter-nodes')['namePrefix']}RENDERED"
    wanted = [{"tags": {"karpenter.sh/discovery": "shop-dev"}}]
    assert spec["subnetSelectorTerms"] == spec["securityGroupSelectorTerms"] == wanted
    assert dict(with_karpenter.plan.tags).items() <= spec["tags"].items()
    # Subnets of an existing network are named, and left alone.
    (tag,) = other.all(autoscaled.EC2_TAG)
    assert tag.inputs["resourceId"] == "<SecurityGroup:cluster, made by EKS>"
    assert goes_before(other, other.one(autoscaled.NODE_CLASS), tag)
    spec = other.inputs(autoscaled.NODE_CLASS)["spec"]
    assert spec["subnetSelectorTerms"] == [{"id": subnet} for subnet in SUBNETS]
    assert spec["securityGroupSelectorTerms"] == wanted


def test_there_is_a_node_pool_for_each_of_the_plans_with_its_weight(with_karpenter: World) -> None:
    pools: list[Any] = [pool.inputs for pool in with_karpenter.all(autoscaled.NODE_POOL)]
    assert {pool["metadata"]["name"]: pool["spec"]["weight"] for pool in pools} == {
        "general-arm64-spot": 90,
        "general-amd64-on-demand": 30,
    }
    name = with_karpenter.inputs(autoscaled.NODE_CLASS)["metadata"]["name"]
    for pool in pools:
        reference = pool["spec"]["template"]["spec"]["nodeClassRef"]
        assert reference == {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": name}


def chain(found: World) -> list[list[DeclaredResource]]:
    """What goes first, then second, and so on, when a stack is destroyed."""
    return [
        found.all(autoscaled.NODE_POOL),
        found.all(autoscaled.NODE_CLASS),
        [found.one(autoscaled.RELEASE, CONTROLLER)],
        [found.one(autoscaled.RELEASE, CRDS)],
        [*found.all(declared.MANAGED), *found.all(declared.SCALING_GROUP)],
        [found.one(declared.CLUSTER)],
    ]


def test_destroy_takes_pools_then_class_then_controller_then_crds_then_nodes(with_karpenter: World) -> None:
    steps = chain(with_karpenter)
    assert [len(step) for step in steps] == [2, 1, 1, 1, 3, 1]
    for earlier, later in pairwise(steps):
        for first in earlier:
            for second in later:
                assert goes_before(with_karpenter, first, second), (first.urn, second.urn)
                assert not goes_before(with_karpenter, second, first), (first.urn, second.urn)


def test_destroy_leaves_the_controller_what_it_ends_nodes_with(with_karpenter: World) -> None:
    role = f"{with_karpenter.inputs(declared.ROLE, CONTROLLER)['namePrefix']}RENDERED"
    rights = {a.urn for a in with_karpenter.all(declared.ATTACHMENT) if a.inputs["role"] == role}
    assert len(rights) == 6
    # Pods get the role once it has its rights, and keep it as long.
    assert rights <= list_outliving(with_karpenter, with_karpenter.one(autoscaled.ASSOCIATION, CONTROLLER))
    events = (autoscaled.RULE, autoscaled.TARGET, autoscaled.QUEUE, autoscaled.QUEUE_POLICY)
    kept = {each.urn for each in with_karpenter.resources if each.type in (*events, autoscaled.POLICY, declared.ROUTE)}
    assert rights | kept <= list_outliving(with_karpenter, with_karpenter.one(autoscaled.RELEASE, CONTROLLER))


def test_destroy_leaves_karpenters_nodes_their_rights_until_they_are_gone(with_karpenter: World) -> None:
    node_class = with_karpenter.one(autoscaled.NODE_CLASS)
    rights = [
        *(a for a in with_karpenter.all(declared.ATTACHMENT) if a.name.startswith("karpenter-nodes-")),
        with_karpenter.one(declared.ROLE_POLICY, "karpenter-nodes-session-logs"),
        with_karpenter.one(declared.ACCESS_ENTRY, "karpenter-nodes"),
        *with_karpenter.all(autoscaled.EC2_TAG),
    ]
    assert len(rights) == 4 + 1 + 1 + 1
    for thing in rights:
        assert goes_before(with_karpenter, node_class, thing), thing.urn


def test_while_a_stack_moves_both_are_there_and_neither_waits_for_the_other(migrating: World) -> None:
    assert migrating.plan.autoscaling.use is Autoscaler.KARPENTER
    releases = {release.name: release for release in migrating.all(autoscaled.RELEASE)}
    assert set(releases) == {"cluster-autoscaler", CRDS, CONTROLLER}
    old = releases["cluster-autoscaler"]
    for new in (releases[CRDS], releases[CONTROLLER], *migrating.all(autoscaled.NODE_POOL)):
        assert not goes_before(migrating, old, new)
        assert not goes_before(migrating, new, old)


def test_pools_are_closed_once_the_autoscaler_that_takes_over_is_there() -> None:
    both = autoscaled.autoscaling(cluster_autoscaler=True, karpenter=True)
    leaving = replace(both, use=Autoscaler.CLUSTER_AUTOSCALER, karpenter=replace(autoscaled.KARPENTER, cordoned=True))
    found = autoscaled.world(leaving)
    new = found.one(autoscaled.RELEASE, "cluster-autoscaler")
    pools = found.all(autoscaled.NODE_POOL)
    assert len(pools) == 2
    for pool in pools:
        assert new.urn in pool.dependencies
    # Nothing else of Karpenter waits: its controller goes on as it is.
    for old in (found.one(autoscaled.RELEASE, CONTROLLER), *found.all(autoscaled.NODE_CLASS)):
        assert not goes_before(found, old, new)


def test_the_old_autoscaler_goes_without_touching_the_new_ones_resources(
    migrating: World, with_karpenter: World
) -> None:
    def custom(found: World) -> dict[str, Any]:
        return {resource.urn: resource.inputs for resource in found.resources if not is_component(resource)}

    before, after = custom(migrating), custom(with_karpenter)
    changed = {urn for urn in after if before.get(urn) != after[urn]}
    # A self-managed group carries its tags itself.
    assert changed == {with_karpenter.one(declared.SCALING_GROUP, "own-arm").urn}
    gone = {urn.split("$")[-1].split("::")[0] for urn in set(before) - set(after)}
    assert gone == {
        autoscaled.RELEASE,
        autoscaled.ASSOCIATION,
        autoscaled.GROUP_TAG,
        autoscaled.GUARD,
        autoscaled.GUARD_BINDING,
        declared.ROLE,
        declared.ROLE_POLICY,
    }
