"""What a run may do: read what it decides by, evict pods, and make nodes unschedulable while it does."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.facts.rebalance import LEASE, LEASE_NAMESPACE, PLACEHOLDER_NAMESPACE
from multiarch.manifests import restricted
from multiarch.rebalance.install.names import NAME, NAMESPACE, Object, metadata
from multiarch.stack.model import RebalancePlan

_RULES: list[Object] = [
    {"apiGroups": [""], "resources": ["nodes", "pods", "replicationcontrollers"], "verbs": ["get", "list"]},
    {"apiGroups": ["apps"], "resources": ["replicasets", "statefulsets"], "verbs": ["get", "list"]},
    {"apiGroups": ["apps"], "resources": ["daemonsets"], "verbs": ["list"]},
    {"apiGroups": ["policy"], "resources": ["poddisruptionbudgets"], "verbs": ["list"]},
    # They name the pull secrets of their pods' images.
    {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["list"]},
]
_NAMESPACES: list[Object] = [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}]
"""To refuse a namespace that does not exist."""
_NODES: list[Object] = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["patch"]}]
_LEASE: list[Object] = [
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "resourceNames": [LEASE],
        "verbs": ["get", "patch"],
    },
]
"""RBAC can't limit ``create`` to a name: :mod:`multiarch.rebalance.install.policy` does."""
_PLACEHOLDERS: list[Object] = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "delete"]}]
_EVICTIONS: list[Object] = [{"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}]


def roles(plan: RebalancePlan) -> Iterator[Object]:
    """Roles and bindings: evictions only in the plan's namespaces, Secrets only those that it names."""
    everywhere = [*_RULES, *(_NAMESPACES if plan.namespaces else []), *([] if plan.dry_run else _NODES)]
    if not plan.dry_run and not plan.namespaces:
        everywhere += _EVICTIONS
    yield from _granted(NAME, None, everywhere)
    if not plan.dry_run:
        yield from _granted(NAME, LEASE_NAMESPACE, _LEASE)
        yield from _granted(f"{NAME}-placeholders", PLACEHOLDER_NAMESPACE, _PLACEHOLDERS)
    for each in () if plan.dry_run else plan.namespaces:
        yield from _granted(f"{NAME}-evictions", each, _EVICTIONS)
    by_namespace: dict[str, list[str]] = {}
    for secret in plan.pull_secrets:
        place, _, name = secret.partition("/")
        by_namespace.setdefault(place, []).append(name)
    for place, names in by_namespace.items():
        rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": names, "verbs": ["get"]}
        yield from _granted(f"{NAME}-pull-secrets", place, [rule])


def _granted(name: str, namespace: str | None, rules: list[Object]) -> Iterator[Object]:
    return restricted.granted(metadata(name, namespace), rules, NAME, NAMESPACE)
