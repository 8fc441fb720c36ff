"""The simulator decides as the real cluster autoscaler did: see recorded/README.md."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from multiarch.scheduling.pods import read_pods
from multiarch.schema.stack import StackSpec
from multiarch.simulate.context import build_simulation_context
from multiarch.simulate.model import Simulation
from multiarch.simulate.simulation import simulate_nodes
from multiarch.stack.load import Stack
from multiarch.stack.origin import Origin
from multiarch.stack.plan import make_plan
from tests.stack.words import TODAY

FOLDER = Path(__file__).parent / "recorded"
SCENARIOS: list[dict[str, Any]] = [
    scenario for file in sorted(FOLDER.glob("*.json")) for scenario in json.loads(file.read_text(encoding="utf-8"))
]
_FILLED = "the recording fills existing nodes by a rule of its own, not by kube-scheduler's scores"
KNOWN: Mapping[str, str] = {
    **dict.fromkeys(("gen5", "gen40", "gen109", "zonal14", "zonal35", "zonal37"), _FILLED),
    "zonal5": "a tie: either of two zones can get the third pod of a spread; three of six equal outcomes were recorded",
}
"""Scenarios that differ, each with the reason; docs/explanation/simulation.md has it, and ``simulate`` prints it."""


def simulated(scenario: Mapping[str, Any]) -> Simulation:
    config = scenario["stack"]["config"]
    words = {key.removeprefix("multiarch-eks:"): value for key, value in config.items() if key != "aws:region"}
    stack = Stack(scenario["name"], StackSpec.model_validate(words), config["aws:region"], Origin())
    plan = make_plan(stack, today=TODAY)
    return simulate_nodes(
        plan.autoscaling, plan.node_groups, build_simulation_context(plan), read_pods(scenario["manifests"])
    ).simulation


def outcome(result: Simulation) -> dict[str, Any]:
    """The result in the words of the recording."""
    pods: dict[str, Counter[str]] = {}
    for workload in result.workloads:
        for place in workload.places:
            pods.setdefault(place.pod.rpartition("-")[0], Counter())[place.group] += 1
        for pod in workload.unplaced:
            pods.setdefault(pod.rpartition("-")[0], Counter())["NOWHERE"] += 1
    new = {group.name: group.new for group in result.groups if group.new}
    return {"new": new, "pods": {name: dict(counts) for name, counts in pods.items()}}


@pytest.mark.parametrize("scenario", [pytest.param(each, id=each["name"]) for each in SCENARIOS])
def test_the_simulator_decides_as_the_real_autoscaler_did(scenario: Mapping[str, Any]) -> None:
    found = outcome(simulated(scenario))
    agrees = found in scenario["sameNodeGroups"]
    assert agrees is (scenario["name"] not in KNOWN), found
    assert found["new"] in [each["new"] for each in scenario["sameNodeGroups"]]


def test_all_recorded_scenarios_are_there() -> None:
    assert len(SCENARIOS) == 127
    assert KNOWN.keys() <= {each["name"] for each in SCENARIOS}
