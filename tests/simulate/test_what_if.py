"""Pods that could run on arm64 and get amd64 nodes, and what a preference would change."""

from __future__ import annotations

from multiarch.facts.architectures import Architecture
from multiarch.scheduling.pods import read_pods
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.model import Simulation
from multiarch.simulate.preference import with_preference
from multiarch.simulate.simulation import simulate_nodes
from tests.scheduling.manifests import ZONES, expression, required
from tests.simulate.simulated import TOLERANT, got, group, grown, of, planned, pods

GROUPS = {
    "arm": {"instanceTypes": ["m7g.xlarge"], "minSize": 3},
    "amd": {"instanceTypes": ["m7i.xlarge"], "minSize": 3},
}


def run(*documents: object, prefer: Architecture | None = None) -> Simulation:
    made = planned(grown(GROUPS))
    given = read_pods(documents)
    wanted = with_preference(given, prefer) if prefer else given
    return simulate_nodes(made.autoscaling, made.node_groups, SimulationContext(tuple(ZONES)), wanted).simulation


def test_a_preference_keeps_tolerant_pods_off_the_nodes_that_others_need() -> None:
    both, amd64_only = pods("both", 9, **TOLERANT), pods("old", 9)
    result = run(both, amd64_only)
    assert (of(result, "both").on_amd64, of(result, "old").on_amd64) == (6, 0)
    assert (got(result, "both"), group(result, "amd").new) == ({"arm": 3, "amd": 6}, 2)
    result = run(both, amd64_only, prefer=Architecture.ARM64)
    assert of(result, "both").on_amd64 == 0
    assert (got(result, "both"), group(result, "amd").new) == ({"arm": 9}, 0)


def test_pods_that_may_not_be_on_an_architecture_do_not_prefer_it() -> None:
    terms = required([expression("kubernetes.io/arch", "In", "amd64")], [expression("kubernetes.io/os", "In", "plan9")])
    documents = (
        pods("old", affinity={**terms}, **TOLERANT),
        pods("both", **TOLERANT),
        pods("agent") | {"kind": "DaemonSet"},
    )
    preferring = {
        pod.name.partition("-")[0]: len(pod.spec.affinity.preferred)
        for pod in with_preference(read_pods(documents), Architecture.ARM64)
    }
    assert preferring == {"old": 0, "both": 1, "agent": 0}
    twice = with_preference(with_preference(read_pods(documents), Architecture.ARM64), Architecture.ARM64)
    assert max(len(pod.spec.affinity.preferred) for pod in twice) == 1
