"""Placements, which count as they go, agree with the scheduler's rules computed from scratch for each question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from multiarch.scheduling.nodes import Node
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.topology import Placements
from tests.scheduling.manifests import Manifest, pod_manifest, pods

KEYS = ("zone", "host")


@dataclass(frozen=True)
class Placed:
    manifest: Manifest
    node: Node


def selected(selector: dict[str, Any], manifest: Manifest) -> bool:
    labels = manifest["metadata"]["labels"]
    return all(labels.get(key) == value for key, value in selector["matchLabels"].items())


def same_place(key: str, one: Node, other: Node) -> bool:
    return key in one.labels and one.labels[key] == other.labels.get(key)


def spread_allows(manifest: Manifest, node: Node, nodes: list[Node], there: list[Placed]) -> bool:
    """PodTopologySpread's filter, from the text of its documentation."""
    constraints = manifest["spec"].get("topologySpreadConstraints", [])
    wanted = manifest["spec"].get("nodeSelector", {})
    keys = [constraint["topologyKey"] for constraint in constraints]
    counted = [
        each
        for each in nodes
        if all(key in each.labels for key in keys) and all(each.labels.get(k) == v for k, v in wanted.items())
    ]
    for constraint in constraints:
        key, selector = constraint["topologyKey"], constraint["labelSelector"]
        if key not in node.labels:
            return False
        numbers = {each.labels[key]: 0 for each in counted}
        for one in there:
            if one.node in counted and selected(selector, one.manifest):
                numbers[one.node.labels[key]] += 1
        least = min(numbers.values(), default=0) if len(numbers) >= constraint.get("minDomains", 1) else 0
        mine = numbers.get(node.labels[key], 0) + selected(selector, manifest)
        if mine - least > constraint["maxSkew"]:
            return False
    return True


def terms(manifest: Manifest, rule: str) -> list[dict[str, Any]]:
    rules = manifest["spec"].get("affinity", {}).get(rule, {})
    found: list[dict[str, Any]] = rules.get("requiredDuringSchedulingIgnoredDuringExecution", [])
    return found


def pods_allow(manifest: Manifest, node: Node, there: list[Placed]) -> bool:
    """InterPodAffinity's filter, from the text of its documentation."""
    for term in terms(manifest, "podAntiAffinity"):
        if any(
            same_place(term["topologyKey"], node, p.node) and selected(term["labelSelector"], p.manifest) for p in there
        ):
            return False
    for placed in there:
        for term in terms(placed.manifest, "podAntiAffinity"):
            if same_place(term["topologyKey"], node, placed.node) and selected(term["labelSelector"], manifest):
                return False
    wanted = terms(manifest, "podAffinity")
    if any(term["topologyKey"] not in node.labels for term in wanted):
        return False
    friends = [p for p in there if all(selected(term["labelSelector"], p.manifest) for term in wanted)]
    friends = [p for p in friends if any(term["topologyKey"] in p.node.labels for term in wanted)]
    if all(any(same_place(term["topologyKey"], node, p.node) for p in friends) for term in wanted):
        return True
    return not friends and all(selected(term["labelSelector"], manifest) for term in wanted)


NODES = [
    Node(f"n{index}", labels)
    for index, labels in enumerate([
        {"zone": "a", "host": "n0", "disk": "ssd"},
        {"zone": "a", "host": "n1", "disk": "hdd"},
        {"zone": "b", "host": "n2", "disk": "ssd"},
        {"zone": "c", "host": "n3", "disk": "ssd"},
        {"host": "n4", "disk": "ssd"},
    ])
]  # fmt: skip
LABELS = st.fixed_dictionaries({"app": st.sampled_from("xy")}, optional={"tier": st.sampled_from("pq")})
SELECTORS = st.builds(lambda labels: {"matchLabels": labels}, LABELS)
CONSTRAINTS = st.builds(
    lambda key, skew, selector, least: {
        "topologyKey": key, "maxSkew": skew, "labelSelector": selector, "minDomains": least,
        "whenUnsatisfiable": "DoNotSchedule",
    },
    st.sampled_from(KEYS), st.integers(1, 2), SELECTORS, st.integers(1, 4),
)  # fmt: skip
TERMS = st.builds(
    lambda key, selector: {"topologyKey": key, "labelSelector": selector}, st.sampled_from(KEYS), SELECTORS
)
RULES = st.fixed_dictionaries({}, optional={
    "topologySpreadConstraints": st.lists(CONSTRAINTS, min_size=1, max_size=2),
    "nodeSelector": st.sampled_from([{"disk": "ssd"}, {"disk": "hdd"}]),
    "affinity": st.fixed_dictionaries({}, optional={
        rule: st.builds(
            lambda written: {"requiredDuringSchedulingIgnoredDuringExecution": written},
            st.lists(TERMS, min_size=1, max_size=2),
        )
        for rule in ("podAffinity", "podAntiAffinity")
    }),
})  # fmt: skip
MANIFESTS = st.builds(lambda labels, rules: pod_manifest(labels=labels, **rules), LABELS, RULES)


@settings(max_examples=150, deadline=None)
@given(
    kinds=st.lists(MANIFESTS, min_size=1, max_size=3),
    steps=st.lists(st.tuples(st.integers(0, 2), st.integers(0, len(NODES) - 1)), max_size=12),
    known=st.sets(st.integers(0, len(NODES) - 1)),
)
def test_each_answer_is_that_of_the_scheduler(
    kinds: list[Manifest], steps: list[tuple[int, int]], known: set[int]
) -> None:
    made: list[Pod] = [pods(manifest)[0] for manifest in kinds]
    placements = Placements()
    nodes = [NODES[index] for index in sorted(known)]
    for each in nodes:
        placements.add(each)
    there: list[Placed] = []
    for which, where in steps:
        kind, node = which % len(kinds), NODES[where]
        with_this = nodes if node in nodes else [*nodes, node]
        expected = spread_allows(kinds[kind], node, with_this, there) and pods_allow(kinds[kind], node, there)
        reason = placements.why_not(made[kind], node)
        assert (reason is None) is expected, reason
        # The pod goes there all the same: whatever is placed counts, allowed or not.
        placements.place(made[kind], node)
        nodes = with_this
        there.append(Placed(kinds[kind], node))
