from __future__ import annotations

from typing import Any

import pytest

from multiarch.scheduling.nodes import Node
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.reasons import Cause
from multiarch.scheduling.topology import Placements
from tests.scheduling.manifests import ARM64_TOLERATION, ZONES, node, pod, pod_manifest, pods, shape

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
A, B, C = ZONES


def constraint(key: str = ZONE, **more: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "web"}}
    usual = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return {**usual, **more}


def web(*constraints: dict[str, Any], labels: dict[str, str] | None = None, **more: Any) -> Pod:
    return pod("web", labels=labels or {"app": "web"}, topologySpreadConstraints=list(constraints), **more)


def affinity(rule: str, *terms: dict[str, Any]) -> dict[str, Any]:
    return {rule: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def term(key: str = ZONE, app: str = "web", **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


def apart(*terms: dict[str, Any], app: str = "web", **more: Any) -> Pod:
    return pod(app, labels={"app": app}, affinity=affinity("podAntiAffinity", *terms), **more)


def together(*terms: dict[str, Any], app: str = "web", **more: Any) -> Pod:
    return pod(app, labels={"app": app}, affinity=affinity("podAffinity", *terms), **more)


def placed(*pairs: tuple[Pod, Node], nodes: tuple[Node, ...] = ()) -> Placements:
    made = Placements()
    for each in nodes:
        made.add(each)
    for one, where in pairs:
        made.place(one, where)
    return made


def allowed(placements: Placements, one: Pod, *nodes: Node) -> list[str]:
    return [each.name for each in nodes if placements.why_not(one, each) is None]


NODES = (node("a", A), node("b", B), node("c", C))
ON_A, ON_B, ON_C = NODES


def test_the_zone_that_would_be_too_far_ahead_is_said_with_its_numbers() -> None:
    spread = web(constraint())
    reason = placed((spread, ON_A), nodes=NODES).why_not(spread, ON_A)
    assert reason is not None
    assert reason.cause is Cause.TOPOLOGY_SPREAD
    assert reason.text == (
        "topology spread constraint 1: topology.kubernetes.io/zone=eu-west-1a would have 2 pods, "
        "the emptiest domain 0; maxSkew is 1"
    )


@pytest.mark.parametrize(
    "one", [web(constraint()), apart(term()), together(term(app="db")), apart(term(app="db"), app="web")]
)
def test_a_trial_is_taken_back(one: Pod) -> None:
    first, later = apart(term(), app="db"), web()
    placements = placed((web(), ON_A), (first, ON_C), nodes=NODES)
    before = allowed(placements, one, *NODES)
    new = node("a2", A)
    with placements.trial():
        assert allowed(placements, one, *NODES) == before
        placements.place(later, ON_B)
        placements.place(one, new)
        tried = placed((web(), ON_A), (first, ON_C), (later, ON_B), (one, new), nodes=NODES)
        assert allowed(placements, one, *NODES, new) == allowed(tried, one, *NODES, new)
    assert allowed(placements, one, *NODES) == before
    fresh = placed((web(), ON_A), (first, ON_C), nodes=NODES)
    assert allowed(placements, later, *NODES, new) == allowed(fresh, later, *NODES, new)
    placements.place(one, new)


def test_rules_that_a_trial_asked_for_first_count_what_stays() -> None:
    spread = web(constraint())
    placements = placed((web(), ON_A), nodes=(ON_A, ON_B))
    with placements.trial():
        placements.add(ON_C)
        placements.place(web(), ON_B)
        assert allowed(placements, spread, *NODES) == ["c"]
    assert allowed(placements, spread, ON_A, ON_B) == ["b"]


def test_a_zone_without_nodes_is_not_a_domain_until_somebody_asks_about_a_node_in_it() -> None:
    spread = web(constraint())
    one_zone = placed((spread, ON_A), (spread, ON_A))
    assert one_zone.why_not(spread, node("a2", A)) is None
    assert allowed(one_zone, spread, ON_B) == ["b"]
    one_zone.add(ON_B)
    assert allowed(one_zone, spread, ON_A, ON_B) == ["b"]
    assert allowed(placed(), spread, ON_A) == ["a"]
    assert allowed(placed(), web(constraint(), nodeSelector={"disk": "ssd"}), ON_A) == ["a"], "not this rule's matter"


def test_below_the_least_number_of_domains_the_emptiest_counts_as_empty() -> None:
    one_each = placed(*((web(), each) for each in NODES))
    assert allowed(one_each, web(constraint(minDomains=3)), *NODES) == ["a", "b", "c"]
    assert allowed(one_each, web(constraint(minDomains=4)), *NODES) == []


def test_a_pod_that_its_constraint_does_not_select_adds_nothing_to_the_domain() -> None:
    other = web(constraint(), labels={"app": "db"})
    assert allowed(placed((web(), ON_A), nodes=NODES), other, *NODES) == ["a", "b", "c"]
    assert allowed(placed((web(), ON_A), (web(), ON_A), nodes=NODES), other, *NODES) == ["b", "c"]


def test_a_node_without_one_of_the_keys_is_no_domain_of_the_others() -> None:
    spread = web(constraint(), constraint(HOST))
    zone_only = Node("c", {ZONE: C})
    nodes = (ON_A, ON_B, zone_only)
    assert allowed(placed((spread, ON_A), (spread, ON_B), nodes=nodes), spread, *nodes) == ["a", "b"]


@pytest.mark.parametrize("selector", [None, {}])
def test_without_a_selector_or_with_an_empty_one_nobody_is_counted(selector: dict[str, Any] | None) -> None:
    spread = web(constraint(labelSelector=selector))
    assert allowed(placed((spread, ON_A), (spread, ON_A), nodes=NODES), spread, *NODES) == ["a", "b", "c"]


def test_nodes_that_the_pods_affinity_excludes_are_not_domains_unless_told_so() -> None:
    arm = {"nodeSelector": {"kubernetes.io/arch": "arm64"}}
    amd = Node("c", {**ON_C.labels, "kubernetes.io/arch": "amd64"})
    nodes = (ON_A, ON_B, amd)
    spread = web(constraint(), **arm)
    assert allowed(placed((spread, ON_A), (spread, ON_B), nodes=nodes), spread, ON_A) == ["a"]
    ignoring = web(constraint(nodeAffinityPolicy="Ignore"), **arm)
    assert allowed(placed((ignoring, ON_A), (ignoring, ON_B), nodes=nodes), ignoring, ON_A) == []


def test_nodes_with_taints_are_domains_unless_told_otherwise() -> None:
    tainted = shape(taints=["arch=arm64:NoSchedule"]).node("c", C)
    nodes = (ON_A, ON_B, tainted)
    spread = web(constraint())
    assert allowed(placed((spread, ON_A), (spread, ON_B), nodes=nodes), spread, ON_A) == []
    honouring = web(constraint(nodeTaintsPolicy="Honor"))
    assert allowed(placed((honouring, ON_A), (honouring, ON_B), nodes=nodes), honouring, ON_A) == ["a"]
    bearing = web(constraint(nodeTaintsPolicy="Honor"), tolerations=[ARM64_TOLERATION])
    assert allowed(placed((bearing, ON_A), (bearing, ON_B), nodes=nodes), bearing, ON_A) == []


def test_match_label_keys_narrow_the_selector_to_the_pods_own_values() -> None:
    def of(version: str) -> Pod:
        return web(
            constraint(matchLabelKeys=["pod-template-hash"]), labels={"app": "web", "pod-template-hash": version}
        )

    placements = placed((of("1"), ON_A), nodes=NODES)
    assert allowed(placements, of("1"), *NODES) == ["b", "c"]
    assert allowed(placements, of("2"), *NODES) == ["a", "b", "c"]


def test_pods_on_their_fix_are_not_counted() -> None:
    leaving = pod_manifest("web", labels={"app": "web"})
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert allowed(placed((pods(leaving)[0], ON_A), nodes=NODES), web(constraint()), *NODES) == ["a", "b", "c"]


def test_affinity_wants_company_and_the_first_of_its_kind_may_be_alone() -> None:
    to_database = together(term(app="db"))
    assert allowed(placed(nodes=NODES), to_database, *NODES) == []
    assert allowed(placed((pod(labels={"app": "db"}), ON_B), nodes=NODES), to_database, *NODES) == ["b"]
    reason = placed(nodes=NODES).why_not(to_database, ON_A)
    assert reason is not None
    assert reason.text == "pod affinity term 1: no pod with app=db in topology.kubernetes.io/zone=eu-west-1a"
    to_itself = together(term())
    assert allowed(placed(nodes=NODES), to_itself, *NODES) == ["a", "b", "c"]
    assert allowed(placed((to_itself, ON_B), nodes=NODES), to_itself, *NODES) == ["b"]


def test_company_is_a_pod_that_all_terms_select() -> None:
    both = (term(), {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"tier": "p"}}})
    first = pod(labels={"app": "web", "tier": "p"}, affinity=affinity("podAffinity", *both))
    assert allowed(placed((web(), ON_A), nodes=NODES), first, *NODES) == ["a", "b", "c"]
    assert allowed(placed(nodes=NODES), together(*both), *NODES) == []
    assert allowed(placed(nodes=NODES), together(term()), Node("no-zone", {})) == []


