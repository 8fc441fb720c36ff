"""The CronJob that rebalances: objects, role and rights, and the order of coming and going."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from multiarch.rebalance.install.objects import build_objects
from tests.components import autoscaled, declared
from tests.components.declared import World, goes_before, world
from tests.components.test_admission_webhook import PUBLIC, key
from tests.stack.test_rebalance import rebalance
from tests.stack.test_webhook import IMAGE
from tests.stack.words import merged

NAME = "multiarch-rebalance"
COMPONENT = "multiarch-eks:components:Rebalance"
CRON_JOB = "kubernetes:batch/v1:CronJob"
POLICY, BINDING = autoscaled.GUARD, autoscaled.GUARD_BINDING
RBAC = "kubernetes:rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def found() -> World:
    return world(merged(PUBLIC, rebalance()))


def pod_spec(found: World) -> dict[str, Any]:
    spec: Any = found.inputs(CRON_JOB, NAME)["spec"]
    return dict(spec["jobTemplate"]["spec"]["template"]["spec"])


def roles(found: World, kind: str) -> list[dict[str, Any]]:
    return [dict(each.inputs) for each in found.all(f"{RBAC}:{kind}")]


def test_its_objects_are_those_that_are_listed(found: World) -> None:
    plan = found.plan
    assert plan.rebalance is not None
    wanted = {key(each): each for each in build_objects(plan.rebalance, plan.stack, plan.arm64_taint)}
    (component,) = found.all(COMPONENT)
    own = [
        deepcopy(dict(each.inputs))
        for each in found.resources
        if each.parent == component.urn and each.type.startswith("kubernetes:") and "credentials" not in each.name
    ]
    assert {key(each) for each in own} == wanted.keys()
    for each in own:
        assert each == json.loads(json.dumps(wanted[key(each)])), key(each)


def test_its_run_reads_the_stack_and_has_the_settings_as_arguments() -> None:
    words = {
        "maxPods": 5,
        "memoryMib": 1024,
        "pace": "2m",
        "namespaces": ["shop", "pay"],
        "quietHours": {"schedule": "0 8 * * mon-fri", "duration": "10h"},
    }
    change = merged(PUBLIC, rebalance(**words)) | {"arm64Taint": "cpu=graviton:NoSchedule"}
    found = world(change)
    spec = pod_spec(found)
    (container,) = spec["containers"]
    assert container["image"] == IMAGE
    assert container["args"][:2] == ["rebalance", "/etc/multiarch/stack/Pulumi.shop-dev.yaml"]
    assert {"--apply", "--max-pods=5", "--pace=2m", "--namespace=pay", "--namespace=shop"} <= set(container["args"])
    assert "--quiet-hours=0 8 * * mon-fri 10h" in container["args"]
    assert (container["resources"]["limits"], container["resources"]["requests"]["memory"]) == (
        {"memory": "1024Mi"},
        "1024Mi",
    )
    assert [each["key"] for each in spec["tolerations"]] == ["cpu"]
    data: Any = found.inputs("kubernetes:core/v1:ConfigMap", NAME)["data"]
    assert "cpu=graviton:NoSchedule" in data["Pulumi.shop-dev.yaml"]


def test_a_dry_run_can_change_nothing() -> None:
    found = world(merged(PUBLIC, rebalance(dryRun=True)))
    assert "--apply" not in pod_spec(found)["containers"][0]["args"]
    rules = [rule for kind in ("ClusterRole", "Role") for role in roles(found, kind) for rule in role["rules"]]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list"}


def test_with_namespaces_it_may_evict_there_alone() -> None:
    found = world(merged(PUBLIC, rebalance(namespaces=["shop"])))

    def evicting(kind: str) -> list[dict[str, Any]]:
        return [
            role for role in roles(found, kind) if any("pods/eviction" in rule["resources"] for rule in role["rules"])
        ]

    assert evicting("ClusterRole") == []
    (role,) = evicting("Role")
    assert role["metadata"]["namespace"] == "shop"


def test_it_reads_the_listed_secrets_alone() -> None:
    found = world(merged(PUBLIC, rebalance(pullSecrets=["b/x", "a/y", "a/z"])))
    rules = {
        role["metadata"]["namespace"]: rule
        for role in roles(found, "Role")
        for rule in role["rules"]
        if "secrets" in rule["resources"]
    }
    assert {place: (rule["resourceNames"], rule["verbs"]) for place, rule in rules.items()} == {
        "a": (["y", "z"], ["get"]),
        "b": (["x"], ["get"]),
    }
    for role in roles(found, "ClusterRole"):
        assert not any("secrets" in rule["resources"] for rule in role["rules"])


def test_without_ecr_it_has_no_role() -> None:
    found = world(merged(PUBLIC, rebalance(ecrRepositories=[])))
    assert not found.all(autoscaled.ASSOCIATION)
    assert {each.name for each in found.all(POLICY)} == {f"{NAME}-nodes", f"{NAME}-leases"}
    assert NAME not in {role.name for role in found.all(declared.ROLE)}


def test_the_job_comes_last_and_the_policy_before_the_rights(found: World) -> None:
    job, rights = found.one(CRON_JOB), found.one(f"{RBAC}:ClusterRoleBinding", NAME)
    policy = found.one(BINDING, f"{NAME}-nodes")
    needed = [
        rights,
        policy,
        found.one(autoscaled.ASSOCIATION),
        found.one("kubernetes:core/v1:ConfigMap", NAME),
        found.one("kubernetes:networking.k8s.io/v1:NetworkPolicy", NAME),
        *found.all(declared.MANAGED),
    ]
    for each in needed:
        assert goes_before(found, job, each), each.urn
    assert goes_before(found, rights, policy)
