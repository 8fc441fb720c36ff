"""The priority expander: what it is given for any set of groups, and every sentence of its documentation."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from multiarch.autoscaling.expander import (
    CORDONED_PRIORITY,
    format_priorities,
    get_group_regex,
    plan_priorities,
)
from multiarch.autoscaling.model import Capacity, Priority, order_capacities, parse_capacity
from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import CapacityType, NodeGroupKind, NodeGroupPlan
from tests.autoscaling.chosen import chosen
from tests.nodes.builders import node_group
from tests.stack.words import plan

# Names that are each other's beginnings and ends, look like suffixes or like parts of a UUID, come first.
NEAR = ["api", "api-arm", "api-arm64", "arm", "eks", "eks-api", "api-0", "api-beef", "api-2026", "a",
        "api-20260715093000123400000001", "api-0-11111111-1111-1111-1111"]  # fmt: skip
NAMES = st.one_of(
    st.sampled_from(NEAR), st.from_regex(r"[a-z][a-z0-9]{0,6}(-[a-f0-9]{1,8}){0,4}", fullmatch=True)
).filter(lambda name: len(name) <= 36)
KINDS = st.tuples(
    st.sampled_from(list(NodeGroupKind)),
    st.sampled_from([CapacityType.ON_DEMAND, CapacityType.SPOT]),
    st.sampled_from(list(Architecture)),
)
GROUPS = st.dictionaries(NAMES, KINDS, min_size=1, max_size=6)
CLUSTERS = st.sampled_from(["eks", "shop-dev", "eks-api", "a", "Shop_1"])
UUID = "2cc8f0b5-5c5d-4a1b-9d35-0a1b2c3d4e5f"
SUFFIXES = st.sampled_from(["20260715093000123400000001", "20261121000000000000000abc", "3f9a2c1"])


def asg_name(group: NodeGroupPlan, suffix: str) -> str:
    """The name that AWS and the provider give a group's Auto Scaling Group."""
    own = f"{group.name_prefix}{suffix}"
    return f"eks-{own}-{UUID}" if group.kind == "managed" else own


def group(
    name: str, cluster: str, kind: NodeGroupKind, capacity: CapacityType, architecture: Architecture
) -> NodeGroupPlan:
    """A group's plan with the name's prefix as planning makes it; a test below holds the two together."""
    prefix = f"{name}-" if kind is NodeGroupKind.MANAGED else f"{cluster}-{name}-"
    made = node_group(architecture=architecture)
    return replace(made, name=name, name_prefix=prefix, kind=kind, capacity_type=capacity)


def groups_of(
    words: dict[str, tuple[NodeGroupKind, CapacityType, Architecture]], cluster: str
) -> tuple[NodeGroupPlan, ...]:
    return tuple(group(name, cluster, *row) for name, row in sorted(words.items()))


def test_these_groups_are_named_as_planned_ones_are() -> None:
    planned = plan({"nodeGroups": {"web": {"kind": "self-managed"}}}).node_groups
    rows = {"web": (NodeGroupKind.SELF_MANAGED, CapacityType.ON_DEMAND, Architecture.AMD64),
            "web-arm": (NodeGroupKind.MANAGED, CapacityType.ON_DEMAND, Architecture.ARM64)}  # fmt: skip
    assert [each.name_prefix for each in groups_of(rows, "shop-dev")] == [each.name_prefix for each in planned]


@settings(max_examples=150, deadline=None)
@given(GROUPS, CLUSTERS, SUFFIXES)
def test_every_group_is_matched_by_its_own_expression_and_no_other(
    words: dict[str, tuple[NodeGroupKind, CapacityType, Architecture]], cluster: str, suffix: str
) -> None:
    groups = groups_of(words, cluster)
    for each in groups:
        name = asg_name(each, suffix)
        assert [other.name for other in groups if re.search(get_group_regex(other), name, re.ASCII)] == [each.name]


@settings(max_examples=100, deadline=None)
@given(GROUPS, CLUSTERS, SUFFIXES)
def test_the_expander_keeps_exactly_the_groups_of_the_most_wanted_kind(
    words: dict[str, tuple[NodeGroupKind, CapacityType, Architecture]], cluster: str, suffix: str
) -> None:
    groups = groups_of(words, cluster)
    priorities = plan_priorities(groups, DEFAULT_ORDER, written={})
    places = [DEFAULT_ORDER.index(Capacity(each.architecture, each.capacity_type)) for each in groups]
    names = [asg_name(each, suffix) for each in groups]
    wanted = tuple(name for name, place in zip(names, places, strict=True) if place == min(places))
    assert chosen(format_priorities(priorities), names) == wanted


DEFAULT_ORDER = order_capacities(Architecture.ARM64)
API = group("api", "shop-dev", NodeGroupKind.MANAGED, CapacityType.ON_DEMAND, Architecture.AMD64)
A = group("a", "shop-dev", NodeGroupKind.MANAGED, CapacityType.ON_DEMAND, Architecture.ARM64)
B = group("b", "shop-dev", NodeGroupKind.MANAGED, CapacityType.ON_DEMAND, Architecture.AMD64)


def test_an_expression_is_anchored_and_ends_where_the_name_does() -> None:
    regex = get_group_regex(API)
    assert regex == "^eks-api-[0-9a-f]+-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
    assert re.search(regex, f"eks-api-20260715093000123400000001-{UUID}")
    assert not re.search(regex, f"eks-api-arm-20260715093000123400000001-{UUID}")
    assert not re.search(regex, f"my-eks-api-20260715093000123400000001-{UUID}")
    assert not re.search(regex, f"eks-api-20260715093000123400000001-{UUID}-x")


def test_special_characters_of_a_name_mean_themselves() -> None:
    dotted = replace(API, name_prefix="a.p+i-", kind=NodeGroupKind.SELF_MANAGED)
    assert get_group_regex(dotted) == r"^a\.p\+i-[0-9a-f]+$"
    assert re.search(get_group_regex(dotted), "a.p+i-20260715093000123400000001")
    assert not re.search(get_group_regex(dotted), "axpi-20260715093000123400000001")


def test_the_map_is_yaml_of_priorities_and_expressions_the_highest_first() -> None:
    rows = (Priority(10, "c", "^it's$"), Priority(90, "a", "^a$"), Priority(10, "b", "^b$"))
    text = format_priorities(rows)
    assert YAML(typ="safe", pure=True).load(text) == {90: ["^a$"], 10: ["^b$", "^it's$"]}
    assert text.index("90:") < text.index("10:")


def test_written_priorities_replace_derived_ones_and_cordoned_groups_come_last() -> None:
    rows = plan_priorities([A, B], DEFAULT_ORDER, written={"a": 12, "b": 99}, cordoned=["b"])
    assert [(row.group, row.priority) for row in rows] == [("a", 12), ("b", CORDONED_PRIORITY)]


def test_a_kind_that_the_order_leaves_out_comes_after_all_that_it_names() -> None:
    rows = plan_priorities([A, B], [parse_capacity("amd64-on-demand")], written={})
    assert [row.group for row in rows] == ["b", "a"]
