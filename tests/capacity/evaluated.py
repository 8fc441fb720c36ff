"""Capacity reports as short as a test wants them. A pod of one CPU takes a node of m7i.large or m7g.large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multiarch.capacity.evaluation import ALL, Evaluation
from multiarch.capacity.failures import list_failures
from multiarch.capacity.model import CapacityFailure, CapacityReport, FailureResult, WorkloadResult
from multiarch.capacity.workloads import ImageSupport
from multiarch.manifests.disruption_budgets import PodCount, read_disruption_budgets
from multiarch.scheduling.pods import read_pods
from multiarch.simulate.context import SimulationContext
from tests.scheduling.manifests import ZONES
from tests.simulate.simulated import planned

A, B, C = ZONES


def budget(name: str = "api", *, namespace: str = "shop", app: str | None = None, **limits: object) -> dict[str, Any]:
    """A PodDisruptionBudget for the pods of the workload ``app``, by default the one with its name."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"app": app or name}}, **limits},
    }


def report(
    words: Mapping[str, Any],
    *documents: object,
    failures: Sequence[CapacityFailure] | None = None,
    images: Mapping[tuple[str, str], ImageSupport] | None = None,
    without_budget: PodCount = ALL,
    zonal_volumes: bool = True,
) -> CapacityReport:
    """Evaluate manifests against a stack, in three zones; by default in all failures."""
    made = planned({**words, "network": {"zones": list(ZONES)}})
    evaluate = Evaluation(
        tuple(read_pods(documents)),
        list(read_disruption_budgets(documents)),
        SimulationContext(tuple(ZONES)),
        images=images or {},
        without_budget=without_budget,
        zonal_volumes=zonal_volumes,
    )
    return evaluate(made, list_failures(made, ZONES) if failures is None else failures)


def in_failure(found: CapacityReport, name: str) -> FailureResult:
    """The result of the failure that is called ``name``."""
    return next(each for each in found.failures if str(each.failure) == name)


def of(found: FailureResult, name: str = "api") -> WorkloadResult:
    return next(each for each in found.workloads if each.name.endswith(f"/{name}"))


def counts(found: WorkloadResult) -> tuple[int, int, int]:
    """Pods that survive, that move, and that are pending."""
    return found.surviving, found.moved, found.pending
