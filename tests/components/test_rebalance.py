"""The CronJob that rebalances: objects, role and rights, and the order of coming and going."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from multiarch.rebalance.install.objects import build_objects
from tests.components import autoscaled, declared
from tests.components.declared import NO_NETWORK, PUBLIC, World, goes_before, world
from tests.stack.test_rebalance import rebalance
from tests.stack.test_webhook import IMAGE
from tests.stack.words import merged, plan

NAME = "multiarch-rebalance"
COMPONENT = "multiarch-eks:components:Rebalance"
CRON_JOB = "kubernetes:batch/v1:CronJob"
POLICY, BINDING = autoscaled.GUARD, autoscaled.GUARD_BINDING
RBAC = "kubernetes:rbac.authorization.k8s.io/v1"


def key(manifest: Mapping[str, Any]) -> tuple[str, str, str]:
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def objects(change: Mapping[str, Any] | None = None, **words: object) -> dict[tuple[str, str, str], Any]:
    """The objects of a stack's plan, by kind, namespace and name."""
    made = plan(merged(PUBLIC, {**rebalance(**words), **(change or {})}))
    assert made.rebalance is not None
    return {key(each): each for each in build_objects(made.rebalance, made.stack, made.arm64_taint)}


def pod_spec(found: Mapping[tuple[str, str, str], Any]) -> dict[str, Any]:
    return dict(found["CronJob", NAME, NAME]["spec"]["jobTemplate"]["spec"]["template"]["spec"])


def list_rules(found: Mapping[tuple[str, str, str], Any], kind: str) -> list[tuple[str, dict[str, Any]]]:
    """Rules of the roles of a kind, each with its role's namespace."""
    return [(place, rule) for (own, place, _), role in found.items() if own == kind for rule in role["rules"]]


def test_its_objects_are_those_that_are_listed(installing: World) -> None:
    wanted = objects(NO_NETWORK)
    (component,) = installing.all(COMPONENT)
    own = {
        key(each.inputs): each.inputs
        for each in installing.resources
        if each.parent == component.urn and each.type.startswith("kubernetes:") and "credentials" not in each.name
    }
    assert own.keys() == wanted.keys()
    for name, each in own.items():
        assert each == json.loads(json.dumps(wanted[name])), name


def test_its_run_reads_the_stack_and_has_the_settings_as_arguments() -> None:
    words = {
        "maxPods": 5,
        "memoryMib": 1024,
        "pace": "2m",
        "namespaces": ["shop", "pay"],
        "quietHours": {"schedule": "0 8 * * mon-fri", "duration": "10h"},
    }
    found = objects({"arm64Taint": "cpu=graviton:NoSchedule"}, **words)
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
    data = found["ConfigMap", NAME, NAME]["data"]
    assert "cpu=graviton:NoSchedule" in data["Pulumi.shop-dev.yaml"]


def test_a_dry_run_can_change_nothing() -> None:
    found = objects(dryRun=True)
    assert "--apply" not in pod_spec(found)["containers"][0]["args"]
    rules = [rule for kind in ("ClusterRole", "Role") for _, rule in list_rules(found, kind)]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list"}


def test_with_namespaces_it_may_evict_there_alone() -> None:
    found = objects(namespaces=["shop"])
    assert not [rule for _, rule in list_rules(found, "ClusterRole") if "pods/eviction" in rule["resources"]]
    assert [place for place, rule in list_rules(found, "Role") if "pods/eviction" in rule["resources"]] == ["shop"]


def test_it_reads_the_listed_secrets_alone() -> None:
    found = objects(pullSecrets=["b/x", "a/y", "a/z"])
    rules = {place: rule for place, rule in list_rules(found, "Role") if "secrets" in rule["resources"]}
    assert {place: (rule["resourceNames"], rule["verbs"]) for place, rule in rules.items()} == {
        "a": (["y", "z"], ["get"]),
        "b": (["x"], ["get"]),
    }
    assert not [rule for _, rule in list_rules(found, "ClusterRole") if "secrets" in rule["resources"]]


def test_without_ecr_it_has_no_role() -> None:
    found = world({**PUBLIC, **NO_NETWORK, **rebalance(ecrRepositories=[])})
    assert not found.all(autoscaled.ASSOCIATION)
    assert {each.name for each in found.all(POLICY)} == {f"{NAME}-nodes", f"{NAME}-leases"}
    assert NAME not in {role.name for role in found.all(declared.ROLE)}


def test_the_job_comes_last_and_the_policy_before_the_rights(installing: World) -> None:
    found = installing
    job, rights = found.one(CRON_JOB), found.one(f"{RBAC}:ClusterRoleBinding", NAME)
    policy = found.one(BINDING, f"{NAME}-nodes")
    needed = [
        rights,
        policy,
        found.one("kubernetes:core/v1:ConfigMap", NAME),
        found.one("kubernetes:networking.k8s.io/v1:NetworkPolicy", NAME),
    ]
    for each in needed:
        assert goes_before(found, job, each), each.urn
    assert goes_before(found, rights, policy)
