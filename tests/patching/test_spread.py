"""Pods of a controller are spread over zones, and what volumes and other rules have to do with it is said."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.patching.edits import edit_templates
from multiarch.patching.patches import build_json_patch, list_changed_templates
from multiarch.patching.transform import SchedulingChange, Transformed, WhenUnsatisfiable, transform_pod_spec
from multiarch.yaml_text.dump import dump_yaml
from tests.scheduling.manifests import spec

ZONE = "topology.kubernetes.io/zone"
HARD, SOFT = WhenUnsatisfiable.DO_NOT_SCHEDULE, WhenUnsatisfiable.SCHEDULE_ANYWAY
LABELS = {"matchLabels": {"app": "api"}}


def controller(kind: str = "Deployment", *, rules: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "api"}}, "spec": spec(**(rules or {}))}
    api = "batch/v1" if kind == "Job" else "apps/v1"
    made = {"apiVersion": api, "kind": kind, "metadata": {"name": "api", "namespace": "shop"}}
    return {**made, "spec": {"selector": LABELS, "template": template, **more}}


def spread(item: dict[str, Any], when: WhenUnsatisfiable = SOFT) -> Transformed:
    (outcome,) = edit_templates(dump_yaml(item), SchedulingChange(spread_zones=when)).outcomes
    return outcome.transformed


def constraint(when: str, **more: Any) -> dict[str, Any]:
    return {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": when, "labelSelector": LABELS, **more}


@pytest.mark.parametrize("kind", ["Deployment", "Rollout"])
@pytest.mark.parametrize("when", [HARD, SOFT])
def test_the_constraint_counts_the_pods_of_the_controller(kind: str, when: WhenUnsatisfiable) -> None:
    by_host = constraint("ScheduleAnyway", topologyKey="kubernetes.io/hostname")
    for there in ({}, {"topologySpreadConstraints": [by_host]}):
        found = spread(controller(kind, rules=there), when)
        assert found.spec["topologySpreadConstraints"] == [
            *there.get("topologySpreadConstraints", []),
            constraint(when),
        ]
        assert (found.done, found.notes) == ((f"spreads over zones ({when})",), ())


@pytest.mark.parametrize("written", ["DoNotSchedule", "ScheduleAnyway"])
def test_a_constraint_on_zones_that_is_there_stays(written: str) -> None:
    found = spread(controller(rules={"topologySpreadConstraints": [constraint(written, maxSkew=3)]}), HARD)
    assert not found.changed
    assert found.notes == (f"spreads over zones already, with whenUnsatisfiable {written}",)


@pytest.mark.parametrize(
    "item",
    [
        controller("DaemonSet"),
        controller("Job", selector=None),
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec()},
    ],
    ids=["DaemonSet", "Job", "Pod"],
)
def test_pods_without_a_controller_that_keeps_replicas_are_not_spread(item: dict[str, Any]) -> None:
    found = spread(item)
    assert not found.changed
    assert found.notes[0].startswith("not spread over zones: ")


@pytest.mark.parametrize(
    "item",
    [
        controller("StatefulSet", volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {}}]),
        controller(rules={"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}),
    ],
    ids=["templates", "claim"],
)
def test_volumes_that_exist_are_said_to_stay_in_their_zone(item: dict[str, Any]) -> None:
    assert spread(item).notes == ("volumes that exist stay in their zone: it helps new replicas alone",)
    (note,) = spread(item, HARD).notes
    assert "this constraint can keep their pods pending" in note
    assert not spread(controller(rules={"volumes": [{"name": "tmp", "emptyDir": {}}]})).notes


def test_a_patch_has_it_too_and_a_spec_alone_has_no_controller() -> None:
    ((place, found),) = list_changed_templates(controller(), SchedulingChange(spread_zones=SOFT))
    assert build_json_patch(found.additions, place.path) == [
        {"op": "add", "path": "/spec/template/spec/topologySpreadConstraints", "value": [constraint("ScheduleAnyway")]}
    ]
    assert not transform_pod_spec(spec(), SchedulingChange(spread_zones=SOFT)).changed
