"""A review meets resources of other programs and newer providers: no part of it fails for an unknown shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from multiarch.observed.resources.paths import SECRET, UNKNOWN
from multiarch.review.digest import build_digest
from multiarch.review.model import Operation, Step
from tests.review.by_hand import (
    ADD_ON,
    CLUSTER,
    EC2_NODE_CLASS,
    GROUP,
    MANAGED,
    NODE_CLASS,
    NODE_POOL,
    POOL,
    RELEASE,
    SCALING_GROUP,
    SELF_MANAGED,
    TEMPLATE,
    change,
    made,
)

BASES: Mapping[str, Mapping[str, Any]] = {
    GROUP: MANAGED,
    SCALING_GROUP: SELF_MANAGED,
    POOL: NODE_POOL,
    NODE_CLASS: EC2_NODE_CLASS,
    CLUSTER: {"version": "1.35"},
    ADD_ON: {"addonVersion": "v1.21.1-eksbuild.1"},
    RELEASE: {
        "version": "1.14.1",
        "values": {"expanderPriorities": "10:\n  - web\n", "extraArgs": {"scale-down-unneeded-time": "10m"}},
    },
    TEMPLATE: {"imageId": "ami-1", "userData": "YQ=="},
    "aws:iam/role:Role": {"name": "web", "assumeRolePolicy": '{"Statement": []}', "inlinePolicies": []},
    "aws:rds/instance:Instance": {"identifier": "db", "skipFinalSnapshot": True, "instanceClass": "db.m7g.large"},
    "kubernetes:apps/v1:StatefulSet": {"metadata": {"name": "db", "namespace": "shop"}, "spec": {"replicas": 3}},
    "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole": {"metadata": {"name": "web"}, "rules": []},
}
JSON = st.recursive(
    st.sampled_from([None, True, 0, 3, -1, 1.5, "", "x", "1.36", "0", SECRET, UNKNOWN, "10:\n  - '('\n", "v9.9.9"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["key", "values", "nodes", "x"]), inner)
    ),
    max_leaves=4,
)


def places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every path in a value."""
    if path:
        yield path
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield from places(below, (*path, key))


def with_value(base: Mapping[str, Any], path: tuple[str | int, ...], value: object) -> dict[str, Any]:
    changed: Any = deepcopy(dict(base))
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed  # type: ignore[no-any-return]


@st.composite
def mutated(draw: st.DrawFn, base: Mapping[str, Any]) -> dict[str, Any]:
    return with_value(base, draw(st.sampled_from(list(places(base)))), draw(JSON))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_shape_of_a_resource_makes_a_finder_fail(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(BASES)))
    base = BASES[kind]
    old = data.draw(st.none() | st.just(base) | mutated(base))
    new = data.draw(st.none() | st.just(base) | mutated(base)) if old is not None else base
    replaced = Operation.REPLACE if old is not None and new is not None and data.draw(st.booleans()) else None
    name = data.draw(st.sampled_from(["web", "karpenter", "cluster-autoscaler"]))
    assert_readable(made(kind, name, old, new, operation=replaced))


def test_values_of_a_requirement_may_be_no_list() -> None:
    values = ("spec", "template", "spec", "requirements", 0, "values")
    assert_readable(made(POOL, "web", NODE_POOL, with_value(NODE_POOL, values, value=True)))


def assert_readable(step: Step) -> None:
    others = [made(GROUP, "other", MANAGED, MANAGED), made(POOL, "other", NODE_POOL, NODE_POOL)]
    (reviewed,) = build_digest([change(step, *others)]).stacks
    for finding in reviewed.entries:
        assert finding.rule.name != "unreadable-value", finding
        assert UNKNOWN not in str((finding.subject, finding.text, finding.details))