def test_pods_that_came_first_keep_others_away_each_by_its_own_term() -> None:
    placements = placed((apart(term(), app="db"), ON_A), nodes=NODES)
    assert allowed(placements, web(), *NODES) == ["b", "c"]
    placements.place(apart(term(HOST), app="cache"), ON_B)
    assert allowed(placements, web(), *NODES) == ["c"]


def test_a_term_means_its_own_namespace_the_named_ones_or_those_selected() -> None:
    elsewhere = placed((pod(labels={"app": "web"}, namespace="data"), ON_A))
    by_name = {"matchLabels": {"kubernetes.io/metadata.name": "data"}}
    assert allowed(elsewhere, apart(term()), ON_A) == ["a"]
    assert allowed(elsewhere, apart(term(namespaces=["data"])), ON_A) == []
    assert allowed(elsewhere, apart(term(namespaceSelector={})), ON_A) == []
    assert allowed(elsewhere, apart(term(namespaceSelector=by_name)), ON_A) == []
    assert allowed(elsewhere, apart(term(namespaces=["other"])), ON_A) == ["a"]


def test_mismatch_label_keys_omit_the_pods_own_value() -> None:
    one = {"app": "web", "tenant": "a"}
    exclusive = pod(labels=one, affinity=affinity("podAntiAffinity", term(mismatchLabelKeys=["tenant"])))
    assert allowed(placed((pod(labels=one), ON_A)), exclusive, ON_A) == ["a"]
    assert allowed(placed((pod(labels={"app": "web", "tenant": "b"}), ON_A)), exclusive, ON_A) == []


def test_two_nodes_cannot_have_one_name() -> None:
    with pytest.raises(ValueError, match="two nodes are called a"):
        placed(nodes=(ON_A, node("a", B)))
