"""``multiarch simulate`` on the project's own stacks and example."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from multiarch.cost.pricing import OMITTED
from tests.cli.conftest import CLONE
from tests.cli.running import Ran, type_of_run
from tests.cli.test_verify_nodes import EXISTING

pytestmark = pytest.mark.usefixtures("clone")
PODS = str(CLONE / "examples" / "pods.yaml")
ZONE = "topology.kubernetes.io/zone"
FEW = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one"},
    "spec": {"containers": [{"name": "a", "image": "a", "resources": {"requests": {"cpu": "500m"}}}]},
}


def cells(text: str, first: str) -> list[str]:
    """The cells of the first row of a table that begins with ``first``."""
    row = next(line for line in text.splitlines() if line.startswith(f" {first}"))
    return re.split(r"\s{2,}", row.strip())


def test_the_example_reads_well(run: type_of_run) -> None:
    ran = run("simulate", "payments-prod", "--manifests", PODS)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "payments-prod, karpenter: 39 pods, 39 placed; 5 new nodes, 6 existing"
    # What the example says of itself: nodes that are there first, then Graviton, spot before on-demand.
    api = cells(ran.out, "payments Deployment/api")
    assert api[1:] == ["24", "12 general-arm64-spot, 6 arm64-services, 6 base"]
    assert cells(ran.out, "payments Deployment/ledger")[1:] == ["12", "12 general-amd64-spot"]
    assert "6 pods that could run on arm64 got amd64 nodes: payments Deployment/api (6). " in ran.out
    assert "- observability log-agent: 100m CPU, 200Mi memory on each of 11 nodes" in lines
    assert "Assumed, or not checked" in lines
    # Reasons are made on demand.
    assert "does not tolerate" not in ran.out
    assert "CPU and memory" not in lines


def test_daemon_sets_of_an_existing_cluster_are_said_to_be_missing(run: type_of_run, tmp_path: Path) -> None:
    (tmp_path / "Pulumi.shop-dev.yaml").write_text(EXISTING)
    ran = run("simulate", str(tmp_path / "Pulumi.shop-dev.yaml"), "--manifests", PODS)
    assert "DaemonSets of the cluster checkout-dev that are not in the files" in " ".join(ran.out.split())


def test_pods_of_fargate_profiles_need_no_nodes(run: type_of_run, tmp_path: Path) -> None:
    stack = tmp_path / "Pulumi.shop-dev.yaml"
    selectors = "[{namespace: pay*, labels: {app: ledg?r}}]"
    stack.write_text(f"{EXISTING}  multiarch-eks:fargateProfiles: {{ledger: {{selectors: {selectors}}}}}\n")
    ran = run("simulate", str(stack), "--manifests", PODS)
    assert "12 pods of Fargate profiles: not simulated" in " ".join(ran.out.split())
    assert "Deployment/ledger" not in ran.out
    assert "Deployment/api" in ran.out


def test_explained_every_group_has_its_reason_and_no_sentence_comes_twice(run: type_of_run) -> None:
    lines = run("simulate", "payments-prod", "--manifests", PODS, "--explain").out.splitlines()
    ledger = lines[lines.index("payments Deployment/ledger: 12 pods") + 1 :]
    arm64 = "jobs-arm64-spot, general-arm64-spot, general-arm64-on-demand, arm64-services"
    assert ledger[:4] == [
        f"  {arm64}: does not tolerate arch=arm64:NoSchedule",
        "  general-amd64-spot: 12 pods",
        "  general-amd64-on-demand: weight 30 below general-amd64-spot's 50",
        "  base: no room left on its 3 nodes, and no autoscaler adds nodes",
    ]
    # Of a group without nodes there is nothing to say.
    used = lines[lines.index("CPU and memory") + 3 : lines.index("Assumed, or not checked") - 1]
    assert [line.split()[0] for line in used] == [
        "general-arm64-spot",
        "general-arm64-on-demand",
        "general-amd64-spot",
        "arm64-services",
        "base",
    ]


def test_workloads_without_a_node_come_with_reasons_and_the_fix(run: type_of_run) -> None:
    ran = run("simulate", "checkout-dev", "--manifests", PODS, "--only-unplaced")
    lines = ran.out.splitlines()
    ledger = lines[lines.index("payments Deployment/ledger: 12 pods, 12 without a node") + 1 :]
    assert ledger[:3] == [
        "  graviton: does not tolerate arch=arm64:NoSchedule",
        "  general: at its maxSize 4",
        "  If its images run on arm64: multiarch workload patch --manifests FILE --tolerate arm64",
    ]
    ran = run("simulate", "payments-prod", "--manifests", PODS, "--only-unplaced")
    assert "Every pod got a node." in ran.out.splitlines()
    assert "Deployment/ledger" not in ran.out
    assert (
        run("simulate", "payments-prod", "--manifests", PODS, "--only-unplaced", "-o", "json").json["workloads"] == []
    )


def test_pods_that_ask_for_a_zone_are_led_to_one_group_per_zone(run: type_of_run, clone: Path) -> None:
    asking = {**FEW, "spec": {**FEW["spec"], "nodeSelector": {ZONE: "zone-2"}}}  # type: ignore[dict-item]
    (clone / "zone.json").write_text(json.dumps(asking), encoding="utf-8")
    lines = run("simulate", "checkout-dev", "--manifests", "zone.json").out.splitlines()
    start = lines.index("default Pod/one: 1 pod, 1 without a node")
    expected = "the autoscaler expects new nodes in zone-1, where it has a node"
    assert lines[start + 1 : start + 4] == [
        "  graviton: does not tolerate arch=arm64:NoSchedule",
        f"  general: {expected}: nodeSelector requires {ZONE}=zone-2",
        "  If its images run on arm64: multiarch workload patch --manifests FILE --tolerate arm64",
    ]
    assert lines[start + 4] == "  One group per zone (onePerZone: true) lets the autoscaler choose the zone."


def test_what_a_preference_would_change_can_be_asked(run: type_of_run, clone: Path) -> None:
    arm64 = [{"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}]
    few = {**FEW, "spec": {**FEW["spec"], "tolerations": arm64}}  # type: ignore[dict-item]
    pods = [{**few, "metadata": {"name": f"pod-{number}"}} for number in range(4)]
    (clone / "few.json").write_text(json.dumps({"kind": "List", "items": pods}), encoding="utf-8")
    asked = ("simulate", "payments-prod", "--manifests", "few.json", "-o", "json")
    as_is, preferring = (run(*asked, *more).json["workloads"][0] for more in ((), ("--prefer", "arm64")))
    assert (as_is["onAmd64"], preferring["onAmd64"]) == (1, 0)
    ran = run("simulate", "payments-prod", "--manifests", "few.json", "--prefer", "arm64")
    assert ran.out.splitlines()[1] == "what if: every pod that may run on arm64 prefers it"
    assert "got amd64 nodes" not in ran.out


def test_as_json_every_pod_is_accounted_for(run: type_of_run) -> None:
    ran = run("simulate", "checkout-dev", "--manifests", PODS, "--output", "json")
    assert (ran.code, ran.json["kind"], ran.json["version"], ran.json["stack"]) == (
        1,
        "simulation",
        "2",
        "checkout-dev",
    )
    assert ran.err.endswith("pods got no node.\n")
    assert ran.json["cost"] is None
    for workload in ran.json["workloads"]:
        assert len(workload["places"]) + len(workload["unplaced"]) == workload["pods"]
        assert [row["group"] for row in workload["answers"]] == ["graviton", "general"]
        assert all(row["reason"] for row in workload["answers"] if not row["pods"])
    assert ran.json["daemonSets"] == [
        {"name": "log-agent", "namespace": "observability", "nodes": 8, "cpu": 100, "memory": 209715200}
    ]
    for group in ran.json["groups"]:
        assert group["cpuWaste"] == group["cpuAllocatable"] - group["cpuRequested"] >= 0
        assert sum(each["nodes"] for each in group["instanceTypes"]) == group["new"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "standard input: no workloads found. Did the command before the pipe fail?"),
        (
            json.dumps([{"kind": kind, "metadata": {"name": "x"}} for kind in ("Service", "ConfigMap", "Service")]),
            "no workloads found. Give",
        ),
        (
            json.dumps(
                {"kind": "Deployment", "metadata": {"name": "x"}, "spec": {"replicas": 2**31 - 1, "template": FEW}}
            ),
            "standard input, document 1, Deployment default/x: spec.replicas: must be 150000 or less, not 2147483647.",
        ),
        (
            json.dumps(
                [
                    {"kind": "Deployment", "metadata": {"name": name}, "spec": {"replicas": 100_000, "template": FEW}}
                    for name in ("x", "y")
                ]
            ),
            "Deployment default/y: makes more than 150000 pods, with the objects before it.",
        ),
        (
            json.dumps({"kind": "DaemonSet", "metadata": {"name": "x"}, "spec": {"template": FEW}}),
            "no workloads found: 1 DaemonSet, and no node is created for a DaemonSet.",
        ),
    ],
)
def test_input_without_a_pod_passes_no_gate(
    run: type_of_run, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    ran = run("simulate", "payments-prod", "--manifests", "-")
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


ROLES = {"pytorchReplicaSpecs": {"Worker": {"replicas": 3, "template": FEW}}}


COUNTLESS = {
    "PyTorchJob": ("kubeflow.org/v1", ROLES),
    "Job": ("batch.volcano.sh/v1alpha1", {"tasks": [{"replicas": 2, "template": FEW}]}),
    "Workflow": ("argoproj.io/v1alpha1", {"templates": [{"container": {"image": "a"}}]}),
}
COUNTED = {"Rollout": ("argoproj.io/v1alpha1", {"replicas": 0, "template": FEW}), "PodTemplate": ("v1", {})}


def test_objects_whose_pods_can_not_be_counted_are_named(run: type_of_run) -> None:
    made = [
        {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}
        for kind, (version, spec) in (COUNTLESS | COUNTED).items()
    ]
    Path("made.json").write_text(json.dumps(made))

    def told(ran: Ran) -> set[str]:
        said = "default/x: its pods are not simulated, because their number is not known."
        return {kind for kind in COUNTLESS | COUNTED if f"{kind} {said}" in ran.out + ran.err}

    ran = run("simulate", "payments-prod", "--manifests", "made.json")
    assert (ran.code, ran.out, told(ran)) == (2, "", set(COUNTLESS))
    both = ("--manifests", "made.json", "--manifests", PODS)
    assert told(run("capacity", "payments-prod", *both, "--failure", "zone=a")) == set(COUNTLESS)
    pods = [
        {
            "kind": "Pod",
            "metadata": {"ownerReferences": [{"kind": kind, "name": "x", "controller": True}], "name": f"x-{number}"},
            "spec": FEW["spec"],
        }
        for number, kind in enumerate(COUNTLESS)
    ]
    Path("pods.json").write_text(json.dumps(pods))
    assert not told(run("simulate", "payments-prod", "--manifests", "made.json", "--manifests", "pods.json"))


PRICES = str(CLONE / "examples" / "prices.json")


def test_with_prices_the_nodes_have_costs_and_the_cheapest_types(run: type_of_run) -> None:
    ran = run("simulate", "payments-prod", "--manifests", PODS, "--prices", PRICES)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert "Cost per month (USD)" in lines
    assert cells(ran.out, "all nodes")[1] == "1,823.39"
    assert "New nodes cost 865.93 of it." in lines
    assert f"- Prices of 2026-11-20 06:00 UTC, 730 hours, {OMITTED}" in lines
    assert any(line.startswith("- Instance types without a price are not bought: ") for line in lines)
