"""Which of several nodes with room a pod gets: that with kube-scheduler's highest score."""

from __future__ import annotations

from collections import Counter
from typing import Any

from multiarch.facts.labels import ARCHITECTURE
from multiarch.scheduling.fit import explain_never
from multiarch.scheduling.scores import score_candidates
from multiarch.simulate.batches import make_batches
from multiarch.simulate.nodes import Nodes
from multiarch.simulate.settled import NodeState, Settled
from multiarch.simulate.simulation import list_planned_nodes, settle_pods
from tests.cluster.failure_cases import Case, cases
from tests.scheduling.manifests import container, expression, workload
from tests.simulate.simulated import TOLERANT, grown, pods
from tests.simulate.test_settle import AMD, CONTEXT, HOST, ZONE, run
from tests.stack.words import plan

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ONE_PER_ZONE: dict[str, Any] = {"amd": {"instanceTypes": ["m7i.xlarge"], "minSize": 3}}
TWO_PER_ZONE: dict[str, Any] = {"amd": {"instanceTypes": ["m7i.xlarge"], "minSize": 6}}


def counts(settled: Settled, name: str = "api") -> list[int]:
    """How many of a workload's pods each node has."""
    return [sum(pod.name.startswith(f"{name}-") for pod in node.pods) for node in settled.nodes]


def by_zone(settled: Settled, name: str = "api") -> dict[str | None, int]:
    return {zone: n for zone, n in _zones(settled, name).items() if n}


def _zones(settled: Settled, name: str) -> Counter[str | None]:
    found: Counter[str | None] = Counter()
    for node, count in zip(settled.nodes, counts(settled, name), strict=True):
        found[node.zone] += count
    return found


def bare(name: str, count: int, **requests: str) -> list[dict[str, Any]]:
    """Pods of a Job, which kube-scheduler does not spread by itself."""
    pod = {"containers": [container(requests)]}
    return [workload("Job", name, pod=pod, completions=count, parallelism=count)]


def soft_spread(key: str, **more: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "api"}}
    rule = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector}
    return {"topologySpreadConstraints": [{**rule, **more}]}


def after(first: Settled, words: dict[str, Any], *documents: object) -> Settled:
    return run(words, *documents, nodes=first.nodes)


def one_full_node() -> Settled:
    """Three nodes, one of which is empty: the others are half full."""
    words = grown(ONE_PER_ZONE)
    return run(words, *bare("other", 2, cpu="2", memory="6Gi"))


def test_pods_that_are_there_count_for_the_spread_of_the_others() -> None:
    words = grown(TWO_PER_ZONE)
    first = run(words, pods(count=2, cpu="50m", memory="64Mi"))
    left = [node for node in first.nodes if not node.pods]
    kept = [next(node for node in first.nodes if node.pods), *left]
    made = plan(words)
    lost = [pod for node in first.nodes for pod in node.pods if node not in kept]
    again = settle_pods(made.autoscaling, made.node_groups, CONTEXT, kept, lost)
    assert len(by_zone(again)) == 2


def test_pods_without_requests_are_not_all_put_on_one_node() -> None:
    pod = {"containers": [container()]}
    settled = run(grown(ONE_PER_ZONE), workload("Job", "api", pod=pod, completions=6, parallelism=6))
    assert counts(settled) == [2, 2, 2]


def test_a_soft_constraint_without_a_selector_spreads_nothing() -> None:
    none = soft_spread(ZONE, labelSelector={})
    settled = after(one_full_node(), grown(ONE_PER_ZONE), pods(count=3, cpu="50m", memory="64Mi", **none))
    assert counts(settled) == [0, 0, 3]


def test_a_hard_constraint_takes_the_place_of_the_default_one() -> None:
    rule = soft_spread(HOST, whenUnsatisfiable="DoNotSchedule", maxSkew=9)
    settled = after(one_full_node(), grown(ONE_PER_ZONE), pods(count=3, cpu="50m", memory="64Mi", **rule))
    assert counts(settled) == [0, 0, 3]


def test_many_replicas_outweigh_a_preferred_architecture() -> None:
    """The defaults of kube-scheduler weigh as much as a preference, and free room comes on top."""
    groups = {
        "amd": {"instanceTypes": ["m7i.2xlarge"], "minSize": 3},
        "arm": {"instanceTypes": ["m7g.2xlarge"], "minSize": 1},
    }
    term = {"weight": 100, "preference": {"matchExpressions": [expression(ARCHITECTURE, "In", "arm64")]}}
    likes = {"affinity": {"nodeAffinity": {PREFERRED: [term]}}, **TOLERANT}

    def on_arm(count: int) -> int:
        settled = run(grown(groups), pods(count=count, cpu="300m", memory="1Gi", **likes))
        return sum(len(node.pods) for node in settled.nodes if node.group == "arm")

    assert on_arm(4) == 4
    assert 4 < on_arm(20) < 20


def test_full_nodes_are_not_candidates() -> None:
    first = run(grown(AMD), pods(count=3, cpu="1900m", memory="1Gi"))
    nodes: list[NodeState] = [node for node in first.nodes if node.pods]
    settled = run(grown(AMD), pods("web", 1, cpu="500m", memory="64Mi"), nodes=nodes)
    assert counts(settled, "web") == [0, 0, 0, 1]


def scores_short_of_the_best(case: Case) -> list[int]:
    """By how much the score of each pod's node is below the best one, when all nodes are looked at."""
    plan, pods = case.stack.plan, list(case.pods())
    batches = make_batches(pod for pod in pods if not pod.per_node)
    daemons = [pod for pod in pods if pod.per_node]
    nodes = Nodes(batches, daemons, list_planned_nodes(plan.node_groups, CONTEXT, pods))
    short = []
    for batch, pod in ((each, pod) for each in batches for pod in each.pods):
        able = [
            node
            for node in nodes.all
            if explain_never(pod.spec, node.shape) is None
            and node.free.covers(pod.requests)
            and pod.spec.affinity.allows(node.node.labels)
            and nodes.why_not(batch, node.node) is None
        ]
        found = (
            score_candidates(
                [nodes.candidate(batch, node) for node in able], nodes.soft[batch.number].spread, len(able)
            )
            if able
            else []
        )
        by_number = dict(zip((node.number for node in able), found, strict=True))
        chosen = nodes.bind(batch, pod)
        assert (chosen is None) is (not able), pod.name
        if chosen is not None:
            short.append(max(found) - by_number[chosen.number])
    return short


def test_looking_at_the_emptiest_node_of_each_kind_finds_nearly_always_the_best_one() -> None:
    short = [each for case in cases(1, 42) for each in scores_short_of_the_best(case)]
    assert len(short) > 300
    assert sum(each == 0 for each in short) > 0.98 * len(short)
    assert max(short) < 10
