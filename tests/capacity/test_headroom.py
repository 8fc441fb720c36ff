"""Headroom: how many placeholder pods, how large, and what their manifests allow them."""

from __future__ import annotations

from typing import Any

from multiarch.capacity.evaluation import Evaluation
from multiarch.capacity.failures import list_failures
from multiarch.capacity.headroom import IMAGE, Headroom, build_headroom_manifests, plan_headroom
from multiarch.facts.architectures import Architecture
from multiarch.facts.node_resources import GIB
from multiarch.scheduling.pods import read_pods
from multiarch.simulate.context import build_simulation_context
from multiarch.stack.model import Plan
from tests.simulate.simulated import TOLERANT, grown, pods
from tests.stack.words import merged, plan

ZONES = ["eu-west-1a", "eu-west-1b", "eu-west-1c"]
GROUPS = {
    "amd": {"instanceTypes": ["m7i.xlarge"], "maxSize": 9},
    "arm": {"instanceTypes": ["m7g.xlarge"], "maxSize": 9},
}


def made(words: dict[str, Any] | None = None) -> Plan:
    return plan(merged(merged(grown(GROUPS), {"network": {"zones": ZONES}}), words or {}))


def headroom(of: Plan, *documents: dict[str, Any]) -> tuple[Headroom, ...]:
    found = tuple(read_pods(documents))
    context = build_simulation_context(of)
    report = Evaluation(found, (), context)(of, list_failures(of, context.zones))
    return plan_headroom(of, report, found)


def test_it_has_room_for_the_pods_of_the_worst_zone_of_each_architecture() -> None:
    legacy = pods("legacy", 6, cpu="1500m", memory="4Gi")  # 2 on a node, so 3 nodes, 1 in each zone
    api = pods("api", 3, cpu="3", memory="1Gi", **TOLERANT)
    amd64, arm64 = headroom(made(), legacy, api)
    assert (amd64.architecture, amd64.replicas, amd64.spread) == (Architecture.AMD64, 2, 1)
    assert (amd64.cpu, amd64.memory, amd64.failure) == (1500, 4 * GIB, "zone eu-west-1a")
    assert (arm64.architecture, arm64.replicas, arm64.cpu) == (Architecture.ARM64, 1, 3000)


def test_pods_that_never_move_need_none() -> None:
    assert headroom(made(), pods("api", 0)) == ()


def objects(of: Plan, *headrooms: Headroom) -> dict[str, dict[str, Any]]:
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in build_headroom_manifests(of, headrooms)}


ROOM = (
    Headroom(Architecture.AMD64, 2, 1, 1500, 4 * GIB, "zone eu-west-1a"),
    Headroom(Architecture.ARM64, 1, 1, 500, GIB, "zone eu-west-1a"),
)


def test_each_architecture_has_its_placeholders_on_its_own_nodes() -> None:
    found = objects(made(), *ROOM)
    amd64, arm64 = (found[f"Deployment/headroom-{each}"]["spec"]["template"]["spec"] for each in ("amd64", "arm64"))
    assert (amd64["nodeSelector"], arm64["nodeSelector"]) == (
        {"kubernetes.io/arch": "amd64"},
        {"kubernetes.io/arch": "arm64"},
    )
    assert "tolerations" not in amd64
    assert arm64["tolerations"] == [{"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}]
    assert found["Deployment/headroom-amd64"]["spec"]["replicas"] == 3
    (container,) = amd64["containers"]
    assert container["image"] == IMAGE
    assert container["resources"]["requests"] == {"cpu": "1500m", "memory": "4096Mi"}


def test_placeholders_have_no_privileges() -> None:
    found = objects(made(), *ROOM)
    assert found["Namespace/headroom"]["metadata"]["labels"] == {"pod-security.kubernetes.io/enforce": "restricted"}
    pod = found["Deployment/headroom-arm64"]["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["terminationGracePeriodSeconds"] == 0
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_pods_take_the_room_of_placeholders() -> None:
    of = made({"nodeGroups": {"amd": {"maxSize": 2, "onePerZone": True}}})
    legacy = pods("legacy", 6, cpu="1500m", memory="4Gi")
    found = tuple(read_pods([legacy]))
    context = build_simulation_context(of)
    failures = list_failures(of, context.zones)[:1]
    rooms = plan_headroom(of, Evaluation(found, (), context)(of, failures), found)
    both = tuple(read_pods([legacy, *build_headroom_manifests(of, rooms)]))
    (result,) = Evaluation(both, (), context)(of, failures).failures
    assert {each.name: (each.replicas, each.pending) for each in result.workloads} == {
        "Deployment/headroom-amd64": (3, 1),
        "Deployment/legacy": (6, 0),
    }
